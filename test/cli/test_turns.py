# SPDX-License-Identifier: MIT
"""Threads that poll in a loop take turns."""

import re

import pytest

from conftest import BUILD, ROOT

# Clients on one virtual processor. Each asks another process through a channel,
# in a loop. Prints in how many of 100 cases the answer before was another
# client's.
CLIENTS = """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <weft/channel.h>

enum { CLIENTS = 8, ROUNDS = 4000 };

static int requests_fd, reply_fds[CLIENTS];
static pthread_barrier_t barrier;
static int last = -1;
static long nr_turns;

static void require(int rc)
{
	if (rc != 0)
		abort();
}

static void answer(void)
{
	struct weft_channel *in, *out[CLIENTS];
	size_t size;
	int client;

	require(weft_channel_open(requests_fd, WEFT_CHANNEL_RECEIVER, &in));
	for (int i = 0; i < CLIENTS; i++)
		require(weft_channel_open(reply_fds[i], WEFT_CHANNEL_SENDER,
					  &out[i]));
	for (int i = 0; i < CLIENTS * ROUNDS; i++) {
		require(weft_channel_receive(in, &client, sizeof(client),
					     &size));
		require(weft_channel_send(out[client], &client,
					  sizeof(client)));
	}
	_exit(0);
}

static void *ask(void *arg)
{
	int *fd = arg, client = (int)(fd - reply_fds), reply;
	struct weft_channel *in, *out;
	size_t size;

	require(weft_channel_open(requests_fd, WEFT_CHANNEL_SENDER, &out));
	require(weft_channel_open(*fd, WEFT_CHANNEL_RECEIVER, &in));
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < ROUNDS; i++) {
		require(weft_channel_send(out, &client, sizeof(client)));
		require(weft_channel_receive(in, &reply, sizeof(reply),
					     &size));
		nr_turns += last != client;
		last = client;
	}
	return NULL;
}

int main(void)
{
	const struct weft_channel_attr many = { 8, 63, WEFT_CHANNEL_MANY, 0 };
	const struct weft_channel_attr one = { 8, 63, 0, 0 };
	pthread_t threads[CLIENTS];

	require(weft_channel_create(&many, &requests_fd));
	for (int i = 0; i < CLIENTS; i++)
		require(weft_channel_create(&one, &reply_fds[i]));
	if (fork() == 0)
		answer();
	pthread_barrier_init(&barrier, NULL, CLIENTS);
	for (int i = 0; i < CLIENTS; i++)
		pthread_create(&threads[i], NULL, ask, &reply_fds[i]);
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(threads[i], NULL);
	printf("%ld\\n", nr_turns * 100 / (CLIENTS * ROUNDS));
	return 0;
}
"""


def test_clients_take_turns(weft, compile_c):
    program = compile_c("-pthread", f"-I{ROOT / 'include'}", "-x", "none",
                        BUILD / "libweft-api.a", source=CLIENTS)
    result = weft("run", "--vps", "1", program)
    assert result.returncode == 0, result.stderr
    assert int(result.stdout) > 75


# Threads on one virtual processor that spend nearly all their time in the same
# call.
TRIERS = """
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <time.h>

enum { TRIERS = 4, MS = 300 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static sem_t none;
static atomic_bool is_over;

static void *keep_trying(void *arg)
{
	while (!is_over)
		TRY;
	return arg;
}

static double cpu_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return ts.tv_sec * 1e3 + ts.tv_nsec / 1e6;
}

int main(void)
{
	pthread_t threads[TRIERS];

	sem_init(&none, 0, 0);
	pthread_spin_init(&spin, 0);
	pthread_spin_lock(&spin);
	for (int i = 0; i < TRIERS; i++)
		pthread_create(&threads[i], NULL, keep_trying, NULL);
	while (cpu_ms() < MS)
		sched_yield();
	is_over = 1;
	for (int i = 0; i < TRIERS; i++)
		pthread_join(threads[i], NULL);
}
"""


@pytest.mark.parametrize("call", [
    "pthread_mutex_trylock(&mutex)",
    "pthread_mutex_lock(&mutex), pthread_mutex_unlock(&mutex)",
    "pthread_rwlock_tryrdlock(&lock), pthread_rwlock_unlock(&lock)",
    "pthread_spin_trylock(&spin)",
    "sem_trywait(&none)",
    "poll(0, 0, 0)",
])
def test_thread_in_one_call_is_preempted(weft, compile_c, call):
    program = compile_c("-pthread", "-O1", f"-DTRY={call}", source=TRIERS)
    result = weft("run", "--vps", "1", "--stats", program)
    assert result.returncode == 0, result.stderr
    switches, put_off = (
        int(re.search(rf"{what}: (\d+)", result.stderr)[1])
        for what in ("switches between threads", "put off: in the runtime"))
    assert switches >= 20
    assert put_off <= switches

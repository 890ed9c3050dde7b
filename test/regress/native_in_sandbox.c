/* SPDX-License-Identifier: MIT */
/*
 * A filter that kills for system calls of weft's is set before the first thread
 * is made. The threads are libc's then, and weft's functions have to serve
 * them.
 */
#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

#include "check.h"
#include "child.h"
#include "confine.h"
#include "threading.h"

enum { NR_WORKERS = 8, NR_ROUNDS = 200 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t sem;
static int whose_turn, pipe_ends[2];

static void confine(void)
{
	struct sock_filter code[] = {
		CONFINE_LOAD_NUMBER,
		CONFINE_KILL_FOR(io_uring_setup),
		CONFINE_KILL_FOR(io_uring_enter),
		CONFINE_KILL_FOR(membarrier),
		CONFINE_KILL_FOR(preadv2),
		CONFINE_KILL_FOR(pwritev2),
		CONFINE_KILL_FOR(process_vm_readv),
		CONFINE_KILL_FOR(timer_create),
		CONFINE_KILL_FOR(timerfd_create),
		CONFINE_ALLOW,
	};

	if (confine_to(code, sizeof(code) / sizeof(code[0])) != 0)
		SKIP("filters of system calls are refused");
}

static void *take_turns(void *arg)
{
	int me = (int)(intptr_t)arg;

	for (int i = 0; i < NR_ROUNDS; i++) {
		pthread_mutex_lock(&mutex);
		while (whose_turn != me)
			pthread_cond_wait(&cond, &mutex);
		whose_turn = (me + 1) % NR_WORKERS;
		pthread_cond_broadcast(&cond);
		pthread_mutex_unlock(&mutex);
	}
	pthread_barrier_wait(&barrier);
	return arg;
}

static void *wait_for_ever(void *arg)
{
	sem_wait(&sem);
	return arg;
}

static void *wait_for_signal(void *arg)
{
	sigset_t set;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigwait(&set, &sig);
	return arg;
}

static void *tell_user(void *ret_user)
{
	sem_wait(&sem);
	*(long *)ret_user = syscall(SYS_getuid);
	return NULL;
}

static void *read_one(void *arg)
{
	CHECK_EQ(read(pipe_ends[0], arg, 1), 1);
	return arg;
}

static int double_it(void *arg)
{
	return 2 * *(int *)arg;
}

static void make_threads(void)
{
	pthread_t workers[NR_WORKERS];
	int number = 21, doubled;
	thrd_t c11;

	for (int i = 0; i < NR_WORKERS; i++)
		workers[i] = thread_start(take_turns, (void *)(intptr_t)i);
	for (int i = 0; i < NR_WORKERS; i++)
		CHECK_EQ((intptr_t)thread_join(workers[i]), i);
	CHECK_EQ(thrd_create(&c11, double_it, &number), thrd_success);
	CHECK_EQ(thrd_join(c11, &doubled), thrd_success);
	CHECK_EQ(doubled, 2 * number);
}

static void end_waits(void)
{
	void *(*const waits[])(void *) = { wait_for_ever, wait_for_signal,
					   thread_pause_for_ever };
	pthread_t reader, sleeper;
	char got = 0;

	CHECK_EQ(pipe(pipe_ends), 0);
	reader = thread_start(read_one, &got);
	await_rest();
	CHECK_EQ(write(pipe_ends[1], "x", 1), 1);
	thread_join(reader);
	CHECK_EQ(got, 'x');
	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
		sleeper = thread_start(waits[i], NULL);
		await_rest();
		CHECK_EQ(pthread_cancel(sleeper), 0);
		CHECK(thread_join(sleeper) == PTHREAD_CANCELED);
	}
}

/*
 * The ids of all threads change; otherwise one thread would keep another user's
 * rights.
 */
static void change_user(void)
{
	enum { NOBODY = 65534 };
	long user = -1;
	pthread_t other;

	if (getuid() != 0)
		return;
	other = thread_start(tell_user, &user);
	CHECK_EQ(setuid(NOBODY), 0);
	sem_post(&sem);
	thread_join(other);
	CHECK_EQ(user, NOBODY);
}

int main(void)
{
	pthread_barrier_init(&barrier, NULL, NR_WORKERS);
	sem_init(&sem, 0, 0);
	confine();
	make_threads();
	end_waits();
	CHECK_EQ(child_exit_status(make_threads), 0);
	change_user();
	puts("threads were made");
	return 0;
}

# SPDX-License-Identifier: MIT
"""Virtual processors without work: which VP sleeps, polls or is woken. The
tests compare counts of the kernel and of weft, never times."""

import os
import pathlib
import re
import subprocess
import time

import pytest

from conftest import BUILD, ROOT

# Every kind of wait without a deadline; argv[1] is the number of threads of
# each.
WAITERS = """
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t other = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t sem, begun;

static void *in_mutex(void *arg)
{
	sem_post(&begun);
	pthread_mutex_lock(&mutex);
	return arg;
}

static void *in_cond(void *arg)
{
	pthread_mutex_lock(&other);
	sem_post(&begun);
	for (;;)
		pthread_cond_wait(&cond, &other);
	return arg;
}

static void *in_rwlock(void *arg)
{
	sem_post(&begun);
	pthread_rwlock_rdlock(&rwlock);
	return arg;
}

static void *in_barrier(void *arg)
{
	sem_post(&begun);
	pthread_barrier_wait(&barrier);
	return arg;
}

static void *in_sem(void *arg)
{
	sem_post(&begun);
	sem_wait(&sem);
	return arg;
}

int main(int argc, char **argv)
{
	void *(*const starts[])(void *) = { in_mutex, in_cond, in_rwlock,
					    in_barrier, in_sem };
	pthread_t thread;

	pthread_barrier_init(&barrier, NULL, 1000);
	pthread_mutex_lock(&mutex);
	pthread_rwlock_wrlock(&rwlock);
	for (int i = 0; i < 5 * atoi(argv[1]); i++) {
		pthread_create(&thread, NULL, starts[i % 5], NULL);
		sem_wait(&begun);
	}
	puts("all wait");
	fflush(stdout);
	pthread_join(thread, NULL);
	return 0;
}
"""

# Two threads wake each other argv[1] times.
PING_PONG = """
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

static sem_t ping, pong;
static long nr_rounds;

static void *answer(void *arg)
{
	for (long i = 0; i < nr_rounds; i++) {
		sem_wait(&ping);
		sem_post(&pong);
	}
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	nr_rounds = atol(argv[1]);
	pthread_create(&thread, NULL, answer, NULL);
	for (long i = 0; i < nr_rounds; i++) {
		sem_post(&ping);
		sem_wait(&pong);
	}
	return pthread_join(thread, NULL);
}
"""

# Two threads sleep for 20 us and compute a little, in a loop.
SHORT_SLEEPS = """
#include <pthread.h>
#include <time.h>

static void *sleeper(void *arg)
{
	const struct timespec moment = { 0, 20000 };

	for (int i = 0; i < 3000; i++)
		nanosleep(&moment, NULL);
	return arg;
}

int main(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, sleeper, NULL);
	sleeper(NULL);
	return pthread_join(thread, NULL);
}
"""

NR_WAITERS = 50
IDLE_S = 10
SETTLE_S = 60


def clean_environment(**more):
    return {name: value for name, value in os.environ.items()
            if not name.startswith("WEFT_")} | more


def counts_of(pid):
    """{task: (clock ticks, context switches)}"""
    tasks = {}
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            stat = (task / "stat").read_text().rpartition(")")[2].split()
            status = (task / "status").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue  # this kernel thread only helped to start
        switches = re.findall(r"ctxt_switches:\s*(\d+)", status)
        tasks[task.name] = (int(stat[11]) + int(stat[12]),
                            sum(map(int, switches)))
    return tasks


class Waiters:
    """The program of waiting threads, on weft."""

    def __init__(self, program, *options):
        self.process = subprocess.Popen(
            [BUILD / "weft", "run", *options, program, str(NR_WAITERS // 5)],
            stdout=subprocess.PIPE, text=True, env=clean_environment())
        assert self.process.stdout.readline() == "all wait\n"
        assert len(self.counts()) < NR_WAITERS, "not on weft"

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def counts(self):
        return counts_of(self.process.pid)


def added(before, after):
    """(clock ticks, context switches) over all tasks."""
    assert before.keys() == after.keys()
    return tuple(sum(after[task][i] - before[task][i] for task in before)
                 for i in range(2))


def settle(waiters):
    """Waits until no counter has changed for a second: then weft's start is
    over."""
    end = time.monotonic() + SETTLE_S
    seen = waiters.counts()
    while time.monotonic() < end:
        time.sleep(1)
        now = waiters.counts()
        if now == seen:
            return
        seen = now
    pytest.fail("it does not come to rest")


def test_idle_program_uses_no_cpu(compile_c):
    program = compile_c("-pthread", source=WAITERS)
    running = [Waiters(program, "--vps", str(vps), *wait)
               for vps in (1, 2, 4) for wait in ((), ("--wait", "park"))]
    try:
        for waiters in running:
            settle(waiters)
        before = [waiters.counts() for waiters in running]
        time.sleep(IDLE_S)
        for waiters, seen in zip(running, before):
            ticks, switches = added(seen, waiters.counts())
            assert ticks == 0 and switches <= 5, waiters.process.args
    finally:
        for waiters in running:
            waiters.end()


@pytest.mark.parametrize("vps,options,most",
                         [(1, (), 1), (2, (), 1), (4, (), 1),
                          (4, ("--agents", "2"), 2), (2, ("--agents", "9"), 2)])
def test_as_many_poll_as_may(compile_c, vps, options, most):
    """The other VPs sleep; the pollers' CPU clocks advance."""
    waiters = Waiters(compile_c("-pthread", source=WAITERS), "--wait", "poll",
                      "--vps", str(vps), *options)
    try:
        end = time.monotonic() + SETTLE_S
        while True:
            before = waiters.counts()
            time.sleep(1)
            after = waiters.counts()
            # A kernel thread that only helps to start may have ended.
            busy = [task for task in before.keys() & after.keys()
                    if after[task][0] > before[task][0]]
            # The monitor may not have noticed yet that it may sleep.
            if len(busy) == most or time.monotonic() > end:
                break
        assert len(busy) == most
    finally:
        waiters.end()


def statistics(weft, *command):
    result = weft("run", "--stats", *command)
    assert result.returncode == 0, result.stderr
    return {name: int(number) for name, number in
            re.findall(r"^weft: (.*): (\d+)$", result.stderr, re.M)}


POLLS, HITS = "idle VPs that began to poll", "polls that found work"


def test_when_a_vp_polls(weft, compile_c):
    program = compile_c("-pthread", source=SHORT_SLEEPS)
    assert statistics(weft, "--wait", "poll", "--vps", "1", program)[HITS] > 100
    for options in (["--wait", "park", "--vps", "2"], ["--vps", "1"]):
        assert statistics(weft, *options, program)[POLLS] == 0


def test_polls_where_it_pays(weft, compile_c):
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one CPU")
    program = compile_c("-pthread", source=SHORT_SLEEPS)
    # Under load VPs rarely poll, because other programs want the CPUs.
    for _ in range(200):
        if statistics(weft, "--vps", "2", program)[HITS] > 0:
            return
    pytest.fail("nobody polls")


def test_no_vp_polls_if_cpus_are_scarce(weft, compile_c):
    program = compile_c("-pthread", source=SHORT_SLEEPS)
    nr = len(os.sched_getaffinity(0))
    seen = statistics(weft, "--vps", str(nr + 1), program)
    assert seen[POLLS] == 0


# A thread polls to write after its peer has closed the other direction.
HALF_CLOSED = """
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>

static int pair[2];

static void *poll_to_write(void *arg)
{
	struct pollfd fd = { pair[1], POLLOUT, 0 };

	poll(&fd, 1, 200);
	return arg;
}

int main(void)
{
	static char data[1 << 16];
	pthread_t thread;

	socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	shutdown(pair[0], SHUT_WR);
	while (send(pair[1], data, sizeof(data), MSG_DONTWAIT) > 0)
		;
	pthread_create(&thread, NULL, poll_to_write, NULL);
	return pthread_join(thread, NULL);
}
"""


def test_half_closed_peer_is_no_news(weft, compile_c):
    program = compile_c("-pthread", source=HALF_CLOSED)
    assert statistics(weft, "--vps", "1", program)["waits that parked"] < 50


@pytest.mark.parametrize("wait", ["adaptive", "poll", "park"])
def test_ping_pong_stays_on_one_processor(weft, compile_c, wait):
    rounds = 200000
    seen = statistics(weft, "--vps", "2", "--wait", wait,
                      compile_c("-pthread", source=PING_PONG), str(rounds))
    assert seen["sleeping VPs woken"] < rounds / 100
    assert seen["threads taken from another VP"] < rounds / 100


@pytest.mark.parametrize("value", ["", "Poll", "spin", "poll,park", "1"])
def test_unknown_policy(weft, value):
    result = weft("run", f"--wait={value}", "true")
    assert (result.returncode, result.stderr) == (
        125, f"weft: --wait: '{value}' is not adaptive, poll or park\n")
    result = weft("run", "true", env={"WEFT_WAIT": value})
    assert (result.returncode, result.stderr) == (
        125, f"weft: WEFT_WAIT: '{value}' is not adaptive, poll or park\n")


# Another process changes a word every few microseconds and waits for the
# answer. Neither side wakes the other.
OUTSIDE = """
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weft/weft.h>

enum { RUNQ_ORDER = 3000 };
static volatile unsigned int *asked, *answered;

static void *answer(void *arg)
{
	for (unsigned int turn = 0; turn < RUNQ_ORDER; turn++) {
		if (weft_word_wait_until(asked, 4, UINT32_MAX, turn, NULL))
			abort();
		*answered = turn + 1;
	}
	return arg;
}

int main(void)
{
	pthread_t thread;
	int status;

	asked = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	answered = asked + 1024;
	if (fork() == 0) {
		for (unsigned int turn = 1; turn <= RUNQ_ORDER; turn++) {
			*asked = turn;
			while (*answered != turn)
				;
		}
		_exit(0);
	}
	pthread_create(&thread, NULL, answer, NULL);
	pthread_join(thread, NULL);
	wait(&status);
	return status;
}
"""


def test_polls_where_words_change_often(weft, compile_c):
    """The monitor finds the first changes of the words, and cannot know how
    often they change. In a single run a poller may find no change, if a
    thread's own short poll finds it before. So the test runs the program
    several times."""
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one CPU")
    if (BUILD / "counters").is_dir():
        pytest.skip("counting makes a turn longer than polling pays for")
    program = compile_c("-pthread", f"-I{ROOT / 'include'}",
                        "-x", "none", BUILD / "libweft-api.a",
                        source=OUTSIDE)
    for _ in range(400):  # a run takes 15 ms
        seen = statistics(weft, "--vps", "2", program)
        if (seen["waits for words ended by a poll"] > 1000 and
                seen["VPs that went to sleep"] < 100):
            return
    pytest.fail("nobody polls for words")


# A thread waits for a word that another process changes on request.
UNRUNG = """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <weft/weft.h>

static void *await(void *word)
{
	if (weft_word_wait_until(word, 4, UINT32_MAX, 0, NULL) != 0)
		abort();
	puts("seen");
	return NULL;
}

int main(void)
{
	volatile unsigned int *word;
	pthread_t thread;

	word = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (fork() == 0) {
		getchar();
		*word = 1;
		_exit(0);
	}
	pthread_create(&thread, NULL, await, (void *)word);
	puts("all wait");
	fflush(stdout);
	return pthread_join(thread, NULL);
}
"""


@pytest.mark.parametrize("wait", ["adaptive", "park"])
def test_words_are_polled_ever_less_often(weft, compile_c, wait):
    program = compile_c("-pthread", f"-I{ROOT / 'include'}",
                        "-x", "none", BUILD / "libweft-api.a", source=UNRUNG)
    with subprocess.Popen(
            [BUILD / "weft", "run", "--wait", wait, "--vps", "2", program],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=clean_environment()) as process:
        assert process.stdout.readline() == "all wait\n"
        time.sleep(2)
        before = counts_of(process.pid)
        time.sleep(2)
        _, switches = added(before, counts_of(process.pid))
        # 125 checks at most; with one in each tick there would be 2000.
        assert 20 < switches < 500
        assert process.communicate("\n")[0] == "seen\n"

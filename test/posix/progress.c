/* SPDX-License-Identifier: MIT */
/*
 * Programs that a naive scheduler of user threads would stall: they spin
 * without yielding, or block in calls that weft does not intercept.
 */
#include <fcntl.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"
#include "child.h"
#include "threading.h"

static volatile int flag;
static _Atomic int nr_spinning;
static int fds[2];

static void *spin_on_flag(void *arg)
{
	nr_spinning++;
	while (!flag)
		;
	return arg;
}

/* Sleeps while `nr` threads spin, then sets the flag. */
static void *set_flag(void *nr)
{
	await_count(&nr_spinning, (int)(intptr_t)nr);
	sleep_ms(20);
	flag = 1;
	return NULL;
}

/*
 * There are more spinners than CPUs, and the thread that ends them starts last.
 */
TEST(spinners_without_yield)
{
	pthread_t threads[12], setter;

	threads_start(threads, 12, spin_on_flag, NULL);
	setter = thread_start(set_flag, (void *)12L);
	threads_join(threads, 12);
	thread_join(setter);
	CHECK_EQ(nr_spinning, 12);
}

TEST(main_spins)
{
	pthread_t t = thread_start(set_flag, (void *)1L);

	spin_on_flag(NULL);
	thread_join(t);
}

/* Many programs have such a spin lock of their own. */
static int user_lock;
static long counter;

static void *spin_and_count(void *arg)
{
	for (int i = 0; i < 3000; i++) {
		while (__atomic_exchange_n(&user_lock, 1, __ATOMIC_ACQUIRE))
			;
		counter++;
		__atomic_store_n(&user_lock, 0, __ATOMIC_RELEASE);
	}
	return arg;
}

TEST(user_spin_lock)
{
	pthread_t threads[8];

	threads_start(threads, 8, spin_and_count, NULL);
	threads_join(threads, 8);
	CHECK_EQ(counter, 24000);
}

static _Atomic int nr_read;

/* syscall() by number, so weft does not intercept the read. */
static void *raw_read(void *arg)
{
	char byte;

	CHECK_EQ(syscall(SYS_read, fds[0], &byte, 1), 1);
	nr_read++;
	return arg;
}

static void *plain_read(void *arg)
{
	char byte;

	CHECK_EQ(read(fds[0], &byte, 1), 1);
	nr_read++;
	return arg;
}

static void blocked_readers(void *(*reader)(void *))
{
	pthread_t readers[40], others[10];
	char bytes[40] = "";

	CHECK_EQ(pipe(fds), 0);
	threads_start(readers, 40, reader, NULL);
	threads_start(others, 10, thread_yield_often, NULL);
	threads_join(others, 10);
	await_rest();
	thread_join(thread_start(thread_yield_often, NULL));
	CHECK_EQ(nr_read, 0);
	CHECK_EQ(write(fds[1], bytes, 40), 40);
	threads_join(readers, 40);
	CHECK_EQ(nr_read, 40);
}

/*
 * A blocked read must not change the descriptor's flags, since other processes
 * may share it.
 */
TEST(descriptors_stay_blocking)
{
	blocked_readers(plain_read);
	for (int i = 0; i < 2; i++) {
		int flags = fcntl(fds[i], F_GETFL);

		CHECK(flags >= 0);
		CHECK_EQ(flags & O_NONBLOCK, 0);
	}
}

TEST(blocked_in_raw_read)
{
	blocked_readers(raw_read);
}

TEST(blocked_in_read)
{
	blocked_readers(plain_read);
}

/*
 * All threads have slept for long when one wakes and blocks in the kernel. It
 * blocks until another thread has run: one that it has woken, one with a later
 * deadline, or one that reads another process's bytes.
 */
enum { LONG_MS = 300, MORE_MS = 20 };
static sem_t woken;
static int letters[2];

static void answer(void)
{
	CHECK_EQ(write(fds[1], "", 1), 1);
}

static void *answer_when_woken(void *arg)
{
	CHECK_EQ(sem_wait(&woken), 0);
	answer();
	return arg;
}

static void *answer_in_time(void *arg)
{
	sleep_ms(LONG_MS + MORE_MS);
	answer();
	return arg;
}

static void *answer_letter(void *arg)
{
	char letter;

	CHECK_EQ(read(letters[0], &letter, 1), 1);
	answer();
	return arg;
}

static void send_letter(void)
{
	sleep_ms(LONG_MS + MORE_MS);
	CHECK_EQ(write(letters[1], "", 1), 1);
}

static void sleep_and_block(void *(*answers)(void *))
{
	pthread_t t = thread_start(answers, NULL);

	sleep_ms(LONG_MS);
	sem_post(&woken);
	raw_read(NULL);
	thread_join(t);
}

TEST(blocks_after_a_long_sleep)
{
	pid_t child;

	CHECK_EQ(pipe(fds), 0);
	CHECK_EQ(pipe(letters), 0);
	CHECK_EQ(sem_init(&woken, 0, 0), 0);
	sleep_and_block(answer_when_woken);
	sleep_and_block(answer_in_time);
	child = child_start(send_letter);
	sleep_and_block(answer_letter);
	CHECK_EQ(child_wait(child), 0);
	CHECK_EQ(nr_read, 3);
}

static void *write_full_pipe(void *arg)
{
	static char block[65536];

	for (int i = 0; i < 4; i++)
		CHECK_EQ(write(fds[1], block, sizeof(block)), sizeof(block));
	return arg;
}

static void *drain_pipe(void *arg)
{
	static char block[65536];
	size_t left = (size_t)(intptr_t)arg;

	while (left > 0) {
		ssize_t got = read(fds[0], block, sizeof(block));

		CHECK(got > 0);
		left -= (size_t)got;
	}
	return NULL;
}

TEST(writers_on_a_full_pipe)
{
	pthread_t writers[10], reader;

	CHECK_EQ(pipe(fds), 0);
	threads_start(writers, 10, write_full_pipe, NULL);
	thread_join(thread_start(thread_yield_often, NULL));
	reader = thread_start(drain_pipe, (void *)(intptr_t)(10 * 4 * 65536));
	threads_join(writers, 10);
	thread_join(reader);
}

static void *open_fifo(void *arg)
{
	int fd = open(arg, O_RDONLY);
	char byte;

	CHECK(fd >= 0);
	CHECK_EQ(read(fd, &byte, 1), 1);
	CHECK_EQ(close(fd), 0);
	return NULL;
}

static char fifo[64];

static void remove_fifo(void)
{
	unlink(fifo);
}

TEST(blocked_in_open)
{
	pthread_t t;
	int fd;

	snprintf(fifo, sizeof(fifo), "/tmp/weft-fifo-%d", (int)getpid());
	CHECK_EQ(mkfifo(fifo, 0600), 0);
	check_at_end(remove_fifo);
	t = thread_start(open_fifo, fifo);
	thread_join(thread_start(thread_yield_often, NULL));
	fd = open(fifo, O_WRONLY);
	CHECK(fd >= 0);
	CHECK_EQ(write(fd, "x", 1), 1);
	thread_join(t);
	CHECK_EQ(close(fd), 0);
}

/* Two threads that pass a token make progress beside threads that compute. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int turn;

static void *take_turns(void *arg)
{
	int me = (int)(intptr_t)arg;

	for (int i = 0; i < 200; i++) {
		CHECK_EQ(pthread_mutex_lock(&mutex), 0);
		while (turn % 2 != me)
			CHECK_EQ(pthread_cond_wait(&changed, &mutex), 0);
		turn++;
		CHECK_EQ(pthread_cond_signal(&changed), 0);
		CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
	}
	return NULL;
}

TEST(waiting_threads_beside_computing)
{
	pthread_t computing[6], pair[2];

	threads_start(computing, 6, spin_on_flag, NULL);
	threads_start_numbered(pair, 2, take_turns);
	threads_join(pair, 2);
	CHECK_EQ(turn, 400);
	flag = 1;
	threads_join(computing, 6);
}

TEST(sleeps_beside_computing)
{
	int64_t start = now_ns();
	pthread_t computing[6];

	threads_start(computing, 6, spin_on_flag, NULL);
	for (int i = 0; i < 20; i++)
		usleep(1000);
	CHECK(elapsed_ms(start) < 5000);
	flag = 1;
	threads_join(computing, 6);
}

/*
 * memset runs inside libc, where weft does not preempt. The other threads have
 * to get the CPU all the same.
 */
static void *set_memory(void *arg)
{
	static char area[6][8 << 20];
	void *(*volatile set)(void *, int, size_t) = memset;

	while (!flag)
		set(area[(intptr_t)arg], 1, sizeof(area[0]));
	return NULL;
}

static void *set_nothing(void *arg)
{
	return arg;
}

TEST(loops_inside_libc)
{
	int64_t start = now_ns();
	pthread_t computing[6];

	threads_start_numbered(computing, 6, set_memory);
	for (int i = 0; i < 20; i++) {
		usleep(1000);
		thread_join(thread_start(set_nothing, NULL));
	}
	CHECK(elapsed_ms(start) < 15000);
	flag = 1;
	threads_join(computing, 6);
}

/* A program may have used up its memory when many threads become runnable. */
static pthread_barrier_t barrier;
static _Atomic int nr_arrived;

static void *wait_and_yield(void *arg)
{
	nr_arrived++;
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 20; i++)
		sched_yield();
	return arg;
}

static void run_on_without_memory(void)
{
	enum { NR_THREADS = 1000 }; /* more than any queue has held so far */
	static pthread_t threads[NR_THREADS];
	struct rlimit nothing = { 0, RLIM_INFINITY };

	CHECK_EQ(pthread_barrier_init(&barrier, NULL, NR_THREADS + 1), 0);
	threads_start(threads, NR_THREADS, wait_and_yield, NULL);
	while (nr_arrived < NR_THREADS)
		sched_yield();
	CHECK_EQ(setrlimit(RLIMIT_AS, &nothing), 0);
	pthread_barrier_wait(&barrier);
	threads_join(threads, NR_THREADS);
	_exit(42);
}

TEST(threads_run_on_without_memory)
{
	CHECK_EQ(child_exit_status(run_on_without_memory), 42);
}

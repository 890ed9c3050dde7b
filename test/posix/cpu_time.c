/* SPDX-License-Identifier: MIT */
/* CPU clocks of threads: each counts the CPU time of its thread only. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "threading.h"

enum { WORK_MS = 30, NR_THREADS = 4 };

static int64_t read_clock(clockid_t clock)
{
	struct timespec ts;

	CHECK_EQ(clock_gettime(clock, &ts), 0);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static int64_t own_ns(void)
{
	return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

static void compute(int ms)
{
	int64_t end = own_ns() + ms * 1000000LL;

	while (own_ns() < end)
		for (volatile int i = 0; i < 10000; i++)
			;
}

static sem_t go, done;

static void *work_when_told(void *arg)
{
	sem_wait(&go);
	compute(WORK_MS);
	sem_post(&done);
	sem_wait(&go);
	return arg;
}

static pthread_t start_worker(void)
{
	sem_init(&go, 0, 0);
	sem_init(&done, 0, 0);
	return thread_start(work_when_told, NULL);
}

TEST(waiting_uses_no_cpu_time)
{
	pthread_t worker = start_worker();
	int64_t before = own_ns(), used;

	sem_post(&go);
	sem_wait(&done);
	used = own_ns() - before;
	CHECK(used >= 0);
	CHECK(used < WORK_MS * 1000000LL / 2);
	sem_post(&go);
	thread_join(worker);
}

TEST(clock_of_another)
{
	pthread_t worker = start_worker();
	clockid_t clock, own;
	int64_t before, used;

	CHECK_EQ(pthread_getcpuclockid(worker, &clock), 0);
	CHECK_EQ(pthread_getcpuclockid(pthread_self(), &own), 0);
	CHECK(clock != own);
	before = read_clock(clock);
	sem_post(&go);
	sem_wait(&done);
	used = read_clock(clock) - before;
	CHECK(used >= WORK_MS * 1000000LL);
	/* While the worker waits, its clock advances by little. */
	sleep_ms(20);
	CHECK(read_clock(clock) - before < used + WORK_MS * 1000000LL / 2);
	sem_post(&go);
	thread_join(worker);
}

static _Atomic int is_over;

static void *compute_until_over(void *arg)
{
	while (!is_over)
		;
	return arg;
}

TEST(clock_of_another_computing_thread)
{
	pthread_t worker = thread_start(compute_until_over, NULL);
	int64_t before, last;
	clockid_t clock;

	CHECK_EQ(pthread_getcpuclockid(worker, &clock), 0);
	before = last = read_clock(clock);
	while (last < before + WORK_MS * 1000000LL) {
		int64_t now = read_clock(clock);

		CHECK(now >= last);
		last = now;
	}
	is_over = 1;
	thread_join(worker);
}

static void *read_own(void *arg)
{
	*(int64_t *)arg = own_ns();
	return arg;
}

/*
 * No thread has read this clock before, and the new thread runs where its
 * creator has computed.
 */
TEST(clock_of_a_new_thread)
{
	int64_t used_ns = 1000 * 1000000LL, new_ns = 0;

	while (read_clock(CLOCK_PROCESS_CPUTIME_ID) < used_ns)
		for (volatile int i = 0; i < 10000; i++)
			;
	thread_join(thread_start(read_own, &new_ns));
	CHECK(new_ns > 0);
	CHECK(new_ns < used_ns / 2);
}

/*
 * A new thread's clock begins at 0 after others have computed on all carriers.
 */
TEST(clock_of_a_new_thread_among_others)
{
	int64_t used_ns = 1000 * 1000000LL, new_ns = 0;
	pthread_t others[NR_THREADS];

	for (int i = 0; i < NR_THREADS; i++)
		others[i] = thread_start(compute_until_over, NULL);
	while (read_clock(CLOCK_PROCESS_CPUTIME_ID) < 2 * used_ns)
		;
	is_over = 1;
	threads_join(others, NR_THREADS);
	thread_join(thread_start(read_own, &new_ns));
	CHECK(new_ns > 0);
	CHECK(new_ns < used_ns / 2);
}

TEST(names_of_the_own_clock)
{
	int64_t first = own_ns(), second, third;
	struct timespec raw, res;
	struct rusage usage;
	clockid_t clock;

	CHECK_EQ(pthread_getcpuclockid(pthread_self(), &clock), 0);
	second = read_clock(clock);
	CHECK(second >= first);
	CHECK_EQ(syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &raw), 0);
	third = raw.tv_sec * 1000000000LL + raw.tv_nsec;
	CHECK(third >= second);
	CHECK_EQ(getrusage(RUSAGE_THREAD, &usage), 0);
	CHECK((usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000LL +
		      usage.ru_utime.tv_usec + usage.ru_stime.tv_usec >=
	      third / 1000 - 20000); /* the kernel counts in ticks */
	CHECK_EQ(clock_getres(clock, &res), 0);
	CHECK_EQ(res.tv_sec, 0);
	CHECK_EQ(clock_getres(clock, NULL), 0);
}

static void *compute_some(void *arg)
{
	compute(WORK_MS);
	return arg;
}

TEST(together_no_more_than_the_process)
{
	int64_t before = read_clock(CLOCK_PROCESS_CPUTIME_ID);
	pthread_t threads[NR_THREADS];

	threads_start(threads, NR_THREADS, compute_some, NULL);
	threads_join(threads, NR_THREADS);
	CHECK(read_clock(CLOCK_PROCESS_CPUTIME_ID) - before >=
	      NR_THREADS * WORK_MS * 1000000LL);
}

static void *give_clock(void *arg)
{
	CHECK_EQ(pthread_getcpuclockid(pthread_self(), arg), 0);
	CHECK(read_clock(*(clockid_t *)arg) < WORK_MS * 1000000LL / 2);
	return arg;
}

TEST(clock_of_a_thread_that_has_ended)
{
	struct timespec ts;
	clockid_t clock;

	own_ns();
	thread_join(thread_start(give_clock, &clock));
	CHECK_ERRNO(clock_gettime(clock, &ts), EINVAL);
	/*
	 * Another thread may have the ended thread's slot by now, but not its
	 * clock.
	 */
	thread_join(thread_start(thread_nothing, NULL));
	CHECK_ERRNO(clock_gettime(clock, &ts), EINVAL);
}

TEST(new_threads_begin_at_nothing)
{
	clockid_t clock;

	compute(WORK_MS);
	for (int i = 0; i < 20; i++) {
		pthread_t thread = thread_start(give_clock, &clock);

		thread_join(thread);
	}
}

/* A clock works even if it was asked for before the thread began. */
TEST(clock_of_a_thread_that_has_not_begun)
{
	own_ns();
	for (int i = 0; i < 3; i++) {
		pthread_t worker;
		clockid_t clock;

		thread_join(thread_start(compute_some, NULL));
		worker = start_worker();
		CHECK_EQ(pthread_getcpuclockid(worker, &clock), 0);
		CHECK(read_clock(clock) < WORK_MS * 1000000LL / 2);
		sem_post(&go);
		sem_post(&go);
		thread_join(worker);
	}
}

/* No other thread wants the CPU, so all its time is this thread's. */
TEST(own_clock_while_it_computes)
{
	int64_t process, before;

	have_threads();
	before = own_ns();
	process = read_clock(CLOCK_PROCESS_CPUTIME_ID);
	while (read_clock(CLOCK_PROCESS_CPUTIME_ID) - process < 20 * NS_PER_MS)
		;
	CHECK(own_ns() - before >= 5 * NS_PER_MS);
}

/* SPDX-License-Identifier: MIT */
/* sleep, usleep, nanosleep, clock_nanosleep: never too short, errors. */
#include <unistd.h>

#include "check.h"
#include "threading.h"

TEST(short_forms)
{
	int64_t start = now_ns();

	CHECK_EQ(usleep(20000), 0);
	CHECK(now_ns() - start >= 20 * NS_PER_MS);
	start = now_ns();
	CHECK_EQ(sleep(1), 0);
	CHECK(now_ns() - start >= NS_PER_S);
	CHECK_EQ(sleep(0), 0);
	CHECK_EQ(usleep(0), 0);
}

TEST(nanosleep_lasts)
{
	for (long ns = 1; ns <= 100000000; ns *= 10) {
		struct timespec ts = { 0, ns };
		int64_t start = now_ns();

		CHECK_EQ(nanosleep(&ts, NULL), 0);
		CHECK(now_ns() - start >= ns);
		CHECK_EQ(ts.tv_nsec, ns);
	}
}

TEST(nanosleep_errors)
{
	struct timespec bad = { 0, NS_PER_S };

	CHECK_ERRNO(nanosleep(&bad, NULL), EINVAL);
	bad.tv_nsec = -1;
	CHECK_ERRNO(nanosleep(&bad, NULL), EINVAL);
	bad = (struct timespec){ -1, 0 };
	CHECK_ERRNO(nanosleep(&bad, NULL), EINVAL);
}

TEST(relative)
{
	static const clockid_t clocks[] = { CLOCK_REALTIME, CLOCK_MONOTONIC,
					    CLOCK_BOOTTIME };

	for (int i = 0; i < 3; i++) {
		struct timespec ts = { 0, 15 * NS_PER_MS };
		int64_t start = now_ns();

		CHECK_EQ(clock_nanosleep(clocks[i], 0, &ts, NULL), 0);
		CHECK(now_ns() - start >= 15 * NS_PER_MS);
	}
}

TEST(absolute)
{
	static const clockid_t clocks[] = { CLOCK_REALTIME, CLOCK_MONOTONIC,
					    CLOCK_BOOTTIME };

	for (int i = 0; i < 3; i++) {
		struct timespec until = deadline_ms(clocks[i], 15);
		struct timespec now;

		CHECK_EQ(clock_nanosleep(clocks[i], TIMER_ABSTIME, &until,
					 NULL),
			 0);
		CHECK_EQ(clock_gettime(clocks[i], &now), 0);
		CHECK(now.tv_sec > until.tv_sec ||
		      (now.tv_sec == until.tv_sec &&
		       now.tv_nsec >= until.tv_nsec));
		/* A deadline in the past returns at once. */
		CHECK_EQ(clock_nanosleep(clocks[i], TIMER_ABSTIME, &until,
					 NULL),
			 0);
	}
}

TEST(clock_nanosleep_errors)
{
	struct timespec ts = { 0, 1 };
	struct timespec bad = { 0, NS_PER_S };

	errno = 0;
	CHECK_EQ(clock_nanosleep(CLOCK_MONOTONIC, 0, &bad, NULL), EINVAL);
	CHECK_EQ(clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &bad, NULL),
		 EINVAL);
	CHECK_EQ(clock_nanosleep(CLOCK_THREAD_CPUTIME_ID, 0, &ts, NULL),
		 EINVAL);
	CHECK_EQ(clock_nanosleep(1234, 0, &ts, NULL), EINVAL);
	CHECK_EQ(errno, 0);
}

static void *sleep_by_number(void *arg)
{
	int64_t ns = (1 + (intptr_t)arg % 20) * NS_PER_MS;
	struct timespec ts = { 0, ns };

	for (int i = 0; i < 5; i++) {
		int64_t start = now_ns();

		CHECK_EQ(nanosleep(&ts, NULL), 0);
		CHECK(now_ns() - start >= ns);
	}
	return NULL;
}

/*
 * The sleeps run concurrently; one after the other would exceed the test's
 * time.
 */
TEST(many_sleepers)
{
	static pthread_t threads[500];

	threads_start_numbered(threads, 500, sleep_by_number);
	threads_join(threads, 500);
}

static _Atomic int order[100];
static _Atomic int nr_woken;

static struct timespec wake_times[40];

static void *wake_in_order(void *arg)
{
	int me = (int)(intptr_t)arg;

	CHECK_EQ(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME,
				 &wake_times[me], NULL),
		 0);
	order[nr_woken++] = me;
	return NULL;
}

static bool wakes_in_order(void)
{
	pthread_t threads[40];
	int nr_late = 0;

	nr_woken = 0;
	for (int i = 0; i < 40; i++)
		wake_times[i] = deadline_ms(CLOCK_MONOTONIC, 30 + i * 5);
	for (intptr_t i = 39; i >= 0; i--)
		threads[i] = thread_start(wake_in_order, (void *)i);
	threads_join(threads, 40);
	for (int i = 1; i < 40; i++)
		nr_late += order[i] < order[i - 1];
	return nr_late <= 4;
}

/*
 * Deadlines 5 ms apart wake in order, except for a few neighbours. A busy
 * machine may need several attempts.
 */
TEST(earlier_deadlines_wake_first)
{
	int attempts = 20;

	while (!wakes_in_order())
		CHECK(--attempts > 0);
}

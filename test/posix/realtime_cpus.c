/* SPDX-License-Identifier: MIT */
/*
 * As many threads run as there are CPUs, and those with the highest priority.
 * If weft has more VPs than CPUs, it takes VPs offline for that.
 *
 * Low-priority threads count all the time. While a higher-priority thread
 * computes on each CPU, the count stands still.
 */
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "child.h"
#include "realtime.h"

enum { LOW = 1, HIGH = 2, MOST = 99, NR_LOW = 4, WINDOW_MS = 30 };

static _Atomic bool may_end;
static _Atomic uint64_t count;
static _Atomic int nr_low, nr_high;
static int nr_cpus = 1;

static void *count_until_told(void *arg)
{
	nr_low++;
	while (!may_end)
		count++;
	return arg;
}

/* Computes for a while, and returns whether the count stood still meanwhile. */
static bool stands_still(void)
{
	int64_t start = now_ns();
	uint64_t before = count;

	while (elapsed_ms(start) < WINDOW_MS)
		;
	return count == before;
}

static void *check_alone(void *arg)
{
	nr_high++;
	while (nr_high < nr_cpus)
		sched_yield();
	/* Another CPU needs a moment to notice this thread. */
	while (!stands_still())
		CHECK(nr_cpus > 1);
	nr_high++;
	/*
	 * This thread occupies its CPU until the other thread has checked, too.
	 */
	while (nr_high < 2 * nr_cpus)
		sched_yield();
	return arg;
}

static void check_with(int low_policy, int low_priority, int high_policy)
{
	pthread_t low[NR_LOW], high[2];

	begin_on(nr_cpus);
	for (int i = 0; i < NR_LOW; i++)
		low[i] = thread_start_policy(low_policy, low_priority, NULL,
					     count_until_told, NULL);
	/* The low threads get the CPUs while this thread sleeps. */
	while (count == 0)
		sleep_ms(1);
	for (int i = 0; i < nr_cpus; i++)
		high[i] = thread_start_policy(high_policy, HIGH, NULL,
					      check_alone, NULL);
	threads_join(high, nr_cpus);
	may_end = true;
	threads_join(low, NR_LOW);
}

TEST(fifo_above_fifo)
{
	check_with(SCHED_FIFO, LOW, SCHED_FIFO);
}

TEST(fifo_above_round_robin)
{
	check_with(SCHED_RR, LOW, SCHED_FIFO);
}

TEST(round_robin_above_fifo)
{
	check_with(SCHED_FIFO, LOW, SCHED_RR);
}

TEST(fifo_above_other)
{
	check_with(SCHED_OTHER, 0, SCHED_FIFO);
}

TEST(on_two_cpus)
{
	nr_cpus = 2;
	check_with(SCHED_FIFO, LOW, SCHED_FIFO);
}

TEST(others_above_creator)
{
	pthread_t t;

	begin();
	set_own(SCHED_FIFO, LOW);
	t = thread_start_policy(SCHED_FIFO, HIGH, NULL, check_alone, NULL);
	while (nr_high < 2)
		count++;
	thread_join(t);
}

/*
 * Threads without a policy run on all VPs when the first real-time thread
 * comes. Their carriers may need a moment to notice it.
 */
TEST(first_of_all)
{
	pthread_t low[NR_LOW];

	use_cpus(1);
	for (int i = 0; i < NR_LOW; i++)
		low[i] = thread_start(count_until_told, NULL);
	while (nr_low < NR_LOW)
		sleep_ms(1);
	if (!try_set_own(SCHED_FIFO, HIGH))
		SKIP("real-time policies are not allowed");
	while (!stands_still())
		;
	may_end = true;
	threads_join(low, NR_LOW);
}

static void check_first_thread(void)
{
	pthread_t low[NR_LOW];

	for (int i = 0; i < NR_LOW; i++)
		low[i] = thread_start_policy(SCHED_OTHER, 0, NULL,
					     count_until_told, NULL);
	while (!stands_still())
		;
	may_end = true;
	threads_join(low, NR_LOW);
}

/* The first thread is real-time before the runtime starts. */
TEST(by_the_first_thread)
{
	struct sched_param param = { .sched_priority = HIGH };

	use_cpus(1);
	if (sched_setscheduler(0, SCHED_FIFO, &param) != 0)
		SKIP("real-time policies are not allowed");
	check_first_thread();
}

TEST(in_a_fork_child)
{
	pid_t child;
	int status;

	begin();
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		check_first_thread();
		_exit(0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
}

static void exit_at_once(void)
{
	_exit(3);
}

/*
 * The first thread is real-time before there are threads, so weft's kernel
 * threads are, too. It sleeps beside threads that compute, takes a signal to
 * the process, and has a child that ends. A CPU limit ends the test if it
 * hangs.
 */
static void sleep_beside_lower(int flags, int priority)
{
	struct sched_param param = { .sched_priority = priority };
	struct rlimit time = { 10 * 1000 * 1000, 10 * 1000 * 1000 };
	pthread_t low[NR_LOW];
	sigset_t set;
	int sig;

	use_cpus(1);
	CHECK_EQ(setrlimit(RLIMIT_RTTIME, &time), 0);
	if (sched_setscheduler(0, SCHED_FIFO | flags, &param) != 0)
		SKIP("real-time policies are not allowed");
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CHECK_EQ(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
	for (int i = 0; i < NR_LOW; i++)
		low[i] = thread_start_policy(SCHED_RR, LOW, NULL,
					     count_until_told, NULL);
	for (int i = 0; i < 5; i++)
		sleep_ms(1);
	CHECK_EQ(kill(getpid(), SIGUSR1), 0);
	CHECK_EQ(sigwait(&set, &sig), 0);
	CHECK_EQ(sig, SIGUSR1);
	CHECK_EQ(sched_getscheduler(0), SCHED_FIFO | flags);
	if (flags == 0)
		CHECK_EQ(child_exit_status(exit_at_once), 3);
	may_end = true;
	threads_join(low, NR_LOW);
}

TEST(first_thread_sleeps)
{
	sleep_beside_lower(0, HIGH);
}

TEST(first_thread_that_makes_no_realtime_threads_sleeps)
{
	sleep_beside_lower(SCHED_RESET_ON_FORK, HIGH);
}

/* No thread can have a higher priority than this. */
TEST(first_thread_with_the_highest_priority_sleeps)
{
	sleep_beside_lower(0, MOST);
}

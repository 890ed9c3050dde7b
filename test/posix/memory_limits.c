/* SPDX-License-Identifier: MIT */
/*
 * Threads where memory is limited: by address space, by data, by locked memory.
 * A case sets its limit and executes the program again, so the limit holds from
 * the start. Nearly as many threads must fit as natively. They must work, and
 * one thread more must be refused.
 */
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "check.h"
#include "child.h"
#include "threading.h"

enum { KIB = 1024, MIB = 1024 * 1024, PASSED = 42, MOST = 4000 };

static pthread_attr_t attr;
static pthread_t threads[MOST];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int nr_waiting;
static bool may_end;

/* --- the limited process ------------------------------------------------- */

static int resource;
static rlim_t limit_bytes;
static const char *limited_case;

static void run_limited(void)
{
	struct rlimit limit = { limit_bytes, limit_bytes };
	char self[4096] = { 0 };

	CHECK(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	if (resource == RLIMIT_MEMLOCK)
		prctl(PR_CAPBSET_DROP, CAP_IPC_LOCK, 0, 0, 0);
	CHECK_EQ(setrlimit(resource, &limit), 0);
	CHECK_EQ(setenv("LIMITED", "1", 1), 0);
	execl(self, self, limited_case, NULL);
}

static void check_limited(int limited_resource, size_t kib, const char *name)
{
	struct rlimit limit;

	resource = limited_resource;
	limit_bytes = kib * KIB;
	limited_case = name;
	CHECK_EQ(getrlimit(resource, &limit), 0);
	if (limit.rlim_max < limit_bytes)
		SKIP("the limit cannot be raised");
	CHECK_EQ(child_exit_status(run_limited), PASSED);
}

static void begin(size_t stack_bytes)
{
	if (getenv("LIMITED") == NULL)
		SKIP("to be run by the cases below");
	CHECK_EQ(pthread_attr_init(&attr), 0);
	CHECK_EQ(pthread_attr_setstacksize(&attr, stack_bytes), 0);
}

static void *wait_for_end(void *arg)
{
	pthread_mutex_lock(&lock);
	nr_waiting++;
	pthread_cond_broadcast(&changed);
	while (!may_end)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	return arg;
}

static void end_all(int nr)
{
	pthread_mutex_lock(&lock);
	while (nr_waiting < nr)
		pthread_cond_wait(&changed, &lock);
	may_end = true;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	threads_join(threads, (size_t)nr);
	nr_waiting = 0;
	may_end = false;
}

/* Returns how many threads fit at a time. */
static int fill(void)
{
	int nr = 0, err = 0;

	while (nr < MOST && err == 0) {
		err = pthread_create(&threads[nr], &attr, wait_for_end, NULL);
		nr += err == 0;
	}
	CHECK(err == 0 || err == EAGAIN);
	end_all(nr);
	return nr;
}

/* Later threads reuse the stacks of ended threads. */
static void fill_again_and_again(int least)
{
	for (int i = 0; i < 3; i++) {
		int nr = fill();

		if (nr < least)
			fprintf(stderr, "%d threads at a time\n", nr);
		CHECK(nr >= least);
	}
	_exit(PASSED);
}

/* --- how many threads fit ----------------------------------------------- */

TEST(limited_15_default)
{
	begin(8 * MIB);
	fill_again_and_again(15);
}

TEST(limited_2_default)
{
	begin(8 * MIB);
	fill_again_and_again(2);
}

TEST(limited_85_of_a_mib)
{
	begin(MIB);
	fill_again_and_again(85);
}

TEST(limited_200_small)
{
	begin(64 * KIB);
	fill_again_and_again(200);
}

TEST(address_space)
{
	check_limited(RLIMIT_AS, 150000, "limited_15_default");
	check_limited(RLIMIT_AS, 100000, "limited_85_of_a_mib");
	check_limited(RLIMIT_AS, 30000, "limited_200_small");
}

TEST(data)
{
	check_limited(RLIMIT_DATA, 20000, "limited_2_default");
	check_limited(RLIMIT_DATA, 100000, "limited_85_of_a_mib");
	check_limited(RLIMIT_DATA, 20000, "limited_200_small");
}

static int lock_flags = MCL_FUTURE;

static void begin_locked(size_t stack_bytes)
{
	begin(stack_bytes);
	CHECK_EQ(mlockall(lock_flags), 0);
}

TEST(limited_4_of_a_mib_locked)
{
	begin_locked(MIB);
	fill_again_and_again(4);
}

TEST(limited_4_of_a_mib_on_fault)
{
	lock_flags = MCL_FUTURE | MCL_ONFAULT;
	begin_locked(MIB);
	fill_again_and_again(4);
}

TEST(limited_90_small_locked)
{
	begin_locked(64 * KIB);
	fill_again_and_again(90);
}

/* mlockall comes when there are threads with large stacks. */
TEST(limited_locked_later)
{
	begin(300000);
	for (int i = 0; i < 5; i++)
		CHECK_EQ(pthread_create(&threads[i], &attr, wait_for_end, NULL),
			 0);
	end_all(5);
	begin_locked(64 * KIB);
	fill_again_and_again(60);
}

TEST(locked_memory)
{
	check_limited(RLIMIT_MEMLOCK, 8192, "limited_4_of_a_mib_locked");
	check_limited(RLIMIT_MEMLOCK, 8192, "limited_4_of_a_mib_on_fault");
	check_limited(RLIMIT_MEMLOCK, 8192, "limited_90_small_locked");
	check_limited(RLIMIT_MEMLOCK, 8192, "limited_locked_later");
}

/* --- what these threads can do -------------------------------------------- */

/*
 * Threads that never yield use nearly all of their stacks, and must be
 * preempted all the same.
 */
enum { NR_SPINNERS = 8, FRAME_BYTES = 512, LEFT_BYTES = 9 * KIB };

static _Atomic int nr_spun;
static size_t stack_bytes;

__attribute__((noinline)) static char descend(const char *low)
{
	volatile char frame[FRAME_BYTES];

	frame[0] = 1;
	frame[FRAME_BYTES - 1] = 1;
	if ((const char *)frame > low)
		return descend(low) + frame[0];
	nr_spun++;
	while (nr_spun < NR_SPINNERS)
		;
	return frame[FRAME_BYTES - 1];
}

static void *spin(void *arg)
{
	pthread_attr_t own;
	size_t bytes;
	void *low;

	CHECK_EQ(pthread_getattr_np(pthread_self(), &own), 0);
	CHECK_EQ(pthread_attr_getstack(&own, &low, &bytes), 0);
	CHECK_EQ(bytes, stack_bytes);
	if (arg != NULL)
		low = (char *)__builtin_frame_address(0) - 2 * FRAME_BYTES;
	else
		low = (char *)low + LEFT_BYTES;
	descend(low);
	return NULL;
}

static void spin_all(size_t bytes, void *is_shallow)
{
	stack_bytes = bytes;
	nr_spun = 0;
	CHECK_EQ(pthread_attr_setstacksize(&attr, bytes), 0);
	for (int i = 0; i < NR_SPINNERS; i++)
		CHECK_EQ(pthread_create(&threads[i], &attr, spin, is_shallow),
			 0);
	threads_join(threads, NR_SPINNERS);
}

TEST(limited_spinners)
{
	static const size_t sizes[] = { 16 * KIB, 20 * KIB, 64 * KIB, 100 * KIB,
					MIB };

	begin(MIB);
	for (int i = 0; i < 5; i++) {
		spin_all(sizes[i], NULL);
		spin_all(sizes[i], "shallow");
	}
	_exit(PASSED);
}

TEST(threads_that_compute)
{
	check_limited(RLIMIT_AS, 100000, "limited_spinners");
	check_limited(RLIMIT_DATA, 30000, "limited_spinners");
}

__attribute__((noinline)) static char overrun(size_t bytes)
{
	volatile char frame[FRAME_BYTES];

	frame[0] = 1;
	if (bytes > FRAME_BYTES)
		return overrun(bytes - FRAME_BYTES) + frame[0];
	return frame[0];
}

static void *overrun_all(void *arg)
{
	overrun(65 * KIB);
	return arg;
}

static void overflow(void)
{
	CHECK_EQ(pthread_create(&threads[0], &attr, overrun_all, NULL), 0);
	thread_join(threads[0]);
}

TEST(limited_overflow)
{
	begin(64 * KIB);
	CHECK_EQ(child_signal(overflow), SIGSEGV);
	_exit(PASSED);
}

TEST(overflow_is_a_fault)
{
	check_limited(RLIMIT_AS, 100000, "limited_overflow");
	check_limited(RLIMIT_DATA, 30000, "limited_overflow");
}

/* The memory of ended threads' large stacks serves later, smaller stacks. */
TEST(limited_smaller_after_larger)
{
	begin(2 * MIB);
	CHECK(fill() >= 20);
	for (size_t bytes = 2 * MIB - 4096; bytes >= MIB; bytes -= 128 * KIB) {
		CHECK_EQ(pthread_attr_setstacksize(&attr, bytes), 0);
		CHECK(fill() >= 20);
	}
	_exit(PASSED);
}

TEST(smaller_after_larger)
{
	check_limited(RLIMIT_AS, 60000, "limited_smaller_after_larger");
}

/* The program sets the limit when it has threads already. */
TEST(limit_set_by_the_program)
{
	struct rlimit limit;
	int nr;

	CHECK_EQ(pthread_attr_init(&attr), 0);
	CHECK_EQ(pthread_attr_setstacksize(&attr, MIB), 0);
	for (int i = 0; i < 20; i++)
		CHECK_EQ(pthread_create(&threads[i], &attr, wait_for_end, NULL),
			 0);
	end_all(20);
	CHECK_EQ(getrlimit(RLIMIT_DATA, &limit), 0);
	limit.rlim_cur = 100 * MIB;
	CHECK_EQ(setrlimit(RLIMIT_DATA, &limit), 0);
	nr = fill();
	CHECK(nr >= 80 && nr < 100);
}

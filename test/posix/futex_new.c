/* SPDX-License-Identifier: MIT */
/*
 * futex_wake, futex_wait and futex_requeue (Linux 6.7) together with futex:
 * each kind of call wakes the other kind's waits.
 */
#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "threading.h"

enum { NEW_WAKE = 454, NEW_WAIT = 455, NEW_REQUEUE = 456, NEW_PRIVATE = 130 };

static uint32_t new_word, other_word;
static _Atomic int nr_waiting, nr_woken;

static void need_new_calls(void)
{
	if (syscall(NEW_WAKE, &new_word, ~0U, 1, NEW_PRIVATE) < 0)
		SKIP("the kernel has no futex_wake");
	nr_waiting = nr_woken = 0;
}

static void *wait_by_old_call(void *arg)
{
	nr_waiting++;
	CHECK_EQ(syscall(SYS_futex, &new_word, FUTEX_WAIT_PRIVATE, 0, NULL), 0);
	nr_woken++;
	return arg;
}

static void *wait_by_new_call(void *arg)
{
	nr_waiting++;
	CHECK_EQ(syscall(NEW_WAIT, &new_word, 0, ~0U, NEW_PRIVATE, NULL, 0), 0);
	nr_woken++;
	return arg;
}

static long wake_by_new_call(int nr)
{
	return syscall(NEW_WAKE, &new_word, ~0U, nr, NEW_PRIVATE);
}

static long wake_by_old_call(int nr)
{
	return syscall(SYS_futex, &new_word, FUTEX_WAKE_PRIVATE, nr);
}

static void check_wakes(long (*wake)(int))
{
	pthread_t threads[4];
	int nr = 0;

	threads_start(threads, 2, wait_by_old_call, NULL);
	threads_start(threads + 2, 2, wait_by_new_call, NULL);
	await_count(&nr_waiting, 4);
	while (nr < 4) {
		nr += (int)wake(1);
		sched_yield();
	}
	threads_join(threads, 4);
	CHECK_EQ(wake(1), 0);
}

TEST(new_call_wakes)
{
	need_new_calls();
	check_wakes(wake_by_new_call);
}

TEST(old_call_wakes_new_waits)
{
	need_new_calls();
	check_wakes(wake_by_old_call);
}

TEST(new_wait_ends)
{
	struct timespec past = { 0, 0 };
	struct timespec soon;

	need_new_calls();
	CHECK_ERRNO(syscall(NEW_WAIT, &new_word, 1, ~0U, NEW_PRIVATE, NULL, 0),
		    EAGAIN);
	CHECK_ERRNO(syscall(NEW_WAIT, &new_word, 0, ~0U, NEW_PRIVATE, &past,
			    CLOCK_MONOTONIC),
		    ETIMEDOUT);
	soon = deadline_ms(CLOCK_REALTIME, 10);
	CHECK_ERRNO(syscall(NEW_WAIT, &new_word, 0, ~0U, NEW_PRIVATE, &soon,
			    CLOCK_REALTIME),
		    ETIMEDOUT);
	CHECK_ERRNO(syscall(NEW_WAIT, &new_word, 0, 0, NEW_PRIVATE, NULL, 0),
		    EINVAL);
	CHECK_ERRNO(syscall(NEW_WAKE, &new_word, 0, 1, NEW_PRIVATE), EINVAL);
	CHECK_ERRNO(syscall(NEW_WAKE, &new_word, ~0U, 1, 1 << 20), EINVAL);
}

TEST(new_requeue)
{
	struct waiter {
		uint64_t val, addr;
		uint32_t flags, reserved;
	} w[2] = { { 0, (uintptr_t)&new_word, NEW_PRIVATE, 0 },
		   { 0, (uintptr_t)&other_word, NEW_PRIVATE, 0 } };
	pthread_t threads[4];
	int nr = 0;

	need_new_calls();
	threads_start(threads, 2, wait_by_old_call, NULL);
	threads_start(threads + 2, 2, wait_by_new_call, NULL);
	await_count(&nr_waiting, 4);
	while (nr < 4) {
		long moved = syscall(NEW_REQUEUE, w, 0, 0, 4);

		CHECK(moved >= 0);
		nr += (int)moved;
		sched_yield();
	}
	CHECK_EQ(nr_woken, 0);
	w[0].val = 1;
	CHECK_ERRNO(syscall(NEW_REQUEUE, w, 0, 0, 4), EAGAIN);
	CHECK_EQ(syscall(NEW_WAKE, &other_word, ~0U, 4, NEW_PRIVATE), 4);
	threads_join(threads, 4);
}

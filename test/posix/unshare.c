/* SPDX-License-Identifier: MIT */
/*
 * A process that has joined all its threads has one thread, as the kernel sees
 * it: it may enter namespaces, and make threads again.
 */
#include "unshare.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>

#include "child.h"

enum { NR_ROUNDS = 20, NEW_TIME = 0x80 };

static bool is_first_kernel_thread(void)
{
	char link[64] = "", own[64];
	ssize_t len = readlink("/proc/thread-self", link, sizeof(link) - 1);

	snprintf(own, sizeof(own), "%d/task/%d", (int)getpid(), (int)getpid());
	return len < 0 || strcmp(link, own) == 0;
}

/* --- every flag ----------------------------------------------------------- */

static int flags, nr_before;
static bool is_by_syscall;

static int by_number(int what)
{
	return (int)syscall(SYS_unshare, what);
}

static int leave(void)
{
	int rc = unshare_alone_by(is_by_syscall ? by_number : unshare, flags);

	return rc == 0 ? 0 : errno;
}

/* After a successful call the process must be able to make threads again. */
static void leave_after_threads(void)
{
	int err;

	if (nr_before != 0)
		unshare_after_threads(nr_before);
	err = leave();
	if (err == 0 && nr_before != 0 && (flags & CLONE_NEWPID) == 0) {
		CHECK(is_first_kernel_thread());
		unshare_after_threads(3);
	}
	_exit(err);
}

static void check_flags(int which)
{
	int expected;

	flags = which;
	nr_before = 0;
	expected = child_exit_status(leave_after_threads);
	nr_before = 1;
	CHECK_EQ(child_exit_status(leave_after_threads), expected);
	nr_before = 20;
	CHECK_EQ(child_exit_status(leave_after_threads), expected);
}

static void check_all_flags(void)
{
	const int all[] = {
		CLONE_FS,
		CLONE_FILES,
		CLONE_SYSVSEM,
		CLONE_THREAD,
		CLONE_SIGHAND | CLONE_VM | CLONE_THREAD,
		CLONE_FS | CLONE_FILES | CLONE_SYSVSEM | CLONE_THREAD,
		CLONE_NEWNS,
		CLONE_NEWUTS,
		CLONE_NEWIPC,
		CLONE_NEWCGROUP,
		CLONE_NEWPID,
		NEW_TIME,
		CLONE_NEWUSER,
		CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_FS,
		CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWIPC,
		CLONE_PARENT, /* unshare does not accept this flag */
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		check_flags(all[i]);
}

TEST(every_flag_after_threads_were_joined)
{
	is_by_syscall = false;
	check_all_flags();
}

TEST(every_flag_by_a_system_call)
{
	is_by_syscall = true;
	check_all_flags();
}

TEST(many_threads_before_and_after)
{
	unshare_after_threads(UNSHARE_NR_MANY);
	CHECK_EQ(unshare_alone(CLONE_THREAD | CLONE_FS), 0);
	CHECK(is_first_kernel_thread());
	unshare_after_threads(UNSHARE_NR_MANY);
	CHECK_EQ(unshare_alone(CLONE_THREAD | CLONE_FILES), 0);
	unshare_after_threads(2);
}

TEST(round_after_round)
{
	for (int i = 0; i < NR_ROUNDS; i++) {
		unshare_after_threads(1 + i % 4);
		CHECK_EQ(unshare_alone(CLONE_THREAD | CLONE_FS), 0);
		CHECK(is_first_kernel_thread());
	}
}

/* --- other threads -------------------------------------------------------- */

static void beside_a_thread(void)
{
	pthread_t other = thread_start(thread_pause_for_ever, NULL);

	CHECK_ERRNO(unshare(CLONE_THREAD), EINVAL);
	CHECK_ERRNO(unshare(CLONE_NEWUSER), EINVAL);
	CHECK_EQ(pthread_cancel(other), 0);
	thread_join(other);
	CHECK_EQ(unshare_alone(CLONE_THREAD), 0);
}

TEST(threads_that_live_are_in_the_way)
{
	CHECK_EQ(child_exit_status(beside_a_thread), 0);
}

static void *in_thread(void *arg)
{
	CHECK_ERRNO(unshare(CLONE_THREAD), EINVAL);
	CHECK_ERRNO(unshare(CLONE_NEWUSER), EINVAL);
	return arg;
}

TEST(another_thread_has_the_first_beside_it)
{
	thread_join(thread_start(in_thread, NULL));
}

static _Atomic int ended_tid;

static void *end_soon(void *arg)
{
	ended_tid = (int)syscall(SYS_gettid);
	return arg;
}

static void await_end(void)
{
	while (ended_tid == 0 ||
	       syscall(SYS_tgkill, getpid(), ended_tid, 0) == 0)
		sched_yield();
	ended_tid = 0;
}

TEST(a_thread_that_has_ended_can_be_joined_later)
{
	int value;
	pthread_t thread = thread_start(end_soon, &value);

	await_end();
	/* the kernel is still removing the thread */
	while (unshare(CLONE_THREAD) != 0)
		CHECK_EQ(errno, EINVAL);
	CHECK_EQ(pthread_kill(thread, 0), 0);
	CHECK(thread_join(thread) == &value);
	unshare_after_threads(2);
}

TEST(a_detached_thread_that_has_ended)
{
	pthread_t thread = thread_start(end_soon, NULL);

	CHECK_EQ(pthread_detach(thread), 0);
	await_end();
	/* the kernel is still removing the thread */
	while (unshare(CLONE_THREAD) != 0)
		CHECK_EQ(errno, EINVAL);
	unshare_after_threads(2);
}

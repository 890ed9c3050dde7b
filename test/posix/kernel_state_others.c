/* SPDX-License-Identifier: MIT */
/*
 * State that the kernel keeps per kernel thread, changed by another thread: the
 * change holds for the target thread and for the threads that it creates, and
 * for no other.
 */
#include <errno.h>
#include <linux/ioprio.h>
#include <sys/fsuid.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"
#include "threading.h"

enum { NR_OTHERS = 8, NR_YIELDS = 100, NR_CHANGED = 12 };

/* A value that can be changed through a thread's id. */
struct changeable {
	long (*change)(pid_t id, long to);
	long (*get)(pid_t id);
	long to;
};

static const struct changeable *changed;
static _Atomic pid_t others_id;
static _Atomic int is_changed;

static void *is_as_changed(void *arg)
{
	for (int i = 0; i < NR_YIELDS; i++) {
		CHECK_EQ(changed->get(0), changed->to);
		CHECK_EQ(changed->get(gettid()), changed->to);
		sched_yield();
	}
	return arg;
}

static void *wait_for_change(void *arg)
{
	others_id = gettid();
	while (!is_changed)
		sleep_ms(1);
	thread_join(thread_start(is_as_changed, NULL));
	return is_as_changed(arg);
}

static void *compute_until_change(void *arg)
{
	others_id = gettid();
	while (!is_changed)
		;
	return is_as_changed(arg);
}

/* Blocks in a system call that weft does not intercept. */
static void *block_until_change(void *arg)
{
	struct timespec ts = { 0, 20 * NS_PER_MS };

	others_id = gettid();
	while (!is_changed)
		syscall(SYS_nanosleep, &ts, NULL);
	return is_as_changed(arg);
}

static void change_thread(void *(*start)(void *))
{
	pthread_t thread;
	long mine = changed->get(0);

	others_id = is_changed = 0;
	thread = thread_start(start, NULL);
	while (others_id == 0)
		sched_yield();
	CHECK_EQ(changed->get(others_id), mine);
	CHECK_EQ(changed->change(others_id, changed->to), 0);
	CHECK_EQ(changed->get(others_id), changed->to);
	CHECK_EQ(changed->get(0), mine);
	is_changed = 1;
	thread_join(thread);
	CHECK_EQ(changed->get(0), mine);
	/* Natively the kernel may need a moment to remove the thread. */
	while (changed->change(others_id, changed->to) == 0)
		sched_yield();
	CHECK_EQ(errno, ESRCH);
}

static void *let_others_run(void *arg)
{
	long mine = changed->get(0);

	for (int i = 0; i < 10 * NR_YIELDS; i++) {
		CHECK_EQ(changed->get(0), mine);
		sched_yield();
	}
	return arg;
}

static void check_changeable(const struct changeable *c)
{
	pthread_t others[NR_OTHERS];

	changed = c;
	threads_start(others, NR_OTHERS, let_others_run, NULL);
	change_thread(wait_for_change);
	change_thread(compute_until_change);
	change_thread(block_until_change);
	threads_join(others, NR_OTHERS);
	thread_join(thread_start(let_others_run, NULL));
}

static long nice_of(pid_t id)
{
	return getpriority(PRIO_PROCESS, (id_t)id);
}

static long set_nice_of(pid_t id, long to)
{
	return setpriority(PRIO_PROCESS, (id_t)id, (int)to);
}

TEST(nice_value_of_another)
{
	check_changeable(&(struct changeable){
		set_nice_of, nice_of, nice_of(0) < 15 ? nice_of(0) + 4 : 19 });
}

static long io_priority_of(pid_t id)
{
	return syscall(SYS_ioprio_get, IOPRIO_WHO_PROCESS, id);
}

static long set_io_priority_of(pid_t id, long to)
{
	return syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, id, to);
}

TEST(io_priority_of_another)
{
	check_changeable(
		&(struct changeable){ set_io_priority_of, io_priority_of,
				      IOPRIO_PRIO_VALUE(IOPRIO_CLASS_BE, 7) });
}

static void *return_id(void *arg)
{
	others_id = gettid();
	return arg;
}

/* The thread may not have begun, or it may be about to end. */
TEST(threads_that_end_when_changed)
{
	int to = nice_of(0) < 15 ? (int)nice_of(0) + 4 : 19;

	for (int i = 0; i < 30; i++) {
		pthread_t thread;

		others_id = 0;
		thread = thread_start(return_id, NULL);
		while (others_id == 0)
			sched_yield();
		if (setpriority(PRIO_PROCESS, (id_t)others_id, to) != 0)
			CHECK_EQ(errno, ESRCH);
		thread_join(thread);
	}
	CHECK(nice_of(0) != to || to == 19);
	have_threads();
}

static _Atomic pid_t ids[NR_CHANGED];

static void *keep_file_user(void *arg)
{
	ids[(intptr_t)arg] = gettid();
	while (!is_changed)
		sleep_ms(1);
	for (int i = 0; i < NR_YIELDS; i++) {
		CHECK_EQ(setfsuid((uid_t)-1), 0);
		sched_yield();
	}
	return arg;
}

static void *change_many(void *arg)
{
	setfsuid(1234);
	for (int i = 0; i < NR_CHANGED; i++)
		CHECK_EQ(set_nice_of(ids[i], 19), 0);
	is_changed = 1;
	return arg;
}

/* The changed threads must not get the changing thread's own changes. */
TEST(many_by_a_thread_with_other_ids)
{
	pthread_t threads[NR_CHANGED];

	if (geteuid() != 0)
		SKIP("needs root");
	threads_start_numbered(threads, NR_CHANGED, keep_file_user);
	for (int i = 0; i < NR_CHANGED; i++) {
		while (ids[i] == 0)
			sched_yield();
	}
	thread_join(thread_start(change_many, NULL));
	threads_join(threads, NR_CHANGED);
}

static void *change_first(void *arg)
{
	pid_t first = getpid();

	CHECK_EQ(set_nice_of(first, (long)(intptr_t)arg), 0);
	CHECK_EQ(nice_of(first), (intptr_t)arg);
	CHECK(nice_of(0) != (intptr_t)arg || nice_of(0) == 19);
	return arg;
}

TEST(nice_value_of_the_first)
{
	long to = nice_of(0) < 15 ? nice_of(0) + 4 : 19;

	thread_join(thread_start(change_first, (void *)to));
	CHECK_EQ(nice_of(0), to);
}

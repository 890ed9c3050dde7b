/* SPDX-License-Identifier: MIT */
/*
 * Attributes of the scheduler that weft leaves to the kernel: each thread has
 * its own.
 */
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"
#include "own_values.h"

/* struct sched_attr of linux/sched/types.h, which conflicts with sched.h. */
struct attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_ns, deadline_ns, period_ns;
};

static long set_slice(long value)
{
	struct attributes a = { .size = sizeof(a),
				.runtime_ns = (uint64_t)value };

	return syscall(SYS_sched_setattr, 0, &a, 0);
}

static long get_slice(void)
{
	struct attributes a;

	CHECK_EQ(syscall(SYS_sched_getattr, gettid(), &a, sizeof(a), 0), 0);
	return (long)a.runtime_ns;
}

TEST(slices)
{
	check_each(&(struct state){
		set_slice,
		get_slice,
		{ 2 * NS_PER_MS, 5 * NS_PER_MS, 9 * NS_PER_MS },
		3 });
}

static long set_deadline(long value)
{
	struct attributes a = { .size = sizeof(a),
				.policy = 6, /* SCHED_DEADLINE */
				.runtime_ns = (uint64_t)value,
				.deadline_ns = 50 * NS_PER_MS,
				.period_ns = 50 * NS_PER_MS };
	long err = syscall(SYS_sched_setattr, gettid(), &a, 0);

	if (err == 0)
		CHECK_EQ(sched_getscheduler(0), 6);
	return err;
}

static long get_deadline(void)
{
	struct attributes a;

	CHECK_EQ(syscall(SYS_sched_getattr, 0, &a, sizeof(a), 0), 0);
	return a.policy == 6 ? (long)a.runtime_ns : 0;
}

TEST(deadlines)
{
	check_each(&(struct state){
		set_deadline,
		get_deadline,
		{ 2 * NS_PER_MS, 3 * NS_PER_MS, 4 * NS_PER_MS },
		3 });
}

static long set_reset(long value)
{
	struct attributes a = { .size = sizeof(a), .flags = (uint64_t)value };

	return syscall(SYS_sched_setattr, 0, &a, 0);
}

static long get_reset(void)
{
	struct attributes a;

	CHECK_EQ(syscall(SYS_sched_getattr, 0, &a, sizeof(a), 0), 0);
	CHECK_EQ(sched_getscheduler(0), a.flags != 0 ? SCHED_RESET_ON_FORK : 0);
	return (long)a.flags;
}

TEST(policies_that_children_do_not_have)
{
	check_each(&(struct state){ set_reset, get_reset, { 1 }, 1 });
}

/* SPDX-License-Identifier: MIT */
/*
 * Scheduling policies: a valid policy can be set and is reported, others are
 * refused.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "child.h"
#include "threading.h"

static void become_real_time(void)
{
	struct sched_param param = { .sched_priority = 3 };

	/* A raw system call: only the kernel's answer counts. */
	_exit(syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &param) == 0 ?
		      0 :
		      errno);
}

/* Returns 0 or the error of a request for a real-time policy. */
static int real_time_error(void)
{
	return child_exit_status(become_real_time);
}

static void check_is(pthread_t thread, int wanted, int priority)
{
	struct sched_param param = { .sched_priority = 99 };
	int policy = -1;

	CHECK_EQ(pthread_getschedparam(thread, &policy, &param), 0);
	CHECK_EQ(policy, wanted);
	CHECK_EQ(param.sched_priority, priority);
}

static void *change_own(void *arg)
{
	int expected = *(int *)arg;
	struct sched_param real_time = { .sched_priority = 3 };
	struct sched_param none = { .sched_priority = 0 }, param;

	CHECK_EQ(pthread_setschedparam(pthread_self(), SCHED_FIFO, &real_time),
		 expected);
	check_is(pthread_self(), expected == 0 ? SCHED_FIFO : SCHED_OTHER,
		 expected == 0 ? 3 : 0);
	CHECK_EQ(pthread_setschedparam(pthread_self(), SCHED_RR, &real_time),
		 expected);
	CHECK_EQ(sched_getscheduler(0), expected == 0 ? SCHED_RR : SCHED_OTHER);
	CHECK_EQ(pthread_setschedprio(pthread_self(), 2),
		 expected == 0 ? 0 : EINVAL);
	CHECK_EQ(pthread_setschedparam(pthread_self(), SCHED_BATCH, &none), 0);
	check_is(pthread_self(), SCHED_BATCH, 0);
	CHECK_EQ(sched_getscheduler(gettid()), SCHED_BATCH);
	CHECK_EQ(pthread_setschedparam(pthread_self(), SCHED_OTHER, &none), 0);
	check_is(pthread_self(), SCHED_OTHER, 0);
	CHECK_EQ(sched_setscheduler(gettid(), SCHED_BATCH, &none), 0);
	CHECK_EQ(sched_getscheduler(0), SCHED_BATCH);
	CHECK_EQ(sched_setscheduler(0, SCHED_OTHER, &none), 0);
	CHECK_EQ(sched_getscheduler(0), SCHED_OTHER);
	CHECK_EQ(sched_setparam(0, &none), 0);
	CHECK_ERRNO(sched_setparam(0, &real_time), EINVAL);
	CHECK_EQ(sched_getparam(0, &param), 0);
	CHECK_EQ(param.sched_priority, 0);
	return NULL;
}

TEST(changed_at_run_time)
{
	int expected = real_time_error();

	thread_join(thread_start(change_own, &expected));
	change_own(&expected);
}

/* The kernel's struct sched_attr, for which older libcs have no name. */
struct attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t times[3];
};

/*
 * Reads the attributes by the thread's own id and by 0; GLib's thread pools use
 * both.
 */
static void *attributes_of_own(void *arg)
{
	const long ids[] = { 0, syscall(SYS_gettid) };
	struct attributes a;

	for (int i = 0; i < 2; i++) {
		memset(&a, 0xff, sizeof(a));
		CHECK_EQ(syscall(SYS_sched_getattr, ids[i], &a, sizeof(a), 0),
			 0);
		CHECK_EQ(a.policy, SCHED_OTHER);
		CHECK_EQ(a.priority, 0);
		CHECK_EQ(syscall(SYS_sched_setattr, ids[i], &a, 0), 0);
		a.policy = SCHED_BATCH;
		CHECK_EQ(syscall(SYS_sched_setattr, ids[i], &a, 0), 0);
		check_is(pthread_self(), SCHED_BATCH, 0);
		CHECK_EQ(syscall(SYS_sched_getscheduler, ids[i]), SCHED_BATCH);
		CHECK_EQ(syscall(SYS_sched_getattr, ids[i], &a, sizeof(a), 0),
			 0);
		CHECK_EQ(a.policy, SCHED_BATCH);
		a.policy = SCHED_OTHER;
		a.nice = 3;
		CHECK_EQ(syscall(SYS_sched_setattr, ids[i], &a, 0), 0);
		CHECK_EQ(getpriority(PRIO_PROCESS, (id_t)ids[i]), 3);
		a.nice = 0;
		if (syscall(SYS_sched_setattr, ids[i], &a, 0) != 0)
			CHECK_EQ(errno, EPERM);
	}
	a.size = 4;
	CHECK_ERRNO(syscall(SYS_sched_setattr, 0, &a, 0), E2BIG);
	a.size = 1 << 20;
	CHECK_ERRNO(syscall(SYS_sched_setattr, 0, &a, 0), E2BIG);
	a.size = sizeof(a);
	a.policy = 77;
	CHECK_ERRNO(syscall(SYS_sched_setattr, 0, &a, 0), EINVAL);
	CHECK_ERRNO(syscall(SYS_sched_setattr, 0, NULL, 0), EINVAL);
	CHECK_ERRNO(syscall(SYS_sched_getattr, 0, &a, 0, 0), EINVAL);
	CHECK_ERRNO(syscall(SYS_sched_getattr, 0, NULL, sizeof(a), 0), EINVAL);
	return arg;
}

TEST(attributes_by_system_call)
{
	thread_join(thread_start(attributes_of_own, NULL));
}

static int (*set_attributes)(pid_t, struct attributes *, unsigned int);
static int (*get_attributes)(pid_t, struct attributes *, unsigned int,
			     unsigned int);

static void *change_attributes(void *arg)
{
	struct attributes a;

	CHECK_EQ(get_attributes(gettid(), &a, sizeof(a), 0), 0);
	CHECK_EQ(a.policy, SCHED_OTHER);
	a.policy = SCHED_BATCH;
	CHECK_EQ(set_attributes(gettid(), &a, 0), 0);
	CHECK_EQ(sched_getscheduler(0), SCHED_BATCH);
	memset(&a, 0, sizeof(a));
	CHECK_EQ(get_attributes(0, &a, sizeof(a), 0), 0);
	CHECK_EQ(a.policy, SCHED_BATCH);
	CHECK_ERRNO(set_attributes(0, NULL, 0), EINVAL);
	return arg;
}

/* Version 2.41 of libc has added these functions. */
TEST(attributes_by_libc)
{
	*(void **)&set_attributes = dlsym(RTLD_DEFAULT, "sched_setattr");
	*(void **)&get_attributes = dlsym(RTLD_DEFAULT, "sched_getattr");
	if (set_attributes == NULL || get_attributes == NULL)
		SKIP("this libc has no such functions");
	thread_join(thread_start(change_attributes, NULL));
	CHECK_EQ(sched_getscheduler(0), SCHED_OTHER);
}

/* Calls by number for which libc has functions. */
static void *numbers_of_functions(void *arg)
{
	struct sched_param none = { .sched_priority = 0 }, param;
	long id = syscall(SYS_gettid);
	cpu_set_t mine, same;
	long bytes = syscall(SYS_sched_getaffinity, id, sizeof(mine), &mine);

	CHECK(bytes > 0 && bytes <= (long)sizeof(mine));
	CHECK_EQ(sched_getaffinity(0, sizeof(same), &same), 0);
	CHECK(memcmp(&mine, &same, (size_t)bytes) == 0);
	CHECK_EQ(syscall(SYS_sched_setaffinity, id, bytes, &mine), 0);
	CHECK_EQ(syscall(SYS_sched_setscheduler, id, SCHED_BATCH, &none), 0);
	CHECK_EQ(syscall(SYS_sched_getscheduler, id), SCHED_BATCH);
	CHECK_EQ(syscall(SYS_sched_setparam, id, &none), 0);
	CHECK_EQ(syscall(SYS_sched_getparam, id, &param), 0);
	CHECK_EQ(param.sched_priority, 0);
	check_is(pthread_self(), SCHED_BATCH, 0);
	return arg;
}

TEST(by_system_call)
{
	thread_join(thread_start(numbers_of_functions, NULL));
}

static void *refuse(void *arg)
{
	struct sched_param none = { .sched_priority = 0 };
	struct sched_param much = { .sched_priority = 100 };
	pthread_t self = pthread_self();

	CHECK_EQ(pthread_setschedparam(self, SCHED_FIFO, &none), EINVAL);
	CHECK_EQ(pthread_setschedparam(self, SCHED_FIFO, &much), EINVAL);
	CHECK_EQ(pthread_setschedparam(self, SCHED_OTHER, &much), EINVAL);
	CHECK_EQ(pthread_setschedparam(self, 77, &none), EINVAL);
	CHECK_EQ(pthread_setschedprio(self, 5), EINVAL);
	CHECK_ERRNO(sched_setscheduler(0, 77, &none), EINVAL);
	CHECK_ERRNO(sched_setscheduler(0, SCHED_RR, &much), EINVAL);
	check_is(self, SCHED_OTHER, 0);
	return arg;
}

TEST(impossible_values)
{
	thread_join(thread_start(refuse, NULL));
	refuse(NULL);
}

static void tell_policy(void)
{
	_exit((int)syscall(SYS_sched_getscheduler, 0));
}

static void *fork_real_time(void *arg)
{
	struct sched_param param = { .sched_priority = 3 };

	CHECK_EQ(pthread_setschedparam(pthread_self(), SCHED_FIFO, &param), 0);
	CHECK_EQ(child_exit_status(tell_policy), SCHED_FIFO);
	return NULL;
}

TEST(kept_by_a_child)
{
	if (real_time_error() != 0)
		SKIP("real-time policies are not allowed");
	thread_join(thread_start(fork_real_time, NULL));
}

/* A shell that exits with TOLD plus its policy from /proc. */
#define TELL "read -r l < /proc/$$/stat; set -- $l; exit $((${41} + 40))"
enum { TOLD = 40 };
static char *const shell[] = { "sh", "-c", TELL, NULL };

static int status_of(pid_t child)
{
	int status;

	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(WIFEXITED(status));
	return WEXITSTATUS(status) - TOLD;
}

static int policy_of_vforked(void)
{
	pid_t child = vfork();

	if (child == 0) {
		execv("/bin/sh", shell);
		_exit(127);
	}
	return status_of(child);
}

static int policy_of_spawned(short flags)
{
	struct sched_param param = { .sched_priority = 1 };
	posix_spawnattr_t attr;
	pid_t child;

	CHECK_EQ(posix_spawnattr_init(&attr), 0);
	CHECK_EQ(posix_spawnattr_setschedpolicy(&attr, SCHED_RR), 0);
	CHECK_EQ(posix_spawnattr_setschedparam(&attr, &param), 0);
	CHECK_EQ(posix_spawnattr_setflags(&attr, flags), 0);
	CHECK_EQ(posix_spawn(&child, "/bin/sh", NULL, &attr, shell, environ),
		 0);
	CHECK_EQ(posix_spawnattr_destroy(&attr), 0);
	return status_of(child);
}

static int policy_of_plainly_spawned(void)
{
	pid_t child;

	CHECK_EQ(posix_spawnp(&child, "sh", NULL, NULL, shell, environ), 0);
	return status_of(child);
}

static void *start_programs(void *arg)
{
	const int *policies = arg;
	struct sched_param param = { .sched_priority = 3 };

	CHECK_EQ(pthread_setschedparam(pthread_self(), policies[0], &param), 0);
	CHECK_EQ(policy_of_vforked(), policies[1]);
	CHECK_EQ(policy_of_plainly_spawned(), policies[1]);
	CHECK_EQ(policy_of_spawned(0), policies[1]);
	CHECK_EQ(policy_of_spawned(POSIX_SPAWN_SETSCHEDULER), SCHED_RR);
	CHECK_EQ(WEXITSTATUS(system(TELL)), policies[1] + TOLD);
	return NULL;
}

static void become_a_program(void)
{
	struct sched_param param = { .sched_priority = 3 };

	thread_join(thread_start(start_programs,
				 (int[]){ SCHED_FIFO, SCHED_FIFO }));
	CHECK_EQ(pthread_setschedparam(pthread_self(), SCHED_FIFO, &param), 0);
	CHECK_ERRNO(execl("/nowhere", "nowhere", NULL), ENOENT);
	execv("/bin/sh", shell);
}

TEST(kept_by_programs)
{
	int resets[] = { SCHED_RR | SCHED_RESET_ON_FORK, SCHED_OTHER };

	if (real_time_error() != 0)
		SKIP("real-time policies are not allowed");
	thread_join(thread_start(start_programs, resets));
	CHECK_EQ(child_exit_status(become_a_program), SCHED_FIFO + TOLD);
}

/*
 * An executed program gets the first thread's policy: all its kernel threads
 * have that policy.
 */
TEST(kept_by_programs_of_other_threads)
{
	struct sched_param param = { .sched_priority = 5 };

	if (real_time_error() != 0)
		SKIP("real-time policies are not allowed");
	CHECK_EQ(sched_setscheduler(0, SCHED_FIFO, &param), 0);
	thread_join(
		thread_start(start_programs, (int[]){ SCHED_RR, SCHED_RR }));
	param.sched_priority = 0;
	CHECK_EQ(sched_setscheduler(0, SCHED_OTHER, &param), 0);
	CHECK_EQ(policy_of_vforked(), SCHED_OTHER);
	CHECK_EQ(policy_of_plainly_spawned(), SCHED_OTHER);
}

static void *own_policy(void *arg)
{
	(void)arg;
	return (void *)(intptr_t)sched_getscheduler(0);
}

static int policy_of_new(const pthread_attr_t *attr)
{
	pthread_t t;

	CHECK_EQ(pthread_create(&t, attr, own_policy, NULL), 0);
	return (int)(intptr_t)thread_join(t);
}

static void *create_others(void *arg)
{
	int expected = *(int *)arg;
	struct sched_param param = { .sched_priority = 0 };
	pthread_attr_t attr;
	pthread_t t;

	CHECK_EQ(pthread_setschedparam(pthread_self(), SCHED_BATCH, &param), 0);
	CHECK_EQ(policy_of_new(NULL), SCHED_BATCH);
	CHECK_EQ(pthread_attr_init(&attr), 0);
	CHECK_EQ(pthread_attr_setschedpolicy(&attr, SCHED_OTHER), 0);
	CHECK_EQ(policy_of_new(&attr), SCHED_BATCH);
	CHECK_EQ(pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED),
		 0);
	CHECK_EQ(policy_of_new(&attr), SCHED_OTHER);
	CHECK_EQ(pthread_attr_setschedpolicy(&attr, SCHED_RR), 0);
	param.sched_priority = 3;
	CHECK_EQ(pthread_attr_setschedparam(&attr, &param), 0);
	if (expected == 0)
		CHECK_EQ(policy_of_new(&attr), SCHED_RR);
	else
		CHECK_EQ(pthread_create(&t, &attr, own_policy, NULL), expected);
	CHECK_EQ(pthread_attr_destroy(&attr), 0);
	CHECK_EQ(policy_of_new(NULL), SCHED_BATCH);
	return NULL;
}

TEST(inherited_and_explicit)
{
	int expected = real_time_error();

	thread_join(thread_start(create_others, &expected));
	create_others(&expected);
}

TEST(set_before_the_first_thread)
{
	struct sched_param param = { .sched_priority = 0 };

	CHECK_EQ(sched_setscheduler(0, SCHED_BATCH, &param), 0);
	CHECK_EQ(policy_of_new(NULL), SCHED_BATCH);
	CHECK_EQ(sched_getscheduler(getpid()), SCHED_BATCH);
	check_is(pthread_self(), SCHED_BATCH, 0);
}

static void check_tells(int inherit, int policy, int priority)
{
	struct sched_param param = { .sched_priority = -1 };
	int is_inherit = -1, is_policy = -1;
	pthread_attr_t attr;

	CHECK_EQ(pthread_getattr_np(pthread_self(), &attr), 0);
	CHECK_EQ(pthread_attr_getinheritsched(&attr, &is_inherit), 0);
	CHECK_EQ(is_inherit, inherit);
	CHECK_EQ(pthread_attr_getschedpolicy(&attr, &is_policy), 0);
	CHECK_EQ(is_policy, policy);
	CHECK_EQ(pthread_attr_getschedparam(&attr, &param), 0);
	CHECK_EQ(param.sched_priority, priority);
	CHECK_EQ(pthread_attr_destroy(&attr), 0);
}

static void *tell_inherited(void *arg)
{
	check_tells(PTHREAD_INHERIT_SCHED, SCHED_RR, 3);
	return arg;
}

static void *tell_own(void *arg)
{
	struct sched_param param = { .sched_priority = 2 };

	check_tells(PTHREAD_EXPLICIT_SCHED, SCHED_RR, 3);
	thread_join(thread_start(tell_inherited, NULL));
	CHECK_EQ(pthread_setschedparam(pthread_self(), SCHED_FIFO, &param), 0);
	check_tells(PTHREAD_EXPLICIT_SCHED, SCHED_FIFO, 2);
	return arg;
}

TEST(bounds_of_attributes)
{
	struct sched_param param = { .sched_priority = 3 };
	pthread_attr_t attr;
	pthread_t t;

	if (real_time_error() != 0)
		SKIP("no real-time policy may be had");
	check_tells(PTHREAD_INHERIT_SCHED, SCHED_OTHER, 0);
	CHECK_EQ(pthread_attr_init(&attr), 0);
	CHECK_EQ(pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED),
		 0);
	CHECK_EQ(pthread_attr_setschedpolicy(&attr, SCHED_RR), 0);
	CHECK_EQ(pthread_attr_setschedparam(&attr, &param), 0);
	CHECK_EQ(pthread_create(&t, &attr, tell_own, NULL), 0);
	thread_join(t);
	CHECK_EQ(pthread_attr_destroy(&attr), 0);
	check_tells(PTHREAD_INHERIT_SCHED, SCHED_OTHER, 0);
	CHECK_EQ(pthread_setschedparam(pthread_self(), SCHED_RR, &param), 0);
	check_tells(PTHREAD_INHERIT_SCHED, SCHED_RR, 3);
}

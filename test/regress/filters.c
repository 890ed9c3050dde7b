/* SPDX-License-Identifier: MIT */
/*
 * Seccomp filters: a filter that allows hardly any call, a filter that forbids
 * the call that weft made next, and a filter that cannot be set for all
 * threads.
 */
#include <linux/filter.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "child.h"
#include "confine.h"
#include "threading.h"

#define ALLOW_IF(call)                                         \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define CONFINE(code) confine_to((code), sizeof(code) / sizeof((code)[0]))

/*
 * weft was killed by this filter when it checked whether the clock can be read.
 */
static void sleep_alone(void)
{
	struct sock_filter code[] = {
		CONFINE_LOAD_NUMBER,
		ALLOW_IF(exit),
		ALLOW_IF(nanosleep),
		ALLOW_IF(clock_nanosleep),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	const struct timespec pause = { .tv_nsec = 1000 };

	if (CONFINE(code) != 0)
		SKIP("filters of system calls are refused");
	syscall(SYS_exit, nanosleep(&pause, NULL));
}

static void confine_twice(void)
{
	struct sock_filter code[] = {
		CONFINE_LOAD_NUMBER,
		CONFINE_KILL_FOR(getpid),
		CONFINE_ALLOW,
	};

	CHECK_EQ(CONFINE(code), 0);
	CHECK_EQ(CONFINE(code), 0);
}

static pthread_barrier_t barrier;
static pid_t other;

static void *be_confined(void *arg)
{
	struct sock_filter code[] = { CONFINE_ALLOW };

	CHECK_EQ(CONFINE(code), 0);
	other = gettid();
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	return arg;
}

static long confine_all(void)
{
	struct sock_filter code[] = { CONFINE_ALLOW };
	struct sock_fprog program = { 1, code };

	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
		       SECCOMP_FILTER_FLAG_TSYNC, &program);
}

/*
 * The filter cannot be set while the other thread lives; the call returns its
 * id.
 */
static void confine_beside_another(void)
{
	pthread_t thread;

	CHECK_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	pthread_barrier_init(&barrier, NULL, 2);
	thread = thread_start(be_confined, NULL);
	pthread_barrier_wait(&barrier);
	CHECK_EQ(confine_all(), other);
	pthread_barrier_wait(&barrier);
	thread_join(thread);
	CHECK_EQ(confine_all(), 0);
}

/* If prctl would kill weft, the threads must be libc's. */
static void kill_for_prctl(void)
{
	struct sock_filter code[] = {
		CONFINE_LOAD_NUMBER,
		CONFINE_KILL_THREAD_FOR(prctl),
		CONFINE_ALLOW,
	};

	CHECK_EQ(CONFINE(code), 0);
	thread_join(thread_start(thread_nothing, NULL));
}

int main(void)
{
	CHECK_EQ(child_exit_status(sleep_alone), 0);
	puts("hardly anything is allowed");
	CHECK_EQ(child_exit_status(confine_twice), 0);
	puts("twice");
	CHECK_EQ(child_exit_status(confine_beside_another), 0);
	puts("beside another");
	CHECK_EQ(child_exit_status(kill_for_prctl), 0);
	puts("for prctl");
	return 0;
}

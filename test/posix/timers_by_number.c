/* SPDX-License-Identifier: MIT */
/*
 * Timers of threads, made by syscall() as profilers do. The kernel's timer ids
 * are integers, and the signalled thread is named by the id that weft gives it.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "threading.h"

enum { NR_BY_NUMBER = 4, TIMER_SIGNAL = SIGUSR2 };

static int make_by_number(clockid_t clock, int value)
{
	struct sigevent event;
	int id = -1;

	memset(&event, 0, sizeof(event));
	event.sigev_notify = SIGEV_THREAD_ID;
	event.sigev_signo = TIMER_SIGNAL;
	event.sigev_value.sival_int = value;
	event._sigev_un._tid = gettid();
	CHECK_EQ(syscall(SYS_timer_create, clock, &event, &id), 0);
	return id;
}

static void *await_by_number(void *arg)
{
	const struct itimerspec soon = { .it_value = { 0, NS_PER_MS } };
	int id = make_by_number(CLOCK_MONOTONIC, (int)(intptr_t)arg);
	struct itimerspec left;
	sigset_t set;
	siginfo_t info;

	sigemptyset(&set);
	sigaddset(&set, TIMER_SIGNAL);
	for (int i = 0; i < 10; i++) {
		CHECK_EQ(syscall(SYS_timer_settime, id, 0, &soon, NULL), 0);
		CHECK_EQ(sigwaitinfo(&set, &info), TIMER_SIGNAL);
		CHECK_EQ(info.si_value.sival_int, (intptr_t)arg);
		CHECK_EQ(syscall(SYS_timer_getoverrun, id), 0);
	}
	CHECK_EQ(syscall(SYS_timer_gettime, id, &left), 0);
	CHECK_EQ(left.it_value.tv_nsec, 0);
	CHECK_EQ(syscall(SYS_timer_delete, id), 0);
	CHECK_ERRNO(syscall(SYS_timer_delete, id), EINVAL);
	return arg;
}

TEST(timers_of_threads_by_system_call)
{
	pthread_t threads[NR_BY_NUMBER];
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, TIMER_SIGNAL);
	CHECK_EQ(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
	threads_start_numbered(threads, NR_BY_NUMBER, await_by_number);
	threads_join(threads, NR_BY_NUMBER);
}

static void *time_own_clock(void *arg)
{
	const struct itimerspec soon = { .it_value = { 0, NS_PER_MS } };
	int id = make_by_number(CLOCK_THREAD_CPUTIME_ID, 1);
	struct timespec one;
	clockid_t clock;
	sigset_t set;

	CHECK_EQ(pthread_getcpuclockid(pthread_self(), &clock), 0);
	CHECK_EQ(syscall(SYS_clock_getres, clock, &one), 0);
	CHECK_EQ(syscall(SYS_timer_settime, id, 0, &soon, NULL), 0);
	do
		sigpending(&set);
	while (!sigismember(&set, TIMER_SIGNAL));
	CHECK_EQ(syscall(SYS_timer_delete, id), 0);
	return arg;
}

TEST(timer_on_own_clock_by_system_call)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, TIMER_SIGNAL);
	CHECK_EQ(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
	thread_join(thread_start(time_own_clock, NULL));
}

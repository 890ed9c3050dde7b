/* SPDX-License-Identifier: MIT */
/*
 * sigwait for signals that the thread does not block and that have a handler.
 * POSIX does not define that case; on Linux the wait gets the signals, and
 * garbage collectors stop threads that way.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "child.h"
#include "signalling.h"
#include "threading.h"
#include "waiting.h"

enum { NR_ROUNDS = 50 };

static _Atomic int nr_others, is_stopped, is_over;

static void *wait_once(void *arg)
{
	sigset_t set = set_of(SIGUSR1);
	int sig;

	is_ready = 1;
	CHECK_EQ(sigwait(&set, &sig), 0);
	CHECK_EQ(sig, SIGUSR1);
	is_over = 1;
	return arg;
}

/* The wait has got the signal, and the handler did not run. */
static void is_the_waits(pthread_t thread)
{
	while (!is_over && nr_handled == 0)
		sched_yield();
	CHECK_EQ(nr_handled, 0);
	thread_join(thread);
}

static pthread_t start_waiter(void)
{
	pthread_t thread;

	handle(SIGUSR1, on_signal, 0);
	is_ready = 0;
	thread = thread_start(wait_once, NULL);
	let_it_wait(&is_ready);
	return thread;
}

TEST(from_a_thread)
{
	pthread_t thread = start_waiter();

	CHECK_EQ(pthread_kill(thread, SIGUSR1), 0);
	is_the_waits(thread);
}

static pid_t target;

static void send_to_target(void)
{
	CHECK_EQ(kill(target, SIGUSR1), 0);
}

/* All other threads block the signal, so it goes to the waiter. */
TEST(from_another_process)
{
	pthread_t thread = start_waiter();

	block(SIGUSR1);
	target = getpid();
	CHECK_EQ(child_exit_status(send_to_target), 0);
	is_the_waits(thread);
}

static void *wait_with_limit(void *arg)
{
	const struct timespec limit = { 100, 0 };
	sigset_t set = set_of(SIGUSR1);
	siginfo_t info;

	is_ready = 1;
	CHECK_ERRNO(sigtimedwait(&set, &info, &limit), EINTR);
	is_ready = 2;
	CHECK_EQ(sigtimedwait(&set, &info, &limit), SIGUSR1);
	return arg;
}

/* A handler of another signal runs, and ends the wait. */
TEST(beside_a_handler)
{
	pthread_t thread;

	handle(SIGUSR1, on_signal, 0);
	handle(SIGUSR2, on_signal, 0);
	thread = thread_start(wait_with_limit, NULL);
	let_it_wait(&is_ready);
	CHECK_EQ(pthread_kill(thread, SIGUSR2), 0);
	await_count(&is_ready, 2);
	await_rest();
	CHECK_EQ(nr_handled, 1);
	CHECK_EQ(pthread_kill(thread, SIGUSR1), 0);
	thread_join(thread);
	CHECK_EQ(nr_handled, 1);
}

/* Of two signals the wait gets the one that it waits for. */
static void *wait_for_second(void *arg)
{
	sigset_t set = set_of(SIGUSR1), both = set_of(SIGUSR2);
	int sig;

	sigaddset(&both, SIGUSR1);
	CHECK_EQ(pthread_sigmask(SIG_BLOCK, &both, NULL), 0);
	CHECK_EQ(pthread_kill(pthread_self(), SIGUSR1), 0);
	CHECK_EQ(pthread_kill(pthread_self(), SIGUSR2), 0);
	CHECK_EQ(sigwait(&set, &sig), 0);
	CHECK_EQ(sig, SIGUSR1);
	CHECK_EQ(nr_handled, 0);
	CHECK_EQ(pthread_sigmask(SIG_UNBLOCK, &both, NULL), 0);
	CHECK_EQ(nr_handled, 1);
	return arg;
}

TEST(pending_already)
{
	handle(SIGUSR1, on_signal, 0);
	handle(SIGUSR2, on_signal, 0);
	thread_join(thread_start(wait_for_second, NULL));
}

/* --- a thread that a handler stops until the same signal comes again ------ */

static void stop(int sig, siginfo_t *info, void *context)
{
	sigset_t set = set_of(SIGUSR1);
	int got;

	is_stopped = 1;
	CHECK_EQ(sigwait(&set, &got), 0);
	is_stopped = 0;
}

static void *compute(void *arg)
{
	while (!is_ready)
		nr_others++;
	return arg;
}

TEST(stopped_in_a_handler)
{
	pthread_t thread;

	/* With SA_NODEFER the signal stays unblocked in its handler. */
	handle(SIGUSR1, stop, SA_NODEFER | SA_RESTART);
	is_ready = 0;
	thread = thread_start(compute, NULL);
	for (int i = 0; i < NR_ROUNDS; i++) {
		int before;

		CHECK_EQ(pthread_kill(thread, SIGUSR1), 0);
		await_count(&is_stopped, 1);
		await_rest();
		before = nr_others;
		sched_yield();
		CHECK_EQ(nr_others, before);
		CHECK_EQ(pthread_kill(thread, SIGUSR1), 0);
		while (is_stopped)
			sched_yield();
	}
	is_ready = 1;
	thread_join(thread);
}

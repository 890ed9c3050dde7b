/* SPDX-License-Identifier: MIT */
/*
 * Handlers of the program run, also beside threads that compute and threads
 * that are parked.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "check.h"
#include "child.h"
#include "threading.h"

static _Atomic int nr_signals;
static _Atomic int is_over;

static void count_signal(int nr)
{
	(void)nr;
	nr_signals++;
}

static void handle(int nr)
{
	struct sigaction action = { .sa_handler = count_signal,
				    .sa_flags = SA_RESTART };

	CHECK_EQ(sigaction(nr, &action, NULL), 0);
}

static void *compute(void *arg)
{
	volatile double x = 1;

	while (!is_over)
		x = x * 1.0000001 + 1;
	return arg;
}

static void await_signals(int nr)
{
	while (nr_signals < nr)
		sleep_ms(1);
}

TEST(timer_interrupts_computing_threads)
{
	struct itimerval every = { { 0, 5000 }, { 0, 5000 } };
	struct itimerval never = { { 0, 0 }, { 0, 0 } };
	pthread_t threads[6];

	handle(SIGALRM);
	threads_start(threads, 6, compute, NULL);
	CHECK_EQ(setitimer(ITIMER_REAL, &every, NULL), 0);
	await_signals(20);
	CHECK_EQ(setitimer(ITIMER_REAL, &never, NULL), 0);
	is_over = 1;
	threads_join(threads, 6);
}

TEST(alarm_beside_sleepers)
{
	int64_t start = now_ns();
	pthread_t t;

	handle(SIGALRM);
	t = thread_start(compute, NULL);
	alarm(1);
	await_signals(1);
	CHECK(elapsed_ms(start) >= 990);
	is_over = 1;
	thread_join(t);
}

TEST(kill_of_oneself)
{
	pthread_t threads[3];

	handle(SIGUSR1);
	threads_start(threads, 3, compute, NULL);
	for (int i = 1; i <= 50; i++) {
		CHECK_EQ(kill(getpid(), SIGUSR1), 0);
		await_signals(i);
	}
	is_over = 1;
	threads_join(threads, 3);
}

TEST(raise_is_synchronous)
{
	handle(SIGUSR2);
	is_over = 1;
	thread_join(thread_start(compute, NULL));
	for (int i = 1; i <= 50; i++) {
		CHECK_EQ(raise(SIGUSR2), 0);
		CHECK_EQ(nr_signals, i);
	}
}

static void *raise_in_thread(void *arg)
{
	for (int i = 0; i < 20; i++) {
		CHECK_EQ(raise(SIGUSR2), 0);
		sched_yield();
	}
	return arg;
}

TEST(raise_in_threads)
{
	pthread_t threads[20];

	handle(SIGUSR2);
	threads_start(threads, 20, raise_in_thread, NULL);
	threads_join(threads, 20);
	CHECK_EQ(nr_signals, 400);
}

/* A child sends signals while threads lock, unlock and yield. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long counter;

static void *count_locked(void *arg)
{
	for (int i = 0; i < 20000; i++) {
		CHECK_EQ(pthread_mutex_lock(&mutex), 0);
		counter++;
		CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
		if (i % 100 == 0)
			sched_yield();
	}
	return arg;
}

TEST(signal_storm_from_outside)
{
	pid_t target = getpid();
	pthread_t threads[20];
	pid_t child;

	handle(SIGUSR1);
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		while (kill(target, SIGUSR1) == 0)
			usleep(100);
		_exit(0);
	}
	threads_start(threads, 20, count_locked, NULL);
	threads_join(threads, 20);
	await_signals(10);
	CHECK_EQ(kill(child, SIGKILL), 0);
	child_wait(child);
	CHECK_EQ(counter, 20 * 20000);
}

static void *block_and_check(void *arg)
{
	sigset_t mask, got;

	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR1);
	CHECK_EQ(pthread_sigmask(SIG_BLOCK, &mask, NULL), 0);
	for (int i = 0; i < 20; i++) {
		sched_yield();
		CHECK_EQ(pthread_sigmask(SIG_SETMASK, NULL, &got), 0);
		CHECK_EQ(sigismember(&got, SIGUSR1), 1);
		CHECK_EQ(sigismember(&got, SIGUSR2), 0);
	}
	return arg;
}

static void *check_open(void *arg)
{
	for (int i = 0; i < 20; i++) {
		sigset_t got;

		sched_yield();
		CHECK_EQ(pthread_sigmask(SIG_SETMASK, NULL, &got), 0);
		CHECK_EQ(sigismember(&got, SIGUSR1), 0);
	}
	return arg;
}

TEST(masks_are_per_thread)
{
	pthread_t a[10], b[10];

	threads_start(a, 10, block_and_check, NULL);
	threads_start(b, 10, check_open, NULL);
	threads_join(a, 10);
	threads_join(b, 10);
	check_open(NULL);
}

/*
 * If all threads block a signal, it is pending. The first thread that unblocks
 * it gets it.
 */
TEST(pending_at_once)
{
	sigset_t one, got;
	pthread_attr_t attr;

	handle(SIGUSR1);
	sigemptyset(&one);
	CHECK_EQ(pthread_attr_init(&attr), 0);
	CHECK_EQ(pthread_attr_setsigmask_np(&attr, &one), 0);
	sigaddset(&one, SIGUSR1);
	thread_join(thread_start(thread_nothing, NULL));
	for (int i = 1; i <= 100; i++) {
		pthread_t t;

		CHECK_EQ(pthread_sigmask(SIG_BLOCK, &one, NULL), 0);
		CHECK_EQ(kill(getpid(), SIGUSR1), 0);
		CHECK_EQ(sigpending(&got), 0);
		CHECK_EQ(sigismember(&got, SIGUSR1), 1);
		if (i % 2 == 0) {
			CHECK_EQ(pthread_create(&t, &attr, thread_nothing,
						NULL),
				 0);
			thread_join(t);
			CHECK_EQ(nr_signals, i);
		}
		CHECK_EQ(pthread_sigmask(SIG_UNBLOCK, &one, NULL), 0);
		CHECK_EQ(nr_signals, i);
	}
	CHECK_EQ(pthread_attr_destroy(&attr), 0);
}

static void *mask_of_creator(void *arg)
{
	sigset_t got;

	CHECK_EQ(pthread_sigmask(SIG_SETMASK, NULL, &got), 0);
	CHECK_EQ(sigismember(&got, SIGUSR1), 1);
	return arg;
}

TEST(mask_is_inherited)
{
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR1);
	CHECK_EQ(pthread_sigmask(SIG_BLOCK, &mask, NULL), 0);
	thread_join(thread_start(mask_of_creator, NULL));
}

static void fault_in_thread(void)
{
	struct sigaction action = { .sa_handler = SIG_DFL };
	volatile int *volatile low = (volatile int *)8;

	CHECK_EQ(sigaction(SIGSEGV, &action, NULL), 0);
	is_over = 1;
	thread_join(thread_start(compute, NULL));
	*low = 1;
}

TEST(fault_kills)
{
	CHECK_EQ(child_signal(fault_in_thread), SIGSEGV);
}

static void ignore_pipe(void)
{
	int fds[2];

	CHECK_EQ(pipe(fds), 0);
	CHECK_EQ(close(fds[0]), 0);
	is_over = 1;
	thread_join(thread_start(compute, NULL));
	CHECK(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
	CHECK_ERRNO(write(fds[1], "x", 1), EPIPE);
	CHECK(signal(SIGPIPE, SIG_DFL) != SIG_ERR);
	CHECK_EQ(write(fds[1], "x", 1), -1);
}

TEST(broken_pipe_kills)
{
	CHECK_EQ(child_signal(ignore_pipe), SIGPIPE);
}

/* --- a handler leaves sigwait -------------------------------------------- */

static sigjmp_buf before_wait;
static _Atomic int is_ready, is_out, got, is_over;

static void jump_out(int sig)
{
	siglongjmp(before_wait, sig);
}

static void *leave_sigwait(void *set)
{
	int sig;

	if (sigsetjmp(before_wait, 1) == 0) {
		is_ready = 1;
		sigwait(set, &sig);
	}
	is_out = 1;
	while (!is_over)
		sleep_ms(1);
	return NULL;
}

static void *wait_well(void *set)
{
	int sig = 0;

	CHECK_EQ(sigwait(set, &sig), 0);
	got = sig;
	return NULL;
}

/*
 * A thread that has jumped out of sigwait must not take a later waiter's
 * signal.
 */
TEST(sigwait_left_by_a_jump)
{
	pthread_t leaver, waiter;
	sigset_t set;

	CHECK_EQ(sigemptyset(&set), 0);
	CHECK_EQ(sigaddset(&set, SIGUSR2), 0);
	CHECK_EQ(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
	CHECK(signal(SIGUSR1, jump_out) != SIG_ERR);
	leaver = thread_start(leave_sigwait, &set);
	let_it_wait(&is_ready);
	CHECK_EQ(pthread_kill(leaver, SIGUSR1), 0);
	await_count(&is_out, 1);
	waiter = thread_start(wait_well, &set);
	await_rest();
	CHECK_EQ(kill(getpid(), SIGUSR2), 0);
	await_count(&got, SIGUSR2);
	is_over = 1;
	thread_join(waiter);
	thread_join(leaver);
}

/* --- signals from outside that end the process ---------------------------- */

static int said[2];

/* The signal ends the process even if thread 0 has not begun its wait. */
static void wait_beside_who_ends(void)
{
	sigset_t set;
	int sig;

	thread_start(thread_pause_for_ever, NULL);
	thread_start(thread_pause_for_ever, NULL);
	CHECK_EQ(sigemptyset(&set), 0);
	CHECK_EQ(sigaddset(&set, SIGTERM), 0);
	CHECK_EQ(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
	CHECK_EQ(write(said[1], "w", 1), 1);
	CHECK_EQ(sigwait(&set, &sig), 0);
	CHECK_EQ(sig, SIGTERM);
	_exit(0);
}

TEST(first_thread_gets_its_signal)
{
	int nr_had = 0;
	char byte;

	CHECK_EQ(pipe(said), 0);
	for (int i = 0; i < 10; i++) {
		pid_t child = child_start(wait_beside_who_ends);

		CHECK_EQ(read(said[0], &byte, 1), 1);
		await_rest_of(child);
		CHECK_EQ(kill(child, SIGTERM), 0);
		nr_had += child_wait(child) == 0;
	}
	CHECK(nr_had > 0);
}

static void say_and_exit(int sig)
{
	_exit(sig == SIGINT ? 0 : 1);
}

static void handle_after_all(void)
{
	thread_start(thread_pause_for_ever, NULL);
	/* Without a handler the kernel's default action is in force. */
	await_rest();
	CHECK(signal(SIGINT, say_and_exit) != SIG_ERR);
	CHECK_EQ(write(said[1], "h", 1), 1);
	thread_pause_for_ever(NULL);
}

TEST(handler_that_comes_late)
{
	char byte;

	CHECK_EQ(pipe(said), 0);
	for (int i = 0; i < 20; i++) {
		pid_t child = child_start(handle_after_all);

		CHECK_EQ(read(said[0], &byte, 1), 1);
		CHECK_EQ(kill(child, SIGINT), 0);
		CHECK_EQ(child_wait(child), 0);
	}
}

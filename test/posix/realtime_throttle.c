/* SPDX-License-Identifier: MIT */
/*
 * Real-time threads that can always run. Both the kernel and weft give other
 * threads some milliseconds of each second.
 */
#include <errno.h>
#include <signal.h>

#include "realtime.h"

static _Atomic bool is_over;

static void *spin_until_told(void *arg)
{
	while (!is_over)
		;
	return arg;
}

static void *yield_until_told(void *arg)
{
	while (!is_over)
		sched_yield();
	return arg;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *lock_until_told(void *arg)
{
	while (!is_over) {
		CHECK_EQ(pthread_mutex_lock(&mutex), 0);
		CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
	}
	return arg;
}

/*
 * As an ordinary thread the caller runs only in the time that throttling
 * leaves.
 */
static void be_like_others(void)
{
	set_own(SCHED_OTHER, 0);
	sleep_ms(1);
}

TEST(beside_a_computing_thread)
{
	pthread_t t;

	begin();
	t = start_fifo(30, spin_until_told, NULL);
	be_like_others();
	is_over = true;
	thread_join(t);
}

TEST(beside_several)
{
	pthread_t t[5];

	begin();
	t[0] = start_fifo(30, yield_until_told, NULL);
	t[1] = start_fifo(30, yield_until_told, NULL);
	t[2] = thread_start_policy(SCHED_RR, 20, NULL, spin_until_told, NULL);
	t[3] = thread_start_policy(SCHED_RR, 20, NULL, lock_until_told, NULL);
	t[4] = start_fifo(10, spin_until_told, NULL);
	be_like_others();
	is_over = true;
	threads_join(t, 5);
}

static void tell(int sig)
{
	(void)sig;
	is_over = true;
}

static void *signal_and_spin(void *arg)
{
	CHECK_EQ(pthread_kill(*(pthread_t *)arg, SIGUSR1), 0);
	return spin_until_told(arg);
}

TEST(handlers_of_others)
{
	struct sigaction action = { .sa_handler = tell };
	pthread_t me = pthread_self(), t;

	begin();
	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	t = start_fifo(30, signal_and_spin, &me);
	set_own(SCHED_OTHER, 0);
	while (!is_over)
		sched_yield();
	thread_join(t);
}

static sem_t sem;

static void *wait_and_tell(void *arg)
{
	CHECK_EQ(sem_wait(&sem), 0);
	is_over = true;
	return arg;
}

static void *post_and_spin(void *arg)
{
	CHECK_EQ(sem_post(&sem), 0);
	return spin_until_told(arg);
}

/*
 * This thread computes at real-time priority, so another CPU runs the woken
 * thread if there is one.
 */
TEST(woken_by_a_computing_thread)
{
	pthread_t t[2];

	CHECK_EQ(sem_init(&sem, 0, 0), 0);
	t[0] = thread_start(wait_and_tell, NULL);
	await_rest();
	if (pthread_setschedparam(pthread_self(), SCHED_FIFO,
				  &(struct sched_param){ .sched_priority =
								 MAIN }) != 0)
		SKIP("real-time policies are not allowed");
	t[1] = start_fifo(30, post_and_spin, NULL);
	threads_join(t, 2);
}

static int ends[2];

static void *read_and_tell(void *arg)
{
	char c;

	CHECK_EQ(read(ends[0], &c, 1), 1);
	is_over = true;
	return arg;
}

/*
 * Data arrives for a thread of higher priority while no thread enters the
 * kernel.
 */
TEST(reader_above_a_computing_thread)
{
	pthread_t t[2];
	pid_t child;

	CHECK_EQ(pipe(ends), 0);
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		sleep_ms(50);
		_exit(write(ends[1], "a", 1) == 1 ? 0 : 1);
	}
	begin();
	t[0] = start_fifo(40, read_and_tell, NULL);
	t[1] = start_fifo(30, spin_until_told, NULL);
	threads_join(t, 2);
}

/* SPDX-License-Identifier: MIT */
/*
 * Each way out of a wait with a pthreads object: the thread's entries in the
 * object are removed. Natively libc's cleanup handlers do that.
 */
#include <semaphore.h>
#include <threads.h>

#include "check.h"
#include "ways_out.h"

static struct timespec far_away(void)
{
	return deadline_ms(CLOCK_MONOTONIC, 1000000);
}

/* --- one-time initialisation ---------------------------------------------- */

static pthread_once_t once;
static once_flag flag;
static _Atomic int nr_runs;

static void count(void)
{
	nr_runs++;
}

static void pause_once(void)
{
	for (;;)
		pause();
}

static void prepare_once(void)
{
	once = (pthread_once_t)PTHREAD_ONCE_INIT;
	flag = (once_flag)ONCE_FLAG_INIT;
	nr_runs = 0;
}

static void run_once(void)
{
	pthread_once(&once, pause_once);
}

static void call_flag(void)
{
	call_once(&flag, pause_once);
}

static void *run_next_once(void *arg)
{
	pthread_once(&once, count);
	return NULL;
}

static void check_once(void)
{
	pthread_t others[2];

	threads_start(others, 2, run_next_once, NULL);
	threads_join(others, 2);
	CHECK_EQ(nr_runs, 1);
}

static void check_flag(void)
{
	call_once(&flag, count);
	CHECK_EQ(nr_runs, 1);
}

TEST(once_is_run_by_the_next)
{
	leave_by_all_ways(&(struct way_wait){ .prepare = prepare_once,
					      .wait = run_once,
					      .after = NULL,
					      .check = check_once });
}

TEST(call_once_is_run_by_the_next)
{
	leave_by_all_ways(&(struct way_wait){ .prepare = prepare_once,
					      .wait = call_flag,
					      .check = check_flag });
}

static void run_bare_once(void)
{
	bare_once(&once);
}

/* pthread_once with a routine that has no unwind tables. */
TEST(once_with_a_routine_without_tables)
{
	leave_by(BY_CANCEL, &(struct way_wait){ .prepare = prepare_once,
						.wait = run_bare_once,
						.check = check_once });
}

static void *run_and_pause(void *arg)
{
	is_ready = 1;
	pthread_once(&once, pause_once);
	return NULL;
}

static void *run_as_second(void *arg)
{
	is_ready = 1;
	return run_next_once(arg);
}

/* When the first runner leaves, a waiting thread runs the routine. */
TEST(once_is_run_by_those_that_wait)
{
	pthread_t first, second;

	prepare_once();
	first = thread_start(run_and_pause, NULL);
	let_it_wait(&is_ready);
	is_ready = 0;
	second = thread_start(run_as_second, NULL);
	let_it_wait(&is_ready);
	CHECK_EQ(pthread_cancel(first), 0);
	thread_join(first);
	thread_join(second);
	CHECK_EQ(nr_runs, 1);
}

/* --- joining -------------------------------------------------------------- */

static pthread_t target;
static sem_t may_end;

static void *end_when_told(void *arg)
{
	while (sem_wait(&may_end) != 0)
		CHECK_EQ(errno, EINTR);
	return &target;
}

static void prepare_target(void)
{
	CHECK_EQ(sem_init(&may_end, 0, 0), 0);
	target = thread_start(end_when_told, NULL);
}

static void join_target(void)
{
	pthread_join(target, NULL);
}

static void join_until(void)
{
	struct timespec until = far_away();

	pthread_clockjoin_np(target, NULL, CLOCK_MONOTONIC, &until);
}

static void check_target(void)
{
	CHECK_EQ(pthread_tryjoin_np(target, NULL), EBUSY);
	CHECK_EQ(sem_post(&may_end), 0);
	CHECK(thread_join(target) == &target);
}

TEST(join_leaves_the_thread_to_the_next)
{
	leave_by_all_ways(&(struct way_wait){ .prepare = prepare_target,
					      .wait = join_target,
					      .check = check_target,
					      .is_no_fork = true });
}

TEST(timed_join_leaves_the_thread_to_the_next)
{
	leave_by_all_ways(&(struct way_wait){ .prepare = prepare_target,
					      .wait = join_until,
					      .check = check_target,
					      .is_no_fork = true });
}

static void check_detach(void)
{
	CHECK_EQ(pthread_detach(target), 0);
	CHECK_EQ(sem_post(&may_end), 0);
}

TEST(join_leaves_the_thread_to_be_detached)
{
	leave_by_all_ways(&(struct way_wait){ .prepare = prepare_target,
					      .wait = join_target,
					      .check = check_detach,
					      .is_no_fork = true });
}

/* --- condition variables -------------------------------------------------- */

static pthread_cond_t cond;
static pthread_mutex_t mutex;
static bool is_told; /* protected by mutex */

static void make_condition(int type, int protocol, int shared)
{
	pthread_mutexattr_t attr;
	pthread_condattr_t cond_attr;

	CHECK_EQ(pthread_mutexattr_init(&attr), 0);
	CHECK_EQ(pthread_mutexattr_settype(&attr, type), 0);
	CHECK_EQ(pthread_mutexattr_setprotocol(&attr, protocol), 0);
	CHECK_EQ(pthread_mutexattr_setpshared(&attr, shared), 0);
	CHECK_EQ(pthread_mutex_init(&mutex, &attr), 0);
	CHECK_EQ(pthread_condattr_init(&cond_attr), 0);
	CHECK_EQ(pthread_condattr_setpshared(&cond_attr, shared), 0);
	CHECK_EQ(pthread_cond_init(&cond, &cond_attr), 0);
	is_told = false;
}

static void prepare_cond(void)
{
	make_condition(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE,
		       PTHREAD_PROCESS_PRIVATE);
}

static void prepare_checking_cond(void)
{
	make_condition(PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_NONE,
		       PTHREAD_PROCESS_PRIVATE);
}

static void prepare_inheriting_cond(void)
{
	make_condition(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT,
		       PTHREAD_PROCESS_PRIVATE);
}

static void prepare_shared_cond(void)
{
	make_condition(PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_NONE,
		       PTHREAD_PROCESS_SHARED);
}

static void wait_for_cond(void)
{
	CHECK_EQ(pthread_mutex_lock(&mutex), 0);
	for (;;)
		pthread_cond_wait(&cond, &mutex);
}

static void wait_for_cond_until(void)
{
	struct timespec until = far_away();

	CHECK_EQ(pthread_mutex_lock(&mutex), 0);
	for (;;)
		pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &until);
}

/* The thread owns the mutex again, whichever way it has left. */
static void unlock_mutex(void)
{
	CHECK_EQ(pthread_mutex_trylock(&mutex), EBUSY);
	CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
}

static void *await_told(void *arg)
{
	CHECK_EQ(pthread_mutex_lock(&mutex), 0);
	is_ready = 1;
	while (!is_told)
		CHECK_EQ(pthread_cond_wait(&cond, &mutex), 0);
	CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
	return NULL;
}

static void check_cond(void)
{
	pthread_t other;

	is_ready = 0;
	other = thread_start(await_told, NULL);
	await_count(&is_ready, 1);
	CHECK_EQ(pthread_mutex_lock(&mutex), 0);
	is_told = true;
	CHECK_EQ(pthread_cond_signal(&cond), 0);
	CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
	thread_join(other);
	CHECK_EQ(pthread_cond_destroy(&cond), 0);
	CHECK_EQ(pthread_mutex_destroy(&mutex), 0);
}

static void leave_cond(void (*prepare)(void), void (*wait)(void))
{
	leave_by_all_ways(&(struct way_wait){ .prepare = prepare,
					      .wait = wait,
					      .after = unlock_mutex,
					      .check = check_cond });
}

TEST(cond_wait_takes_the_mutex)
{
	leave_cond(prepare_cond, wait_for_cond);
}

TEST(cond_clockwait_takes_the_mutex)
{
	leave_cond(prepare_cond, wait_for_cond_until);
}

TEST(cond_wait_takes_a_mutex_that_checks)
{
	leave_cond(prepare_checking_cond, wait_for_cond);
}

TEST(cond_wait_takes_a_mutex_that_inherits)
{
	leave_cond(prepare_inheriting_cond, wait_for_cond);
}

TEST(cond_wait_takes_a_shared_mutex)
{
	leave_cond(prepare_shared_cond, wait_for_cond);
}

/* --- semaphores and barriers ---------------------------------------------- */

static sem_t sem;

static void prepare_sem(void)
{
	CHECK_EQ(sem_init(&sem, 0, 0), 0);
}

static void prepare_shared_sem(void)
{
	CHECK_EQ(sem_init(&sem, 1, 0), 0);
}

static void wait_for_sem(void)
{
	sem_wait(&sem);
}

static void wait_for_sem_until(void)
{
	struct timespec until = far_away();

	sem_clockwait(&sem, CLOCK_MONOTONIC, &until);
}

static void check_sem(void)
{
	int value = -1;

	CHECK_EQ(sem_post(&sem), 0);
	CHECK_EQ(sem_getvalue(&sem, &value), 0);
	CHECK_EQ(value, 1);
	CHECK_EQ(sem_wait(&sem), 0);
	CHECK_ERRNO(sem_trywait(&sem), EAGAIN);
	CHECK_EQ(sem_destroy(&sem), 0);
}

TEST(sem_wait_takes_no_permit)
{
	leave_by_all_ways(&(struct way_wait){ .prepare = prepare_sem,
					      .wait = wait_for_sem,
					      .check = check_sem });
	leave_by_all_ways(&(struct way_wait){ .prepare = prepare_sem,
					      .wait = wait_for_sem_until,
					      .check = check_sem });
}

TEST(sem_wait_takes_no_permit_of_a_shared_one)
{
	leave_by_all_ways(&(struct way_wait){ .prepare = prepare_shared_sem,
					      .wait = wait_for_sem,
					      .check = check_sem });
}

static pthread_barrier_t barrier;

static void prepare_barrier(void)
{
	CHECK_EQ(pthread_barrier_init(&barrier, NULL, 2), 0);
}

static void wait_for_barrier(void)
{
	pthread_barrier_wait(&barrier);
}

/* The thread has reached the barrier, so it counts. */
static void check_barrier(void)
{
	CHECK_EQ(pthread_barrier_wait(&barrier), PTHREAD_BARRIER_SERIAL_THREAD);
}

TEST(barrier_counts_those_that_have_come)
{
	leave_by_all_ways(&(struct way_wait){ .prepare = prepare_barrier,
					      .wait = wait_for_barrier,
					      .check = check_barrier,
					      .is_no_cancel_point = true });
}

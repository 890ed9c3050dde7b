/* SPDX-License-Identifier: MIT */
/*
 * Waits until a time of CLOCK_REALTIME while that clock is set. All processes
 * use the machine's clock. So these cases run only if CLOCK_SET_TEST is set in
 * the environment, and they set the clock for a moment.
 */
#include <linux/futex.h>
#include <mqueue.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"
#include "threading.h"

static struct timespec until;
static _Atomic int nr_begun, nr_ended;
static _Atomic long ahead_s; /* how far the clock has been set */
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t written = PTHREAD_RWLOCK_INITIALIZER;

/* --- the kinds of waits: what they return, or errno ----------------------- */

static int in_condition(void)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
	int rc;

	CHECK_EQ(pthread_mutex_lock(&mutex), 0);
	rc = pthread_cond_timedwait(&cond, &mutex, &until);
	CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
	return rc;
}

static int in_semaphore(void)
{
	sem_t sem;

	CHECK_EQ(sem_init(&sem, 0, 0), 0);
	return sem_timedwait(&sem, &until) == 0 ? 0 : errno;
}

static int in_shared_semaphore(void)
{
	sem_t sem;

	CHECK_EQ(sem_init(&sem, 1, 0), 0);
	return sem_timedwait(&sem, &until) == 0 ? 0 : errno;
}

static int in_mutex(void)
{
	return pthread_mutex_timedlock(&held, &until);
}

static int in_rwlock(void)
{
	return pthread_rwlock_timedrdlock(&written, &until);
}

static int in_sleep(void)
{
	return clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until, NULL) ==
			       0 ?
		       ETIMEDOUT :
		       0;
}

static int wait_for_futex(int flags)
{
	unsigned int word = 0;

	return syscall(SYS_futex, &word,
		       FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME | flags, 0,
		       &until, NULL, FUTEX_BITSET_MATCH_ANY) == 0 ?
		       0 :
		       errno;
}

static int in_futex(void)
{
	return wait_for_futex(FUTEX_PRIVATE_FLAG);
}

static int in_shared_futex(void)
{
	return wait_for_futex(0);
}

static void *sleep_on(void *sem)
{
	CHECK_EQ(sem_wait(sem), 0);
	return NULL;
}

static int in_join(void)
{
	pthread_t sleeper;
	sem_t sem;
	int rc;

	CHECK_EQ(sem_init(&sem, 0, 0), 0);
	sleeper = thread_start(sleep_on, &sem);
	rc = pthread_timedjoin_np(sleeper, NULL, &until);
	CHECK_EQ(sem_post(&sem), 0);
	thread_join(sleeper);
	return rc;
}

static int in_message(void)
{
	struct mq_attr attr = { .mq_maxmsg = 1, .mq_msgsize = 8 };
	mqd_t queue = mq_open("/clock_set", O_RDWR | O_CREAT, 0600, &attr);
	char message[8];

	mq_unlink("/clock_set");
	return mq_timedreceive(queue, message, 8, NULL, &until) < 0 ? errno : 0;
}

static int (*const kinds[])(void) = {
	in_condition, in_semaphore, in_shared_semaphore, in_mutex, in_rwlock,
	in_sleep,     in_futex,	    in_shared_futex,	 in_join,  in_message,
};
enum { NR_KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/* --- setting the clock ---------------------------------------------------- */

static void move_clock(long by_s)
{
	struct timespec now;

	CHECK_EQ(clock_gettime(CLOCK_REALTIME, &now), 0);
	now.tv_sec += by_s;
	CHECK_EQ(clock_settime(CLOCK_REALTIME, &now), 0);
	ahead_s += by_s;
}

static void set_right(void)
{
	if (ahead_s != 0)
		move_clock(-ahead_s);
}

static void may_set_clock(void)
{
	if (getenv("CLOCK_SET_TEST") == NULL)
		SKIP("sets the machine's clock");
	CHECK_EQ(atexit(set_right), 0);
}

/* --- cases ---------------------------------------------------------------- */

static void *run(void *arg)
{
	nr_begun++;
	CHECK_EQ(kinds[(intptr_t)arg](), ETIMEDOUT);
	nr_ended++;
	return NULL;
}

/* Starts each kind of wait twice: parked, and in bound threads. */
static void begin(pthread_t threads[2 * NR_KINDS], long ms)
{
	pthread_attr_t attr;

	CHECK_EQ(pthread_attr_init(&attr), 0);
	CHECK_EQ(pthread_attr_setscope(&attr, PTHREAD_SCOPE_SYSTEM), 0);
	CHECK_EQ(pthread_mutex_lock(&held), 0);
	CHECK_EQ(pthread_rwlock_wrlock(&written), 0);
	until = deadline_ms(CLOCK_REALTIME, ms);
	threads_start_numbered(threads, NR_KINDS, run);
	for (intptr_t i = 0; i < NR_KINDS; i++)
		CHECK_EQ(pthread_create(&threads[NR_KINDS + i], &attr, run,
					(void *)i),
			 0);
	await_count(&nr_begun, 2 * NR_KINDS);
	await_rest();
}

TEST(forward)
{
	pthread_t threads[2 * NR_KINDS];
	int64_t start = now_ns();

	may_set_clock();
	begin(threads, 4000);
	CHECK_EQ(nr_ended, 0);
	move_clock(5);
	threads_join(threads, 2 * NR_KINDS);
	CHECK(elapsed_ms(start) < 4000);
}

TEST(back)
{
	pthread_t threads[2 * NR_KINDS];

	may_set_clock();
	begin(threads, 400);
	move_clock(-2);
	CHECK_EQ(nr_ended, 0);
	sleep_ms(1000);
	CHECK_EQ(nr_ended, 0);
	move_clock(2);
	threads_join(threads, 2 * NR_KINDS);
}

static _Atomic int nr_computing;

static void *compute(void *arg)
{
	nr_computing++;
	while (nr_ended == 0)
		;
	return arg;
}

/* While all VPs compute, no kernel thread of weft's sleeps for the deadline. */
TEST(forward_beside_computing_threads)
{
	pthread_t computing[4], waiter;
	int64_t start = now_ns();

	may_set_clock();
	until = deadline_ms(CLOCK_REALTIME, 4000);
	waiter = thread_start(run, NULL);
	let_it_wait(&nr_begun);
	threads_start(computing, 4, compute, NULL);
	await_count(&nr_computing, 4);
	move_clock(5);
	thread_join(waiter);
	threads_join(computing, 4);
	CHECK(elapsed_ms(start) < 4000);
}

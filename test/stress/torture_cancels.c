/* SPDX-License-Identifier: MIT */
/*
 * Acts in which cancellation races with time-outs, signals and pthread_once,
 * and acts with destructors at a thread's end.
 */
#include "torture.h"

#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>

/* --- conditions: time-outs and signals against cancels -------------------- */

#define NR_CONSUMERS 5

struct crowd {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	clockid_t clock;
	uint64_t seed;
	_Atomic int nr_started;
	long nr_there, nr_taken, nr_left_by_cancel;
	bool is_over;
};

static void leave_crowd(void *arg)
{
	struct crowd *c = arg;

	c->nr_left_by_cancel++;
	/* The unlock fails if the thread does not own the mutex. */
	CHECK_EQ(pthread_mutex_unlock(&c->mutex), 0);
}

static void wait_in_crowd(struct crowd *c, uint64_t *random)
{
	struct timespec ts = torture_soon(random, c->clock);
	int err = random_below(random, 2) == 0 ?
			  pthread_cond_timedwait(&c->cond, &c->mutex, &ts) :
			  pthread_cond_clockwait(&c->cond, &c->mutex, c->clock,
						 &ts);

	CHECK(err == 0 || err == ETIMEDOUT);
}

static void take_until_over(struct crowd *c)
{
	uint64_t random = c->seed + (uint64_t)c->nr_started++;

	while (!c->is_over) {
		wait_in_crowd(c, &random);
		if (c->nr_there > 0) {
			c->nr_there--;
			c->nr_taken++;
		}
	}
}

static void *consume(void *arg)
{
	struct crowd *c = arg;

	CHECK_EQ(pthread_mutex_lock(&c->mutex), 0);
	pthread_cleanup_push(leave_crowd, c);
	take_until_over(c);
	pthread_cleanup_pop(0);
	CHECK_EQ(pthread_mutex_unlock(&c->mutex), 0);
	return NULL;
}

static void init_crowd(struct crowd *c)
{
	pthread_mutexattr_t mutex;
	pthread_condattr_t cond;

	CHECK_EQ(pthread_mutexattr_init(&mutex), 0);
	CHECK_EQ(pthread_mutexattr_settype(&mutex, PTHREAD_MUTEX_ERRORCHECK),
		 0);
	CHECK_EQ(pthread_mutex_init(&c->mutex, &mutex), 0);
	CHECK_EQ(pthread_mutexattr_destroy(&mutex), 0);
	CHECK_EQ(pthread_condattr_init(&cond), 0);
	CHECK_EQ(pthread_condattr_setclock(&cond, c->clock), 0);
	CHECK_EQ(pthread_cond_init(&c->cond, &cond), 0);
	CHECK_EQ(pthread_condattr_destroy(&cond), 0);
}

static void produce(struct crowd *c, uint64_t *random)
{
	CHECK_EQ(pthread_mutex_lock(&c->mutex), 0);
	c->nr_there++;
	CHECK_EQ(pthread_mutex_unlock(&c->mutex), 0);
	if (random_below(random, 3) == 0)
		CHECK_EQ(pthread_cond_broadcast(&c->cond), 0);
	else
		CHECK_EQ(pthread_cond_signal(&c->cond), 0);
}

/* Ends the crowd once everything that was made is taken. */
static bool close_crowd(struct crowd *c, long nr_made)
{
	CHECK_EQ(pthread_mutex_lock(&c->mutex), 0);
	c->is_over = c->nr_taken == nr_made;
	CHECK_EQ(pthread_cond_broadcast(&c->cond), 0);
	CHECK_EQ(pthread_mutex_unlock(&c->mutex), 0);
	return c->is_over;
}

/* The last consumer is not cancelled, and takes all that the others leave. */
void cancel_crowd(uint64_t *random)
{
	struct crowd c = { .seed = random_next(random) };
	long nr_cancelled = 0, nr_made = 0;
	pthread_t threads[NR_CONSUMERS];

	c.clock = random_below(random, 2) ? CLOCK_MONOTONIC : CLOCK_REALTIME;
	init_crowd(&c);
	for (int i = 0; i < NR_CONSUMERS; i++)
		threads[i] = torture_start(random, consume, &c);
	for (int i = 0; i < NR_CONSUMERS - 1; i++) {
		produce(&c, random);
		stress_disturb(random);
		CHECK_EQ(pthread_cancel(threads[i]), 0);
		produce(&c, random);
		nr_made += 2;
	}
	while (!close_crowd(&c, nr_made))
		stress_disturb(random);
	for (int i = 0; i < NR_CONSUMERS; i++)
		nr_cancelled += thread_join(threads[i]) == PTHREAD_CANCELED;
	CHECK_EQ(c.nr_taken, nr_made);
	CHECK_EQ(c.nr_left_by_cancel, nr_cancelled);
	CHECK_EQ(pthread_cond_destroy(&c.cond), 0);
	CHECK_EQ(pthread_mutex_destroy(&c.mutex), 0);
}

/* --- cancelled at any instruction, in calls that wait too ----------------- */

struct anywhere {
	uint64_t random;
	sem_t none;
	int ends[2];
	_Atomic int nr_cleanups;
};

static void count_cleanup(void *arg)
{
	struct anywhere *a = arg;

	a->nr_cleanups++;
}

/* While it may be cancelled anywhere, the thread only makes system calls. */
static void wait_anywhere(struct anywhere *a)
{
	struct timespec ts = { 1000, 0 };
	long kind = random_below(&a->random, 5);
	volatile long nr = 0;
	char byte;

	CHECK_EQ(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL), 0);
	for (;;) {
		if (kind == 0)
			read(a->ends[0], &byte, 1);
		else if (kind == 1)
			nanosleep(&ts, NULL);
		else if (kind == 2)
			pause();
		else if (kind == 3)
			sem_wait(&a->none);
		else
			nr = nr + 1;
	}
}

static void *be_anywhere(void *arg)
{
	struct anywhere *a = arg;

	pthread_cleanup_push(count_cleanup, a);
	wait_anywhere(a);
	pthread_cleanup_pop(1);
	return NULL;
}

/*
 * The thread blocks all signals, as a cancelled handler would leave its count
 * half done.
 */
void cancel_anywhere(uint64_t *random)
{
	struct anywhere a = { .random = random_next(random) };
	sigset_t all, old;
	pthread_t thread;

	CHECK_EQ(sem_init(&a.none, 0, 0), 0);
	CHECK_EQ(pipe2(a.ends, O_CLOEXEC), 0);
	sigfillset(&all);
	CHECK_EQ(pthread_sigmask(SIG_BLOCK, &all, &old), 0);
	thread = torture_start(random, be_anywhere, &a);
	CHECK_EQ(pthread_sigmask(SIG_SETMASK, &old, NULL), 0);
	stress_disturb(random);
	CHECK_EQ(pthread_cancel(thread), 0);
	CHECK(thread_join(thread) == PTHREAD_CANCELED);
	CHECK_EQ(a.nr_cleanups, 1);
	CHECK_EQ(close(a.ends[0]), 0);
	CHECK_EQ(close(a.ends[1]), 0);
}

/* --- pthread_once with a cancelled routine -------------------------------- */

static struct cancelled_once {
	pthread_once_t once;
	_Atomic int nr_begun, nr_done, is_held;
} onces[16]; /* the routine has no argument, so each worker has its own */

static __thread struct cancelled_once *current_once;

static void initialise(void)
{
	struct cancelled_once *o = current_once;

	if (o->nr_begun++ == 0)
		for (;;)
			usleep(100);
	o->nr_done++;
}

static void *pass_once(void *arg)
{
	struct cancelled_once *o = arg;

	current_once = o;
	CHECK_EQ(pthread_once(&o->once, initialise), 0);
	CHECK_EQ(o->nr_done, 1);
	return NULL;
}

static struct cancelled_once *take_once(void)
{
	for (int i = 0;; i = (i + 1) % 16) {
		int is_free = 0;

		if (atomic_compare_exchange_strong(&onces[i].is_held, &is_free,
						   1))
			return &onces[i];
	}
}

/* The next caller runs the routine again; all other callers wait for that. */
void cancel_once(uint64_t *random)
{
	struct cancelled_once *o = take_once();
	pthread_t threads[4];

	o->once = PTHREAD_ONCE_INIT;
	o->nr_begun = o->nr_done = 0;
	threads[0] = torture_start(random, pass_once, o);
	while (o->nr_begun == 0)
		sched_yield();
	for (int i = 1; i < 4; i++)
		threads[i] = torture_start(random, pass_once, o);
	stress_disturb(random);
	CHECK_EQ(pthread_cancel(threads[0]), 0);
	CHECK(thread_join(threads[0]) == PTHREAD_CANCELED);
	threads_join(threads + 1, 3);
	CHECK_EQ(o->nr_begun, 2);
	CHECK_EQ(o->nr_done, 1);
	o->is_held = 0;
}

/* --- keys, until their threads end ---------------------------------------- */

#define NR_KEYS 3

struct keyed {
	pthread_key_t keys[NR_KEYS];
	_Atomic int nr_there; /* values that are not destroyed yet */
	int ending;
	uint64_t seed;
	sem_t all_gone;
};

struct value {
	struct keyed *keyed;
	int key, nr_times; /* how often the destructor sets it again */
};

static void destroy_value(void *arg)
{
	struct value *v = arg;
	struct keyed *k = v->keyed;

	CHECK(pthread_getspecific(k->keys[v->key]) == NULL);
	if (v->nr_times-- > 0) {
		CHECK_EQ(pthread_setspecific(k->keys[v->key], v), 0);
		return;
	}
	free(v);
	if (--k->nr_there == 0)
		CHECK_EQ(sem_post(&k->all_gone), 0);
}

static void *set_values(void *arg)
{
	struct keyed *k = arg;
	int ending = k->ending;
	uint64_t random = k->seed;

	for (int i = 0; i < NR_KEYS; i++) {
		struct value *v = malloc(sizeof(*v));

		CHECK(v != NULL);
		*v = (struct value){ k, i, (int)random_below(&random, 3) };
		CHECK_EQ(pthread_setspecific(k->keys[i], v), 0);
		CHECK(pthread_getspecific(k->keys[i]) == v);
	}
	stress_disturb(&random);
	if (ending == 0)
		pthread_exit(NULL);
	if (ending == 1) {
		CHECK_EQ(pthread_cancel(pthread_self()), 0);
		pthread_testcancel();
	}
	return NULL;
}

/* The test does not depend on how the thread ends, nor on a join. */
void lose_values(uint64_t *random)
{
	struct keyed k = { .nr_there = NR_KEYS };
	bool is_detached = random_below(random, 2) == 0;
	pthread_attr_t attr;
	pthread_t thread;

	k.ending = (int)random_below(random, 3);
	k.seed = random_next(random);
	CHECK_EQ(sem_init(&k.all_gone, 0, 0), 0);
	for (int i = 0; i < NR_KEYS; i++)
		CHECK_EQ(pthread_key_create(&k.keys[i], destroy_value), 0);
	CHECK_EQ(pthread_attr_init(&attr), 0);
	CHECK_EQ(pthread_attr_setdetachstate(&attr, is_detached), 0);
	CHECK_EQ(pthread_create(&thread, &attr, set_values, &k), 0);
	CHECK_EQ(pthread_attr_destroy(&attr), 0);
	while (sem_wait(&k.all_gone) != 0)
		CHECK_EQ(errno, EINTR);
	if (!is_detached)
		thread_join(thread);
	for (int i = 0; i < NR_KEYS; i++)
		CHECK_EQ(pthread_key_delete(k.keys[i]), 0);
}

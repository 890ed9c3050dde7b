/* SPDX-License-Identifier: MIT */
/*
 * Objects are destroyed as soon as POSIX allows it, and their memory is then
 * overwritten, unmapped or used for another object: barriers after the wait,
 * semaphores after the wait that a post ended, mutexes and reader-writer locks
 * by the thread that unlocks last, conditions after a broadcast, once controls.
 * A late access by weft finds garbage or an unmapped page.
 */
#include "stress.h"

#include <semaphore.h>
#include <sys/mman.h>

#define NR_WORKERS 4
#define MOST_THREADS 6
#define PAGE 4096

/* --- memory that does not outlive its object ------------------------------ */

enum memory { MALLOCED, MAPPED, NR_MEMORIES };

struct object {
	enum memory memory;
	bool is_shared; /* is it shared between processes, or could be? */
	_Atomic int nr_users;
	union {
		pthread_barrier_t barrier;
		sem_t sem;
		pthread_mutex_t mutex;
		pthread_rwlock_t rwlock;
		struct {
			pthread_mutex_t mutex;
			pthread_cond_t cond;
			int nr_waiting, is_over;
		} c;
	};
};

static struct object *object_new(uint64_t *random)
{
	enum memory memory = (enum memory)random_below(random, NR_MEMORIES);
	struct object *o;

	if (memory == MAPPED) {
		o = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		CHECK(o != MAP_FAILED);
	} else {
		o = malloc(sizeof(*o));
		CHECK(o != NULL);
	}
	memset(o, 0, sizeof(*o));
	o->memory = memory;
	o->is_shared = random_below(random, 3) == 0;
	return o;
}

static void object_free(struct object *o)
{
	enum memory memory = o->memory;

	memset(o, 0xee, sizeof(*o));
	if (memory == MAPPED)
		CHECK_EQ(munmap(o, PAGE), 0);
	else
		free(o);
}

struct part {
	struct object *o;
	uint64_t random;
};

static void start_all(struct object *o, long nr, uint64_t *random,
		      void *(*start)(void *), pthread_t *ret_threads)
{
	for (long i = 0; i < nr; i++) {
		struct part *p = malloc(sizeof(*p));

		CHECK(p != NULL);
		*p = (struct part){ o, random_next(random) };
		ret_threads[i] = thread_start(start, p);
	}
}

/* --- barriers ------------------------------------------------------------- */

static void *meet_once(void *arg)
{
	struct part p = *(struct part *)arg;
	int rc;

	free(arg);
	stress_disturb(&p.random);
	rc = pthread_barrier_wait(&p.o->barrier);
	if (rc == 0)
		return NULL;
	CHECK_EQ(rc, PTHREAD_BARRIER_SERIAL_THREAD);
	CHECK_EQ(pthread_barrier_destroy(&p.o->barrier), 0);
	object_free(p.o);
	return NULL;
}

static void end_barrier(uint64_t *random)
{
	long nr = 1 + random_below(random, MOST_THREADS);
	struct object *o = object_new(random);
	pthread_t threads[MOST_THREADS];
	pthread_barrierattr_t attr;

	CHECK_EQ(pthread_barrierattr_init(&attr), 0);
	CHECK_EQ(pthread_barrierattr_setpshared(&attr, o->is_shared), 0);
	CHECK_EQ(pthread_barrier_init(&o->barrier, &attr, (unsigned int)nr), 0);
	start_all(o, nr, random, meet_once, threads);
	threads_join(threads, (int)nr);
}

/* --- semaphores ----------------------------------------------------------- */

static void *post_once(void *arg)
{
	struct part p = *(struct part *)arg;

	free(arg);
	stress_disturb(&p.random);
	CHECK_EQ(sem_post(&p.o->sem), 0);
	return NULL;
}

static void wait_somehow(sem_t *sem, uint64_t *random)
{
	struct timespec ts = deadline_ms(CLOCK_REALTIME, 100000);

	switch (random_below(random, 3)) {
	case 0:
		while (sem_trywait(sem) < 0)
			sched_yield();
		break;
	case 1:
		CHECK_EQ(sem_timedwait(sem, &ts), 0);
		break;
	default:
		CHECK_EQ(sem_wait(sem), 0);
		break;
	}
}

static void end_sem(uint64_t *random)
{
	long nr = 1 + random_below(random, 3);
	struct object *o = object_new(random);
	pthread_t threads[MOST_THREADS];

	CHECK_EQ(sem_init(&o->sem, o->is_shared, 0), 0);
	start_all(o, nr, random, post_once, threads);
	stress_disturb(random);
	for (long i = 0; i < nr; i++)
		wait_somehow(&o->sem, random);
	CHECK_EQ(sem_destroy(&o->sem), 0);
	object_free(o);
	threads_join(threads, (int)nr);
}

/* --- mutexes and reader-writer locks -------------------------------------- */

static void *use_mutex(void *arg)
{
	struct part p = *(struct part *)arg;
	int left;

	free(arg);
	stress_disturb(&p.random);
	CHECK_EQ(pthread_mutex_lock(&p.o->mutex), 0);
	stress_disturb(&p.random);
	left = --p.o->nr_users;
	CHECK_EQ(pthread_mutex_unlock(&p.o->mutex), 0);
	if (left > 0)
		return NULL;
	CHECK_EQ(pthread_mutex_destroy(&p.o->mutex), 0);
	object_free(p.o);
	return NULL;
}

static void end_mutex(uint64_t *random)
{
	static const int types[] = { PTHREAD_MUTEX_NORMAL,
				     PTHREAD_MUTEX_ERRORCHECK,
				     PTHREAD_MUTEX_RECURSIVE,
				     PTHREAD_MUTEX_ADAPTIVE_NP };
	long nr = 2 + random_below(random, MOST_THREADS - 1);
	struct object *o = object_new(random);
	pthread_t threads[MOST_THREADS];
	pthread_mutexattr_t attr;

	CHECK_EQ(pthread_mutexattr_init(&attr), 0);
	CHECK_EQ(pthread_mutexattr_setpshared(&attr, o->is_shared), 0);
	CHECK_EQ(pthread_mutexattr_settype(&attr,
					   types[random_below(random, 4)]),
		 0);
	if (random_below(random, 4) == 0)
		CHECK_EQ(pthread_mutexattr_setrobust(&attr,
						     PTHREAD_MUTEX_ROBUST),
			 0);
	CHECK_EQ(pthread_mutex_init(&o->mutex, &attr), 0);
	o->nr_users = (int)nr;
	start_all(o, nr, random, use_mutex, threads);
	threads_join(threads, (int)nr);
}

static void *use_rwlock(void *arg)
{
	struct part p = *(struct part *)arg;
	bool writes = random_below(&p.random, 2);
	int left;

	free(arg);
	stress_disturb(&p.random);
	CHECK_EQ(writes ? pthread_rwlock_wrlock(&p.o->rwlock) :
			  pthread_rwlock_rdlock(&p.o->rwlock),
		 0);
	stress_disturb(&p.random);
	CHECK_EQ(pthread_rwlock_unlock(&p.o->rwlock), 0);
	/*
	 * The thread that was last under its own lock knows that all have left.
	 */
	left = --p.o->nr_users;
	if (left > 0)
		return NULL;
	CHECK_EQ(pthread_rwlock_destroy(&p.o->rwlock), 0);
	object_free(p.o);
	return NULL;
}

static void end_rwlock(uint64_t *random)
{
	long nr = 2 + random_below(random, MOST_THREADS - 1);
	struct object *o = object_new(random);
	pthread_t threads[MOST_THREADS];
	pthread_rwlockattr_t attr;

	CHECK_EQ(pthread_rwlockattr_init(&attr), 0);
	CHECK_EQ(pthread_rwlockattr_setpshared(&attr, o->is_shared), 0);
	CHECK_EQ(pthread_rwlockattr_setkind_np(&attr,
					       (int)random_below(random, 3)),
		 0);
	CHECK_EQ(pthread_rwlock_init(&o->rwlock, &attr), 0);
	o->nr_users = (int)nr;
	start_all(o, nr, random, use_rwlock, threads);
	threads_join(threads, (int)nr);
}

/* --- conditions ----------------------------------------------------------- */

static void *wait_for_end(void *arg)
{
	struct part p = *(struct part *)arg;
	struct timespec ts;
	struct object *o = p.o;

	free(arg);
	CHECK_EQ(pthread_mutex_lock(&o->c.mutex), 0);
	o->c.nr_waiting++;
	while (!o->c.is_over) {
		int rc;

		if (random_below(&p.random, 2)) {
			CHECK_EQ(pthread_cond_wait(&o->c.cond, &o->c.mutex), 0);
			continue;
		}
		ts = ts_after_ns(deadline_ms(CLOCK_REALTIME, 0),
				 random_below(&p.random, 300000));
		rc = pthread_cond_timedwait(&o->c.cond, &o->c.mutex, &ts);
		CHECK(rc == 0 || rc == ETIMEDOUT);
	}
	CHECK_EQ(pthread_mutex_unlock(&o->c.mutex), 0);
	return NULL;
}

/* The mutex exists until all have left; the condition does not. */
static void end_cond(uint64_t *random)
{
	long nr = 1 + random_below(random, MOST_THREADS);
	struct object *o = object_new(random);
	pthread_t threads[MOST_THREADS];
	pthread_mutexattr_t mutex;
	pthread_condattr_t cond;

	CHECK_EQ(pthread_mutexattr_init(&mutex), 0);
	CHECK_EQ(pthread_mutexattr_setpshared(&mutex, o->is_shared), 0);
	CHECK_EQ(pthread_mutex_init(&o->c.mutex, &mutex), 0);
	CHECK_EQ(pthread_condattr_init(&cond), 0);
	CHECK_EQ(pthread_condattr_setpshared(&cond, o->is_shared), 0);
	CHECK_EQ(pthread_cond_init(&o->c.cond, &cond), 0);
	start_all(o, nr, random, wait_for_end, threads);
	for (bool all = false; !all; sched_yield()) {
		CHECK_EQ(pthread_mutex_lock(&o->c.mutex), 0);
		all = o->c.nr_waiting == nr;
		if (random_below(random, 4) == 0)
			CHECK_EQ(pthread_cond_signal(&o->c.cond), 0);
		CHECK_EQ(pthread_mutex_unlock(&o->c.mutex), 0);
	}
	CHECK_EQ(pthread_mutex_lock(&o->c.mutex), 0);
	o->c.is_over = true;
	CHECK_EQ(pthread_cond_broadcast(&o->c.cond), 0);
	if (random_below(random, 2)) {
		CHECK_EQ(pthread_mutex_unlock(&o->c.mutex), 0);
		CHECK_EQ(pthread_cond_destroy(&o->c.cond), 0);
		memset(&o->c.cond, 0xee, sizeof(o->c.cond));
	} else {
		CHECK_EQ(pthread_cond_destroy(&o->c.cond), 0);
		memset(&o->c.cond, 0xee, sizeof(o->c.cond));
		CHECK_EQ(pthread_mutex_unlock(&o->c.mutex), 0);
	}
	threads_join(threads, (int)nr);
	CHECK_EQ(pthread_mutex_destroy(&o->c.mutex), 0);
	object_free(o);
}

/* --- all ------------------------------------------------------------------ */

static void (*const acts[])(uint64_t *) = { end_barrier, end_sem, end_mutex,
					    end_rwlock, end_cond };

int main(int argc, char **argv)
{
	pthread_t workers[NR_WORKERS];

	stress_begin(argc, argv);
	stress_mix((struct stress_mixture){ acts, 5, stress_scale(1000) },
		   workers, NR_WORKERS);
	return stress_end();
}

/* SPDX-License-Identifier: MIT */
/*
 * Objects that three processes use at once: the case's process, a forked child,
 * and a program that starts without LD_PRELOAD. With weft the first two run on
 * weft; natively none does.
 */
#include <limits.h>
#include <string.h>

#include "mixed.h"

enum { NR_PROCESSES = 3, NR_ALL = NR_PROCESSES * NR_THREADS, NR_ITEMS = 400 };

struct mixed {
	pthread_mutex_t mutex;
	pthread_cond_t cond, space;
	pthread_rwlock_t rwlock;
	pthread_barrier_t barrier;
	pthread_spinlock_t spin;
	sem_t sem;
	_Atomic long arrived[4], serial;
	long a, b, items, generation, here, made, eaten, sum_made, sum_eaten;
	_Atomic long times_up;
};

static struct mixed *m;

/* --- the processes -------------------------------------------------------- */

/*
 * One process runs make(); then NR_THREADS threads of each process run start().
 * Returns true at the end in the case's own process.
 */
static bool run_in_three(void (*make)(void), void *(*start)(void *))
{
	pid_t second = -1, third = -1;

	m = map_objects(sizeof(*m));
	if (is_third()) {
		CHECK(!is_on_weft());
		run_threads(start);
		exit(0);
	}
	make();
	second = fork();
	CHECK(second >= 0);
	if (second != 0)
		third = start_third();
	run_threads(start);
	if (second == 0)
		_exit(0);
	await_child(second);
	await_child(third);
	return true;
}

static void make_sync(int robust, int protocol, int kind)
{
	memset(m, 0, sizeof(*m));
	make_mutex(&m->mutex, PTHREAD_MUTEX_NORMAL, robust,
		   PTHREAD_PROCESS_SHARED, protocol);
	make_cond(&m->cond, CLOCK_REALTIME);
	make_cond(&m->space, CLOCK_MONOTONIC);
	make_rwlock(&m->rwlock, kind);
	make_barrier(&m->barrier, NR_ALL);
}

static void make_plain(void)
{
	make_sync(PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE,
		  PTHREAD_RWLOCK_PREFER_READER_NP);
}

static void make_robust(void)
{
	make_sync(PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE,
		  PTHREAD_RWLOCK_PREFER_READER_NP);
}

static void make_inheriting(void)
{
	make_sync(PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_INHERIT,
		  PTHREAD_RWLOCK_PREFER_READER_NP);
}

static void make_inheriting_robust(void)
{
	make_sync(PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_INHERIT,
		  PTHREAD_RWLOCK_PREFER_READER_NP);
}

static void make_preferring_writers(void)
{
	make_sync(PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE,
		  PTHREAD_RWLOCK_PREFER_WRITER_NP);
}

static void make_preferring_writers_strictly(void)
{
	make_sync(PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE,
		  PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
}

/* --- barriers ------------------------------------------------------------- */

static void *meet(void *arg)
{
	for (int i = 0; i < NR_ROUNDS; i++) {
		int rc;

		m->arrived[i % 4]++;
		rc = pthread_barrier_wait(&m->barrier);
		if (rc == PTHREAD_BARRIER_SERIAL_THREAD) {
			m->serial++;
			m->arrived[(i + 2) % 4] = 0;
		} else {
			CHECK_EQ(rc, 0);
		}
		CHECK_EQ(m->arrived[i % 4], NR_ALL);
		pthread_barrier_wait(&m->barrier);
	}
	return NULL;
}

TEST(barrier)
{
	if (run_in_three(make_plain, meet)) {
		CHECK_EQ(m->serial, NR_ROUNDS);
		CHECK_EQ(pthread_barrier_destroy(&m->barrier), 0);
	}
}

/*
 * libc's barrier counts the threads that arrive, may leave and have left. It
 * starts again at the last multiple of the count below 2^31.
 */
static void make_late_barrier(void)
{
	uint32_t *words = (uint32_t *)&m->barrier;
	uint32_t last = INT_MAX - INT_MAX % NR_ALL;

	make_plain();
	CHECK_EQ(words[2], NR_ALL);
	words[0] = words[1] = words[4] = last - 20 * NR_ALL;
}

TEST(barrier_starts_anew)
{
	if (run_in_three(make_late_barrier, meet)) {
		CHECK_EQ(m->serial, NR_ROUNDS);
		CHECK_EQ(*(uint32_t *)&m->barrier,
			 (2 * NR_ROUNDS - 20) * NR_ALL);
		CHECK_EQ(pthread_barrier_destroy(&m->barrier), 0);
	}
}

/* --- spin locks and semaphores -------------------------------------------- */

static void make_spin(void)
{
	make_plain();
	CHECK_EQ(pthread_spin_init(&m->spin, PTHREAD_PROCESS_SHARED), 0);
	CHECK_EQ(sem_init(&m->sem, 1, 1), 0);
}

static void *spin_and_count(void *arg)
{
	for (int i = 0; i < NR_ROUNDS; i++) {
		CHECK_EQ(pthread_spin_lock(&m->spin), 0);
		m->a++;
		CHECK_EQ(pthread_spin_unlock(&m->spin), 0);
		CHECK_EQ(sem_wait(&m->sem), 0);
		m->b++;
		if (i % 16 == 0)
			sched_yield();
		CHECK_EQ(sem_post(&m->sem), 0);
	}
	return NULL;
}

TEST(spin_and_semaphore)
{
	if (run_in_three(make_spin, spin_and_count)) {
		CHECK_EQ(m->a, NR_ALL * NR_ROUNDS);
		CHECK_EQ(m->b, NR_ALL * NR_ROUNDS);
	}
}

/* --- reader-writer locks -------------------------------------------------- */

static void lock_timed(bool to_write, int i)
{
	clockid_t clock = i & 1 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
	struct timespec soon = deadline_ms(clock, 1);
	int rc = to_write ?
			 pthread_rwlock_clockwrlock(&m->rwlock, clock, &soon) :
			 pthread_rwlock_clockrdlock(&m->rwlock, clock, &soon);

	if (rc == 0)
		return;
	CHECK_EQ(rc, ETIMEDOUT);
	m->times_up++;
	CHECK_EQ(to_write ? pthread_rwlock_wrlock(&m->rwlock) :
			    pthread_rwlock_rdlock(&m->rwlock),
		 0);
}

static void *read_and_write(void *arg)
{
	for (int i = 0; i < NR_ROUNDS; i++) {
		if (i % 4 == 0)
			lock_timed(true, i / 4);
		else
			CHECK_EQ(pthread_rwlock_wrlock(&m->rwlock), 0);
		m->a++;
		if (i % 16 == 0)
			sched_yield();
		if (i % 100 == 0)
			sleep_ms(2);
		m->b++;
		CHECK_EQ(pthread_rwlock_unlock(&m->rwlock), 0);
		if (i % 4 == 1)
			lock_timed(false, i / 4);
		else
			CHECK_EQ(pthread_rwlock_rdlock(&m->rwlock), 0);
		CHECK_EQ(m->a, m->b);
		if (i % 16 == 1)
			sched_yield();
		CHECK_EQ(pthread_rwlock_unlock(&m->rwlock), 0);
		if (i % 8 == 0 && pthread_rwlock_trywrlock(&m->rwlock) == 0) {
			m->a++;
			m->b++;
			m->made++;
			CHECK_EQ(pthread_rwlock_unlock(&m->rwlock), 0);
		}
	}
	return NULL;
}

static void check_written(void)
{
	CHECK_EQ(m->a, NR_ALL * NR_ROUNDS + m->made);
	CHECK_EQ(m->a, m->b);
	CHECK_EQ(pthread_rwlock_trywrlock(&m->rwlock), 0);
	CHECK_EQ(pthread_rwlock_unlock(&m->rwlock), 0);
	CHECK_EQ(pthread_rwlock_destroy(&m->rwlock), 0);
}

TEST(rwlock)
{
	if (run_in_three(make_plain, read_and_write))
		check_written();
}

TEST(rwlock_preferring_writers)
{
	if (run_in_three(make_preferring_writers, read_and_write))
		check_written();
}

TEST(rwlock_preferring_writers_strictly)
{
	if (run_in_three(make_preferring_writers_strictly, read_and_write))
		check_written();
}

/* --- conditions ----------------------------------------------------------- */

/* Returns with the mutex locked. */
static void wait_on(pthread_cond_t *cond, clockid_t clock, int i)
{
	struct timespec soon;
	int rc;

	if (i % 3 != 0) {
		CHECK_EQ(pthread_cond_wait(cond, &m->mutex), 0);
		return;
	}
	soon = deadline_ms(clock, 1);
	rc = i % 2 ? pthread_cond_timedwait(cond, &m->mutex, &soon) :
		     pthread_cond_clockwait(cond, &m->mutex, clock, &soon);
	CHECK(rc == 0 || rc == ETIMEDOUT);
	m->times_up += rc != 0;
}

static void make_item(int i)
{
	CHECK_EQ(pthread_mutex_lock(&m->mutex), 0);
	while (m->items == 3)
		wait_on(&m->space, CLOCK_MONOTONIC, i++);
	m->items++;
	m->sum_made += ++m->made;
	CHECK_EQ(pthread_cond_signal(&m->cond), 0);
	CHECK_EQ(pthread_mutex_unlock(&m->mutex), 0);
}

static void eat_item(int i)
{
	CHECK_EQ(pthread_mutex_lock(&m->mutex), 0);
	while (m->items == 0)
		wait_on(&m->cond, CLOCK_REALTIME, i++);
	m->items--;
	m->sum_eaten += ++m->eaten;
	CHECK_EQ(pthread_mutex_unlock(&m->mutex), 0);
	CHECK_EQ(pthread_cond_signal(&m->space), 0);
}

static void *make_or_eat(void *arg)
{
	static _Atomic int number;
	bool makes = number++ % 2 == 0;

	for (int i = 0; i < NR_ITEMS; i++) {
		if (makes)
			make_item(i);
		else
			eat_item(i);
	}
	return NULL;
}

static void check_items(void)
{
	CHECK_EQ(m->made, NR_ALL / 2 * NR_ITEMS);
	CHECK_EQ(m->eaten, m->made);
	CHECK_EQ(m->sum_eaten, m->sum_made);
	CHECK_EQ(m->items, 0);
	CHECK_EQ(pthread_cond_destroy(&m->cond), 0);
	CHECK_EQ(pthread_cond_destroy(&m->space), 0);
	CHECK_EQ(pthread_mutex_destroy(&m->mutex), 0);
}

TEST(condition)
{
	if (run_in_three(make_plain, make_or_eat))
		check_items();
}

TEST(condition_robust)
{
	if (run_in_three(make_robust, make_or_eat))
		check_items();
}

TEST(condition_inheriting)
{
	if (run_in_three(make_inheriting, make_or_eat))
		check_items();
}

TEST(condition_inheriting_robust)
{
	if (run_in_three(make_inheriting_robust, make_or_eat))
		check_items();
}

static void *gather(void *arg)
{
	for (int i = 0; i < NR_ROUNDS; i++) {
		CHECK_EQ(pthread_mutex_lock(&m->mutex), 0);
		if (++m->here == NR_ALL) {
			m->here = 0;
			m->generation++;
			CHECK_EQ(pthread_cond_broadcast(&m->cond), 0);
		} else {
			while (m->generation == i)
				CHECK_EQ(pthread_cond_wait(&m->cond, &m->mutex),
					 0);
		}
		CHECK_EQ(m->generation, i + 1);
		CHECK_EQ(pthread_mutex_unlock(&m->mutex), 0);
	}
	return NULL;
}

TEST(condition_broadcast)
{
	if (run_in_three(make_plain, gather))
		CHECK_EQ(m->generation, NR_ROUNDS);
}

/* The destroying thread has to let the last waiters leave. */
static void *gather_and_destroy(void *arg)
{
	CHECK_EQ(pthread_mutex_lock(&m->mutex), 0);
	if (++m->here == NR_ALL) {
		m->generation++;
		CHECK_EQ(pthread_cond_broadcast(&m->cond), 0);
		CHECK_EQ(pthread_cond_destroy(&m->cond), 0);
		memset(&m->cond, 0x55, sizeof(m->cond));
	} else {
		while (m->generation == 0)
			CHECK_EQ(pthread_cond_wait(&m->cond, &m->mutex), 0);
	}
	CHECK_EQ(pthread_mutex_unlock(&m->mutex), 0);
	if (pthread_barrier_wait(&m->barrier) ==
	    PTHREAD_BARRIER_SERIAL_THREAD) {
		CHECK_EQ(pthread_barrier_destroy(&m->barrier), 0);
		memset(&m->barrier, 0x55, sizeof(m->barrier));
		m->serial++;
	}
	return NULL;
}

TEST(destroyed_at_once)
{
	for (int i = 0; i < 5; i++) {
		if (run_in_three(make_plain, gather_and_destroy))
			CHECK_EQ(m->serial, 1);
		CHECK_EQ(munmap(m, sizeof(*m)), 0);
		CHECK_EQ(close(objects_fd), 0);
	}
}

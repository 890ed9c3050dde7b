/* SPDX-License-Identifier: MIT */
/*
 * Acts that signal threads in each kind of wait, and acts with each kind of
 * lock.
 */
#include "torture.h"

#include <poll.h>
#include <semaphore.h>

#include "signalling.h"

#define NR_SENT 4

/* --- signals in waits ----------------------------------------------------- */

enum waits {
	IN_LOCK,
	IN_COND,
	IN_SEM,
	IN_READ,
	IN_POLL,
	IN_SLEEP,
	IN_JOIN,
	IN_RWLOCK,
	NR_WAITS
};

/* A thread that waits in one way, until release() or by itself. */
struct waiter {
	enum waits in;
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	pthread_rwlock_t rwlock;
	sem_t sem;
	int ends[2];
	pthread_t other;
	bool may_go;
	_Atomic int nr_expected; /* number of signals; -1: not known yet */
};

static __thread int nr_seen, sum_seen;

static void on_wait_signal(int sig, siginfo_t *info, void *context)
{
	int saved = errno;

	nr_seen++;
	sum_seen += info->si_value.sival_int;
	sched_yield();
	errno = saved;
}

static void *wait_to_go(void *arg)
{
	struct waiter *w = arg;

	CHECK_EQ(pthread_mutex_lock(&w->mutex), 0);
	while (!w->may_go)
		CHECK_EQ(pthread_cond_wait(&w->cond, &w->mutex), 0);
	CHECK_EQ(pthread_mutex_unlock(&w->mutex), 0);
	return w;
}

static void wait_for_byte(struct waiter *w)
{
	struct pollfd pollfd = { w->ends[0], POLLIN, 0 };
	char byte = 0;

	if (w->in == IN_POLL)
		while (poll(&pollfd, 1, -1) != 1)
			CHECK_EQ(errno, EINTR);
	CHECK_EQ(torture_read_byte(w->ends[0], &byte), 1);
	CHECK_EQ(byte, 's');
}

static void wait_once(struct waiter *w)
{
	struct timespec ts = { 0, 300000 };
	int64_t start = now_ns();

	switch (w->in) {
	case IN_LOCK:
		CHECK_EQ(pthread_mutex_lock(&w->mutex), 0);
		CHECK(w->may_go);
		CHECK_EQ(pthread_mutex_unlock(&w->mutex), 0);
		break;
	case IN_COND:
		wait_to_go(w);
		break;
	case IN_RWLOCK:
		CHECK_EQ(pthread_rwlock_rdlock(&w->rwlock), 0);
		CHECK(w->may_go);
		CHECK_EQ(pthread_rwlock_unlock(&w->rwlock), 0);
		break;
	case IN_SEM:
		while (sem_wait(&w->sem) != 0)
			CHECK_EQ(errno, EINTR);
		CHECK(w->may_go);
		break;
	case IN_SLEEP:
		while (nanosleep(&ts, &ts) != 0)
			CHECK_EQ(errno, EINTR);
		CHECK(now_ns() - start >= 300000);
		break;
	case IN_JOIN:
		CHECK(thread_join(w->other) == w);
		break;
	default:
		wait_for_byte(w);
		break;
	}
}

static void *wait_and_count(void *arg)
{
	struct waiter *w = arg;

	wait_once(w);
	while (w->nr_expected < 0 || nr_seen < w->nr_expected)
		sched_yield();
	CHECK_EQ(nr_seen, w->nr_expected);
	return (void *)(intptr_t)sum_seen;
}

static void hold(struct waiter *w)
{
	if (w->in == IN_LOCK)
		CHECK_EQ(pthread_mutex_lock(&w->mutex), 0);
	if (w->in == IN_RWLOCK)
		CHECK_EQ(pthread_rwlock_wrlock(&w->rwlock), 0);
}

/* Wakes the thread, in whichever kind of wait it is. */
static void release(struct waiter *w)
{
	if (w->in == IN_RWLOCK) {
		w->may_go = true;
		CHECK_EQ(pthread_rwlock_unlock(&w->rwlock), 0);
		return;
	}
	if (w->in != IN_LOCK)
		CHECK_EQ(pthread_mutex_lock(&w->mutex), 0);
	w->may_go = true;
	CHECK_EQ(pthread_cond_broadcast(&w->cond), 0);
	CHECK_EQ(pthread_mutex_unlock(&w->mutex), 0);
	CHECK_EQ(sem_post(&w->sem), 0);
	torture_write_byte(w->ends[1], 's');
}

static struct waiter *new_waiter(uint64_t *random)
{
	struct waiter *w = calloc(1, sizeof(*w));

	CHECK(w != NULL);
	w->in = (enum waits)random_below(random, NR_WAITS);
	w->nr_expected = -1;
	CHECK_EQ(pthread_mutex_init(&w->mutex, NULL), 0);
	CHECK_EQ(pthread_cond_init(&w->cond, NULL), 0);
	CHECK_EQ(pthread_rwlock_init(&w->rwlock, NULL), 0);
	CHECK_EQ(sem_init(&w->sem, 0, 0), 0);
	CHECK_EQ(pipe2(w->ends, O_CLOEXEC), 0);
	return w;
}

static void free_waiter(struct waiter *w)
{
	CHECK_EQ(pthread_mutex_destroy(&w->mutex), 0);
	CHECK_EQ(pthread_cond_destroy(&w->cond), 0);
	CHECK_EQ(pthread_rwlock_destroy(&w->rwlock), 0);
	CHECK_EQ(sem_destroy(&w->sem), 0);
	CHECK_EQ(close(w->ends[0]), 0);
	CHECK_EQ(close(w->ends[1]), 0);
	free(w);
}

/* Each signal is handled once by the thread that it is for. */
void signal_in_wait(uint64_t *random)
{
	struct waiter *w = new_waiter(random);
	int nr = 0, sum = 0;
	pthread_t thread;

	hold(w);
	if (w->in == IN_JOIN)
		w->other = torture_start(random, wait_to_go, w);
	thread = torture_start(random, wait_and_count, w);
	for (int i = 0; i < NR_SENT; i++) {
		union sigval value = { .sival_int =
					       (int)random_below(random, 99) };
		int sig = SIGRTMIN + 6 + (int)random_below(random, 2);

		stress_disturb(random);
		if (pthread_sigqueue(thread, sig, value) != 0)
			continue; /* the user has too many queued signals */
		nr++;
		sum += value.sival_int;
	}
	release(w);
	w->nr_expected = nr;
	CHECK_EQ((intptr_t)thread_join(thread), sum);
	free_waiter(w);
}

/* --- reader-writer locks -------------------------------------------------- */

struct book {
	pthread_rwlock_t rwlock;
	uint64_t seed;
	_Atomic int nr_readers, nr_writers, nr_started;
	long pages[2];
};

static int lock_book(struct book *b, uint64_t *random, bool writes)
{
	struct timespec real = torture_soon(random, CLOCK_REALTIME);
	struct timespec mono = torture_soon(random, CLOCK_MONOTONIC);
	pthread_rwlock_t *lock = &b->rwlock;

	switch (random_below(random, 4)) {
	case 0:
		return writes ? pthread_rwlock_trywrlock(lock) :
				pthread_rwlock_tryrdlock(lock);
	case 1:
		return writes ? pthread_rwlock_timedwrlock(lock, &real) :
				pthread_rwlock_timedrdlock(lock, &real);
	case 2:
		return writes ?
			       pthread_rwlock_clockwrlock(lock, CLOCK_MONOTONIC,
							  &mono) :
			       pthread_rwlock_clockrdlock(lock, CLOCK_MONOTONIC,
							  &mono);
	default:
		return writes ? pthread_rwlock_wrlock(lock) :
				pthread_rwlock_rdlock(lock);
	}
}

static void *use_book(void *arg)
{
	struct book *b = arg;
	uint64_t random = b->seed + (uint64_t)b->nr_started++;
	intptr_t nr_written = 0;

	for (int i = 0; i < 15; i++) {
		bool writes = random_below(&random, 3) == 0;
		_Atomic int *nr = writes ? &b->nr_writers : &b->nr_readers;
		int err = lock_book(b, &random, writes);

		CHECK(err == 0 || err == EBUSY || err == ETIMEDOUT);
		if (err != 0)
			continue;
		++*nr;
		CHECK(b->nr_writers == writes);
		CHECK(!writes || b->nr_readers == 0);
		CHECK_EQ(b->pages[0], b->pages[1]);
		b->pages[0] += writes;
		stress_disturb(&random);
		b->pages[1] += writes;
		nr_written += writes;
		--*nr;
		CHECK_EQ(pthread_rwlock_unlock(&b->rwlock), 0);
	}
	return (void *)nr_written;
}

void use_rwlock(uint64_t *random)
{
	struct book b = { .seed = random_next(random) };
	pthread_rwlockattr_t attr;
	pthread_t threads[4];
	long nr_written = 0;

	CHECK_EQ(pthread_rwlockattr_init(&attr), 0);
	CHECK_EQ(pthread_rwlockattr_setkind_np(&attr,
					       (int)random_below(random, 3)),
		 0);
	CHECK_EQ(pthread_rwlockattr_setpshared(&attr,
					       (int)random_below(random, 2)),
		 0);
	CHECK_EQ(pthread_rwlock_init(&b.rwlock, &attr), 0);
	CHECK_EQ(pthread_rwlockattr_destroy(&attr), 0);
	for (int i = 0; i < 4; i++)
		threads[i] = torture_start(random, use_book, &b);
	for (int i = 0; i < 4; i++)
		nr_written += (intptr_t)thread_join(threads[i]);
	CHECK_EQ(b.pages[0], nr_written);
	CHECK_EQ(pthread_rwlock_destroy(&b.rwlock), 0);
}

/* --- barriers ------------------------------------------------------------- */

#define NR_PHASES 6

struct phases {
	pthread_barrier_t barrier;
	_Atomic int nr_arrived;
	int nr_threads;
};

/* No thread is in the next phase before all have finished this one. */
static void *pass_phases(void *arg)
{
	struct phases *p = arg;
	intptr_t nr_serial = 0;

	for (int i = 1; i <= NR_PHASES; i++) {
		p->nr_arrived++;
		nr_serial += pthread_barrier_wait(&p->barrier) != 0;
		CHECK_EQ(p->nr_arrived, i * p->nr_threads);
		nr_serial += pthread_barrier_wait(&p->barrier) != 0;
	}
	return (void *)nr_serial;
}

void meet_often(uint64_t *random)
{
	struct phases p = { .nr_threads = 2 + (int)random_below(random, 4) };
	pthread_barrierattr_t attr;
	pthread_t threads[5];
	long nr_serial = 0;

	CHECK_EQ(pthread_barrierattr_init(&attr), 0);
	CHECK_EQ(pthread_barrierattr_setpshared(&attr,
						(int)random_below(random, 2)),
		 0);
	CHECK_EQ(pthread_barrier_init(&p.barrier, &attr,
				      (unsigned int)p.nr_threads),
		 0);
	CHECK_EQ(pthread_barrierattr_destroy(&attr), 0);
	for (int i = 0; i < p.nr_threads; i++)
		threads[i] = torture_start(random, pass_phases, &p);
	for (int i = 0; i < p.nr_threads; i++)
		nr_serial += (intptr_t)thread_join(threads[i]);
	CHECK_EQ(nr_serial, 2L * NR_PHASES);
	CHECK_EQ(pthread_barrier_destroy(&p.barrier), 0);
}

void torture_locks_begin(void)
{
	handle(SIGRTMIN + 6, on_wait_signal, SA_RESTART);
	handle(SIGRTMIN + 7, on_wait_signal, 0);
}

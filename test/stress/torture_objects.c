/* SPDX-License-Identifier: MIT */
/*
 * Acts with locks made of futexes, with mutexes that lose their owner, and with
 * objects in memory that is unmapped as soon as possible: a late access gets a
 * SIGSEGV.
 */
#include "torture.h"

#include <linux/futex.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>

/* --- a lock and a condition of futexes ------------------------------------ */

#define NR_COINS 5

static struct purse {
	_Atomic uint32_t lock; /* 0: free; 1: held; 2: and waited for */
	_Atomic uint32_t turn;
	int flags;
	long inside, outside;
} purses[] = { { .flags = FUTEX_PRIVATE_FLAG, .inside = NR_COINS },
	       { .flags = 0, .inside = NR_COINS } };

static long wake(struct purse *p, _Atomic uint32_t *word)
{
	return syscall(SYS_futex, word, FUTEX_WAKE | p->flags, 1, NULL, NULL,
		       0);
}

static void lock(struct purse *p, bool was_requeued)
{
	uint32_t is_free = 0;

	if (!was_requeued &&
	    atomic_compare_exchange_strong(&p->lock, &is_free, 1))
		return;
	while (atomic_exchange(&p->lock, 2) != 0) {
		if (syscall(SYS_futex, &p->lock, FUTEX_WAIT | p->flags, 2, NULL,
			    NULL, 0) != 0)
			CHECK(errno == EAGAIN || errno == EINTR);
	}
}

static void unlock(struct purse *p)
{
	if (atomic_exchange(&p->lock, 0) == 2)
		CHECK(wake(p, &p->lock) >= 0);
}

/* Returns false at a time-out. */
static bool wait_for_turn(struct purse *p, uint64_t *random)
{
	struct timespec ts = torture_soon(random, CLOCK_MONOTONIC);
	uint32_t turn = p->turn;
	int err = 0;

	unlock(p);
	if (syscall(SYS_futex, &p->turn, FUTEX_WAIT_BITSET | p->flags, turn,
		    &ts, NULL, FUTEX_BITSET_MATCH_ANY) != 0)
		err = errno;
	CHECK(err == 0 || err == EAGAIN || err == EINTR || err == ETIMEDOUT);
	lock(p, true);
	return err != ETIMEDOUT;
}

/* Wakes one thread; the others then wait for the lock. */
static void pass_turn(struct purse *p, bool requeues)
{
	uint32_t turn = ++p->turn;

	if (!requeues) {
		CHECK(wake(p, &p->turn) >= 0);
		return;
	}
	p->lock = 2;
	CHECK(syscall(SYS_futex, &p->turn, FUTEX_CMP_REQUEUE | p->flags, 1,
		      1000, &p->lock, turn) >= 0);
}

void use_futexes(uint64_t *random)
{
	struct purse *p = &purses[random_below(random, 2)];
	bool is_in_time = true;

	lock(p, false);
	while (p->inside < NR_COINS - 2 && is_in_time)
		is_in_time = wait_for_turn(p, random);
	if (p->inside == 0) {
		unlock(p);
		return;
	}
	p->inside--;
	p->outside++;
	unlock(p);
	stress_disturb(random);
	lock(p, false);
	p->inside++;
	p->outside--;
	CHECK_EQ(p->inside + p->outside, NR_COINS);
	pass_turn(p, random_below(random, 2));
	unlock(p);
}

/* --- owners that end ------------------------------------------------------ */

static pthread_mutex_t inherited;
static pthread_once_t inherited_once = PTHREAD_ONCE_INIT;
static long pair[2];

static void make_inherited(void)
{
	pthread_mutexattr_t attr;

	CHECK_EQ(pthread_mutexattr_init(&attr), 0);
	CHECK_EQ(pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST), 0);
	CHECK_EQ(pthread_mutex_init(&inherited, &attr), 0);
}

static void lock_inherited(uint64_t *random)
{
	struct timespec ts = torture_soon(random, CLOCK_REALTIME);
	int err = pthread_mutex_timedlock(&inherited, &ts);

	if (err == ETIMEDOUT)
		err = pthread_mutex_lock(&inherited);
	CHECK(err == 0 || err == EOWNERDEAD);
	if (err == EOWNERDEAD) {
		CHECK_EQ(pair[0], pair[1] + 1);
		pair[1]++;
		CHECK_EQ(pthread_mutex_consistent(&inherited), 0);
	}
	CHECK_EQ(pair[0], pair[1]);
	pair[0]++;
	stress_disturb(random);
}

static void *end_with_lock(void *arg)
{
	uint64_t random = (uintptr_t)arg;

	lock_inherited(&random);
	return NULL;
}

void leave_lock(uint64_t *random)
{
	CHECK_EQ(pthread_once(&inherited_once, make_inherited), 0);
	if (random_below(random, 3) == 0) {
		thread_join(torture_start(random, end_with_lock,
					  (void *)random_next(random)));
		return;
	}
	lock_inherited(random);
	pair[1]++;
	CHECK_EQ(pthread_mutex_unlock(&inherited), 0);
}

/* --- objects that are gone at once ---------------------------------------- */

struct page {
	sem_t sem;
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	pthread_rwlock_t rwlock;
	pthread_barrier_t barrier;
	int nr;
};

static struct page *get_page(void)
{
	struct page *p = mmap(NULL, sizeof(*p), PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

static void *post(void *arg)
{
	struct page *p = arg;

	CHECK_EQ(sem_post(&p->sem), 0);
	return NULL;
}

void lose_sem(uint64_t *random)
{
	struct page *p = get_page();
	pthread_t thread;

	CHECK_EQ(sem_init(&p->sem, (int)random_below(random, 2), 0), 0);
	thread = torture_start(random, post, p);
	stress_disturb(random);
	while (sem_wait(&p->sem) != 0)
		CHECK_EQ(errno, EINTR);
	CHECK_EQ(sem_destroy(&p->sem), 0);
	CHECK_EQ(munmap(p, sizeof(*p)), 0);
	thread_join(thread);
}

static void *count_locked(void *arg)
{
	struct page *p = arg;

	CHECK_EQ(pthread_mutex_lock(&p->mutex), 0);
	p->nr++;
	CHECK_EQ(pthread_mutex_unlock(&p->mutex), 0);
	return NULL;
}

static void init_mutex(uint64_t *random, pthread_mutex_t *mutex)
{
	pthread_mutexattr_t attr;

	CHECK_EQ(pthread_mutexattr_init(&attr), 0);
	CHECK_EQ(pthread_mutexattr_settype(&attr, (int)random_below(random, 4)),
		 0);
	CHECK_EQ(pthread_mutexattr_setpshared(&attr,
					      (int)random_below(random, 2)),
		 0);
	if (random_below(random, 3) == 0)
		CHECK_EQ(pthread_mutexattr_setprotocol(&attr,
						       PTHREAD_PRIO_INHERIT),
			 0);
	CHECK_EQ(pthread_mutex_init(mutex, &attr), 0);
}

/* The second thread that has locked the mutex destroys it. */
void lose_mutex(uint64_t *random)
{
	struct page *p = get_page();
	pthread_t thread;
	bool is_last;

	init_mutex(random, &p->mutex);
	thread = torture_start(random, count_locked, p);
	do {
		stress_disturb(random);
		CHECK_EQ(pthread_mutex_lock(&p->mutex), 0);
		is_last = p->nr == 1;
		CHECK_EQ(pthread_mutex_unlock(&p->mutex), 0);
	} while (!is_last);
	CHECK_EQ(pthread_mutex_destroy(&p->mutex), 0);
	CHECK_EQ(munmap(p, sizeof(*p)), 0);
	thread_join(thread);
}

static void *await_word(void *arg)
{
	struct page *p = arg;

	CHECK_EQ(pthread_mutex_lock(&p->mutex), 0);
	while (p->nr == 0)
		CHECK_EQ(pthread_cond_wait(&p->cond, &p->mutex), 0);
	CHECK_EQ(pthread_mutex_unlock(&p->mutex), 0);
	return NULL;
}

/* A condition may be destroyed as soon as all waiters are woken. */
void lose_cond(uint64_t *random)
{
	struct page *p = get_page();
	pthread_t threads[3];

	CHECK_EQ(pthread_mutex_init(&p->mutex, NULL), 0);
	CHECK_EQ(pthread_cond_init(&p->cond, NULL), 0);
	for (int i = 0; i < 3; i++)
		threads[i] = torture_start(random, await_word, p);
	stress_disturb(random);
	CHECK_EQ(pthread_mutex_lock(&p->mutex), 0);
	p->nr = 1;
	CHECK_EQ(pthread_cond_broadcast(&p->cond), 0);
	CHECK_EQ(pthread_cond_destroy(&p->cond), 0);
	memset(&p->cond, 0xee, sizeof(p->cond));
	CHECK_EQ(pthread_mutex_unlock(&p->mutex), 0);
	threads_join(threads, 3);
	CHECK_EQ(munmap(p, sizeof(*p)), 0);
}

static void *meet_there(void *arg)
{
	struct page *p = arg;
	int rc = pthread_barrier_wait(&p->barrier);

	CHECK(rc == 0 || rc == PTHREAD_BARRIER_SERIAL_THREAD);
	return NULL;
}

void lose_barrier(uint64_t *random)
{
	struct page *p = get_page();
	pthread_t threads[3];

	CHECK_EQ(pthread_barrier_init(&p->barrier, NULL, 4), 0);
	for (int i = 0; i < 3; i++)
		threads[i] = torture_start(random, meet_there, p);
	meet_there(p);
	CHECK_EQ(pthread_barrier_destroy(&p->barrier), 0);
	CHECK_EQ(munmap(p, sizeof(*p)), 0);
	threads_join(threads, 3);
}

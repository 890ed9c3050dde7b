/* SPDX-License-Identifier: MIT */
/* Acts with mutexes, semaphores, conditions, reader-writer and spin locks. */
#include "torture.h"

#include <semaphore.h>

#define NR_ACCOUNTS 8
#define START_MONEY 1000
#define NR_PERMITS 4
#define NR_TICKETS 8

/* --- money: mutexes of all kinds ------------------------------------------ */

static struct {
	pthread_mutex_t mutex;
	long money;
} accounts[NR_ACCOUNTS];

static void open_accounts(void)
{
	const int types[] = { PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE,
			      PTHREAD_MUTEX_ERRORCHECK,
			      PTHREAD_MUTEX_ADAPTIVE_NP };

	for (int i = 0; i < NR_ACCOUNTS; i++) {
		pthread_mutexattr_t attr;

		CHECK_EQ(pthread_mutexattr_init(&attr), 0);
		CHECK_EQ(pthread_mutexattr_settype(&attr, types[i % 4]), 0);
		if (i == 5)
			CHECK_EQ(pthread_mutexattr_setprotocol(
					 &attr, PTHREAD_PRIO_INHERIT),
				 0);
		if (i == 6)
			CHECK_EQ(pthread_mutexattr_setrobust(
					 &attr, PTHREAD_MUTEX_ROBUST),
				 0);
		CHECK_EQ(pthread_mutex_init(&accounts[i].mutex, &attr), 0);
		CHECK_EQ(pthread_mutexattr_destroy(&attr), 0);
		accounts[i].money = START_MONEY;
	}
}

/* Returns false at a time-out. */
static bool lock_account(uint64_t *random, long i)
{
	pthread_mutex_t *mutex = &accounts[i].mutex;
	struct timespec ts;
	int err;

	switch (random_below(random, 4)) {
	case 0:
		err = pthread_mutex_trylock(mutex);
		CHECK(err == 0 || err == EBUSY);
		return err == 0;
	case 1:
		ts = torture_soon(random, CLOCK_REALTIME);
		err = pthread_mutex_timedlock(mutex, &ts);
		CHECK(err == 0 || err == ETIMEDOUT);
		return err == 0;
	default:
		CHECK_EQ(pthread_mutex_lock(mutex), 0);
		return true;
	}
}

void transfer(uint64_t *random)
{
	long from = random_below(random, NR_ACCOUNTS - 1);
	long to = from + 1 + random_below(random, NR_ACCOUNTS - 1 - from);
	long amount = random_below(random, 100) - 50;

	if (!lock_account(random, from))
		return;
	if (lock_account(random, to)) {
		accounts[from].money -= amount;
		stress_disturb(random);
		accounts[to].money += amount;
		CHECK_EQ(pthread_mutex_unlock(&accounts[to].mutex), 0);
	}
	CHECK_EQ(pthread_mutex_unlock(&accounts[from].mutex), 0);
}

/* --- permits and tickets -------------------------------------------------- */

static sem_t permits;
static _Atomic int nr_permits_out;

void take_permit(uint64_t *random)
{
	struct timespec ts = torture_soon(random, CLOCK_MONOTONIC);
	int rc = random_below(random, 2) == 0 ?
			 sem_wait(&permits) :
			 sem_clockwait(&permits, CLOCK_MONOTONIC, &ts);

	if (rc != 0) {
		CHECK(errno == EINTR || errno == ETIMEDOUT);
		return;
	}
	CHECK(++nr_permits_out <= NR_PERMITS);
	stress_disturb(random);
	nr_permits_out--;
	CHECK_EQ(sem_post(&permits), 0);
}

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t is_changed;
	long in_box, taken;
} tickets = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NR_TICKETS,
	      0 };

static void wake_ticket_waiters(uint64_t *random)
{
	if (random_below(random, 3) == 0)
		CHECK_EQ(pthread_cond_broadcast(&tickets.is_changed), 0);
	else
		CHECK_EQ(pthread_cond_signal(&tickets.is_changed), 0);
}

void use_ticket(uint64_t *random)
{
	struct timespec ts = torture_soon(random, CLOCK_REALTIME);
	int err = 0;

	CHECK_EQ(pthread_mutex_lock(&tickets.mutex), 0);
	while (tickets.in_box < 6 && err == 0)
		err = pthread_cond_timedwait(&tickets.is_changed,
					     &tickets.mutex, &ts);
	CHECK(err == 0 || err == ETIMEDOUT);
	if (err == 0) {
		tickets.in_box--;
		tickets.taken++;
	}
	CHECK_EQ(pthread_mutex_unlock(&tickets.mutex), 0);
	if (err != 0)
		return;
	stress_disturb(random);
	CHECK_EQ(pthread_mutex_lock(&tickets.mutex), 0);
	tickets.in_box++;
	tickets.taken--;
	CHECK_EQ(tickets.in_box + tickets.taken, NR_TICKETS);
	wake_ticket_waiters(random);
	CHECK_EQ(pthread_mutex_unlock(&tickets.mutex), 0);
}

/* --- readers, writers, spinners ------------------------------------------- */

static pthread_rwlock_t rwlock;
static pthread_spinlock_t spin;
static long pair[2], spun[2];

static void open_locks(bool prefers_writers)
{
	pthread_rwlockattr_t attr;

	CHECK_EQ(pthread_rwlockattr_init(&attr), 0);
	if (prefers_writers)
		pthread_rwlockattr_setkind_np(
			&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	CHECK_EQ(pthread_rwlock_init(&rwlock, &attr), 0);
	CHECK_EQ(pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE), 0);
}

void read_or_write(uint64_t *random)
{
	struct timespec ts = torture_soon(random, CLOCK_REALTIME);
	bool is_timed = random_below(random, 2) == 0;
	bool writes = random_below(random, 4) == 0;
	int err;

	if (writes)
		err = is_timed ? pthread_rwlock_timedwrlock(&rwlock, &ts) :
				 pthread_rwlock_wrlock(&rwlock);
	else
		err = is_timed ? pthread_rwlock_timedrdlock(&rwlock, &ts) :
				 pthread_rwlock_rdlock(&rwlock);
	CHECK(err == 0 || (is_timed && err == ETIMEDOUT));
	if (err != 0)
		return;
	CHECK_EQ(pair[0], pair[1]);
	pair[0] += writes;
	stress_disturb(random);
	pair[1] += writes;
	CHECK_EQ(pthread_rwlock_unlock(&rwlock), 0);
}

void spin_briefly(uint64_t *random)
{
	CHECK_EQ(pthread_spin_lock(&spin), 0);
	CHECK_EQ(spun[0]++, spun[1]);
	spun[1]++;
	CHECK_EQ(pthread_spin_unlock(&spin), 0);
}

/* --- begin and end -------------------------------------------------------- */

void torture_sync_begin(bool prefers_writers)
{
	open_accounts();
	open_locks(prefers_writers);
	CHECK_EQ(sem_init(&permits, 0, NR_PERMITS), 0);
}

void torture_sync_check(void)
{
	long all = 0;
	int value;

	for (int i = 0; i < NR_ACCOUNTS; i++) {
		all += accounts[i].money;
		CHECK_EQ(pthread_mutex_destroy(&accounts[i].mutex), 0);
	}
	CHECK_EQ(all, NR_ACCOUNTS * START_MONEY);
	CHECK_EQ(sem_getvalue(&permits, &value), 0);
	CHECK_EQ(value, NR_PERMITS);
	CHECK_EQ(tickets.in_box, NR_TICKETS);
	CHECK_EQ(pair[0], pair[1]);
	CHECK_EQ(spun[0], spun[1]);
}

/* SPDX-License-Identifier: MIT */
/*
 * Readers and writers use read-write locks of every kind by every function. A
 * writer is alone, readers see nothing half done, and all threads get through.
 */
#include "stress.h"

#define NR_THREADS 32
#define NR_LOCKS 3
#define NR_WORDS 8

struct guarded {
	pthread_rwlock_t lock;
	long words[NR_WORDS];
	_Atomic int nr_readers;
	_Atomic int nr_writers;
};

static struct guarded all[NR_LOCKS];
static _Atomic long nr_writes;
static long nr_rounds;

static bool lock_to_read(struct guarded *g, uint64_t *random)
{
	struct timespec ts;
	int err;

	switch (random_below(random, 4)) {
	case 0:
		err = pthread_rwlock_tryrdlock(&g->lock);
		CHECK(err == 0 || err == EBUSY);
		return err == 0;
	case 1:
		ts = deadline_ms(CLOCK_MONOTONIC, 0);
		ts = ts_after_ns(ts, random_below(random, 200000));
		err = pthread_rwlock_clockrdlock(&g->lock, CLOCK_MONOTONIC,
						 &ts);
		CHECK(err == 0 || err == ETIMEDOUT);
		return err == 0;
	default:
		CHECK_EQ(pthread_rwlock_rdlock(&g->lock), 0);
		return true;
	}
}

static bool lock_to_write(struct guarded *g, uint64_t *random)
{
	struct timespec ts;
	int err;

	switch (random_below(random, 4)) {
	case 0:
		err = pthread_rwlock_trywrlock(&g->lock);
		CHECK(err == 0 || err == EBUSY);
		return err == 0;
	case 1:
		ts = deadline_ms(CLOCK_REALTIME, 0);
		ts = ts_after_ns(ts, random_below(random, 200000));
		err = pthread_rwlock_timedwrlock(&g->lock, &ts);
		CHECK(err == 0 || err == ETIMEDOUT);
		return err == 0;
	default:
		CHECK_EQ(pthread_rwlock_wrlock(&g->lock), 0);
		return true;
	}
}

static void check_equal(const struct guarded *g)
{
	for (int i = 1; i < NR_WORDS; i++)
		CHECK_EQ(g->words[i], g->words[0]);
}

static void read_words(struct guarded *g, uint64_t *random)
{
	g->nr_readers++;
	CHECK_EQ(g->nr_writers, 0);
	check_equal(g);
	stress_disturb(random);
	check_equal(g);
	CHECK_EQ(g->nr_writers, 0);
	g->nr_readers--;
}

static void write_words(struct guarded *g, uint64_t *random)
{
	CHECK_EQ(g->nr_writers++, 0);
	for (int i = 0; i < NR_WORDS; i++) {
		g->words[i]++;
		if (i == NR_WORDS / 2)
			stress_disturb(random);
		CHECK_EQ(g->nr_readers, 0);
	}
	CHECK_EQ(--g->nr_writers, 0);
	nr_writes++;
}

static void *work(void *arg)
{
	uint64_t random = random_start((intptr_t)arg);

	for (long i = 0; i < nr_rounds; i++) {
		struct guarded *g = &all[random_below(&random, NR_LOCKS)];

		if (random_below(&random, 4) == 0) {
			if (!lock_to_write(g, &random))
				continue;
			write_words(g, &random);
		} else {
			if (!lock_to_read(g, &random))
				continue;
			read_words(g, &random);
		}
		CHECK_EQ(pthread_rwlock_unlock(&g->lock), 0);
		stress_disturb(&random);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static const int kinds[NR_LOCKS] = {
		PTHREAD_RWLOCK_PREFER_READER_NP,
		PTHREAD_RWLOCK_PREFER_WRITER_NP,
		PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP,
	};
	pthread_t threads[NR_THREADS];
	long sum = 0;

	stress_begin(argc, argv);
	nr_rounds = stress_scale(1500);
	for (int i = 0; i < NR_LOCKS; i++) {
		pthread_rwlockattr_t attr;

		CHECK_EQ(pthread_rwlockattr_init(&attr), 0);
		CHECK_EQ(pthread_rwlockattr_setkind_np(&attr, kinds[i]), 0);
		CHECK_EQ(pthread_rwlock_init(&all[i].lock, &attr), 0);
	}
	threads_start_numbered(threads, NR_THREADS, work);
	threads_join(threads, NR_THREADS);
	for (int i = 0; i < NR_LOCKS; i++) {
		sum += all[i].words[0];
		CHECK_EQ(pthread_rwlock_trywrlock(&all[i].lock), 0);
		check_equal(&all[i]);
		CHECK_EQ(pthread_rwlock_unlock(&all[i].lock), 0);
	}
	CHECK_EQ(sum, nr_writes);
	return stress_end();
}

/* SPDX-License-Identifier: MIT */
/*
 * Many threads compete for mutexes of all types by every way of locking. The
 * data under the mutexes is counted without atomics, by owner and in all, and
 * no thread starves.
 */
#include "stress.h"

#define NR_THREADS 32
#define NR_LOCKS 6

struct guarded {
	pthread_mutex_t mutex;
	long count;
	long by_thread[NR_THREADS];
	long owner;
	bool is_recursive;
};

static struct guarded all[NR_LOCKS];
static _Atomic long nr_taken, nr_missed;
static long nr_rounds;

static void init(struct guarded *g, int type)
{
	pthread_mutexattr_t attr;

	CHECK_EQ(pthread_mutexattr_init(&attr), 0);
	CHECK_EQ(pthread_mutexattr_settype(&attr, type), 0);
	CHECK_EQ(pthread_mutex_init(&g->mutex, &attr), 0);
	CHECK_EQ(pthread_mutexattr_destroy(&attr), 0);
	g->is_recursive = type == PTHREAD_MUTEX_RECURSIVE;
	g->owner = -1;
}

/* Returns whether it got the lock. */
static bool lock_somehow(struct guarded *g, uint64_t *random)
{
	struct timespec ts;
	int err;

	switch (random_below(random, 4)) {
	case 0:
		err = pthread_mutex_trylock(&g->mutex);
		CHECK(err == 0 || err == EBUSY);
		return err == 0;
	case 1:
		ts = deadline_ms(CLOCK_REALTIME, 0);
		ts = ts_after_ns(ts, random_below(random, 200000));
		err = pthread_mutex_timedlock(&g->mutex, &ts);
		CHECK(err == 0 || err == ETIMEDOUT);
		return err == 0;
	default:
		CHECK_EQ(pthread_mutex_lock(&g->mutex), 0);
		return true;
	}
}

static void use(struct guarded *g, long me, uint64_t *random)
{
	long seen = g->count;

	CHECK_EQ(g->owner, -1);
	g->owner = me;
	if (g->is_recursive)
		CHECK_EQ(pthread_mutex_lock(&g->mutex), 0);
	stress_disturb(random);
	CHECK_EQ(g->owner, me);
	g->by_thread[me]++;
	g->count = seen + 1;
	g->owner = -1;
	if (g->is_recursive)
		CHECK_EQ(pthread_mutex_unlock(&g->mutex), 0);
}

static void *fight(void *arg)
{
	long me = (intptr_t)arg;
	uint64_t random = random_start(me);

	for (long i = 0; i < nr_rounds; i++) {
		struct guarded *g = &all[random_below(&random, NR_LOCKS)];

		if (!lock_somehow(g, &random)) {
			nr_missed++;
			continue;
		}
		use(g, me, &random);
		CHECK_EQ(pthread_mutex_unlock(&g->mutex), 0);
		nr_taken++;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static const int types[NR_LOCKS] = {
		PTHREAD_MUTEX_NORMAL,	  PTHREAD_MUTEX_NORMAL,
		PTHREAD_MUTEX_RECURSIVE,  PTHREAD_MUTEX_RECURSIVE,
		PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ADAPTIVE_NP,
	};
	pthread_t threads[NR_THREADS];
	long total = 0;

	stress_begin(argc, argv);
	nr_rounds = stress_scale(1500);
	for (int i = 0; i < NR_LOCKS; i++)
		init(&all[i], types[i]);
	threads_start_numbered(threads, NR_THREADS, fight);
	threads_join(threads, NR_THREADS);
	for (int i = 0; i < NR_LOCKS; i++) {
		long sum = 0;

		for (int t = 0; t < NR_THREADS; t++)
			sum += all[i].by_thread[t];
		CHECK_EQ(sum, all[i].count);
		total += sum;
		CHECK_EQ(pthread_mutex_trylock(&all[i].mutex), 0);
		CHECK_EQ(pthread_mutex_unlock(&all[i].mutex), 0);
	}
	CHECK_EQ(total, nr_taken);
	CHECK_EQ(nr_taken + nr_missed, NR_THREADS * nr_rounds);
	return stress_end();
}

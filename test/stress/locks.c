/* SPDX-License-Identifier: MIT */
/*
 * Whether each of the locks in bench/papers/locks excludes all threads but one.
 * Two to eight threads change the protected data by plain loads and stores, and
 * yield in the middle. Then two threads do so as fast as they can. A third
 * argument names one kind.
 */
#include "stress.h"

#include "locks.h"

enum { MAX_THREADS = 8 };

static const struct lock_kind *kind;
static struct lock *lock;
static pthread_barrier_t start;
static long nr_rounds;
static _Atomic long nr_done;

/* Do the threads only lock and unlock? */
static bool is_tight;

/* Protected by the lock. */
static volatile long pair[2];
static volatile int nr_inside;

static void one_section(int me, uint64_t *random)
{
	kind->lock(lock, me);
	CHECK_EQ(nr_inside, 0);
	nr_inside = 1;
	CHECK_EQ(pair[0], pair[1]);
	pair[0] = pair[0] + 1;
	if (!is_tight && random_below(random, 8) == 0)
		stress_disturb(random);
	pair[1] = pair[1] + 1;
	nr_inside = 0;
	kind->unlock(lock, me);
}

static void *work(void *arg)
{
	int me = (int)(intptr_t)arg;
	uint64_t random = random_start(me);
	int64_t start_ns;
	long i;

	pthread_barrier_wait(&start);
	start_ns = now_ns();
	for (i = 0; stress_goes_on(i, nr_rounds, start_ns); i++) {
		one_section(me, &random);
		if (!is_tight && random_below(&random, 8) == 0)
			stress_disturb(&random);
	}
	nr_done += i;
	return NULL;
}

static void contend(int nr_threads)
{
	pthread_t threads[MAX_THREADS];

	if (lock_kind_unfit(kind, nr_threads) != NULL)
		return;
	pair[0] = pair[1] = nr_done = 0;
	lock = lock_new(kind, nr_threads);
	CHECK(lock != NULL);
	pthread_barrier_init(&start, NULL, (unsigned int)nr_threads);
	threads_start_numbered(threads, nr_threads, work);
	threads_join(threads, nr_threads);
	pthread_barrier_destroy(&start);
	lock_free(kind, lock);
	CHECK_EQ(pair[0], nr_done);
	CHECK_EQ(pair[1], pair[0]);
}

int main(int argc, char **argv)
{
	stress_begin(argc, argv);
	if (argc > 3 && lock_kind_named(argv[3]) == NULL) {
		fprintf(stderr, "no lock is called %s\n", argv[3]);
		return 2;
	}
	for (int i = 0; lock_kinds[i] != NULL; i++) {
		kind = lock_kinds[i];
		if (argc > 3 && kind != lock_kind_named(argv[3]))
			continue;
		nr_rounds = stress_scale(50);
		for (int nr = 2; nr <= MAX_THREADS; nr++)
			contend(nr);
		nr_rounds = stress_scale(200000);
		is_tight = true;
		contend(2);
		is_tight = false;
	}
	return stress_end();
}

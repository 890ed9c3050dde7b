/* SPDX-License-Identifier: MIT */
/*
 * The cost to lock and to unlock, each on its own, a lock that no other
 * thread wants.
 *
 *     bench_locks PERCENT KIND [THREADS]
 *
 * THREADS is how many threads the lock is made for (2). A batch locks many
 * locks and then unlocks them all. The clock is read on each side of both, and
 * what a reading takes is subtracted. The median of all batches is printed: a
 * batch that was interrupted does not count. The process has a second thread,
 * because libc may leave out atomic instructions without one.
 */
#include <errno.h>
#include <semaphore.h>

#include "../../micro/bench.h"
#include "locks.h"

enum { NR_LOCKS = 64, MAX_BATCHES = 100000 };

static struct lock *locks[NR_LOCKS];
static sem_t never;

static struct {
	double lock_ns[MAX_BATCHES], unlock_ns[MAX_BATCHES];
	double clock_ns[MAX_BATCHES];
	long nr;
} batches;

static void *parked(void *arg)
{
	sem_wait(&never);
	return arg;
}

static void make_locks(const struct lock_kind *kind, int nr_threads)
{
	for (int i = 0; i < NR_LOCKS; i++) {
		locks[i] = lock_new(kind, nr_threads);
		if (locks[i] == NULL)
			bench_impossible(kind->name, errno);
	}
}

static void free_locks(const struct lock_kind *kind)
{
	for (int i = 0; i < NR_LOCKS; i++)
		lock_free(kind, locks[i]);
}

static void one_batch(const struct lock_kind *kind)
{
	uint64_t ns[4];

	ns[0] = bench_now_ns();
	ns[1] = bench_now_ns();
	for (int i = 0; i < NR_LOCKS; i++)
		kind->lock(locks[i], 0);
	ns[2] = bench_now_ns();
	for (int i = 0; i < NR_LOCKS; i++)
		kind->unlock(locks[i], 0);
	ns[3] = bench_now_ns();
	batches.clock_ns[batches.nr] = (double)(ns[1] - ns[0]);
	batches.lock_ns[batches.nr] = (double)(ns[2] - ns[1]);
	batches.unlock_ns[batches.nr] = (double)(ns[3] - ns[2]);
	batches.nr++;
}

static void print_median(const char *name, double *samples, double clock_ns)
{
	double ns = bench_percentile(samples, batches.nr, 50) - clock_ns;

	bench_print(name, ns > 0 ? ns / NR_LOCKS : 0);
}

int main(int argc, char **argv)
{
	const struct lock_kind *kind;
	int nr_threads = argc > 3 ? atoi(argv[3]) : 2;
	uint64_t end_ns;
	const char *why;
	pthread_t thread;
	double clock_ns;

	kind = argc > 2 ? lock_kind_named(argv[2]) : NULL;
	if (kind == NULL || nr_threads < 1) {
		fprintf(stderr, "usage: %s PERCENT KIND [THREADS]\n", argv[0]);
		return 2;
	}
	why = lock_kind_unfit(kind, nr_threads);
	if (why != NULL) {
		printf("impossible: %s: %s\n", kind->name, why);
		return 77;
	}
	sem_init(&never, 0, 0);
	bench_create(&thread, parked, NULL);
	make_locks(kind, nr_threads);
	one_batch(kind); /* warms up */
	batches.nr = 0;
	end_ns = bench_now_ns() +
		 (uint64_t)bench_scale(argc, argv, 200) * 1000000;
	do
		one_batch(kind);
	while (bench_now_ns() < end_ns && batches.nr < MAX_BATCHES);
	clock_ns = bench_percentile(batches.clock_ns, batches.nr, 50);
	print_median("lock", batches.lock_ns, clock_ns);
	print_median("unlock", batches.unlock_ns, clock_ns);
	printf("lock_fences %d\nunlock_fences %d\n", kind->lock_fences,
	       kind->unlock_fences);
	printf("lock_store_fences %d\n", kind->lock_store_fences);
	free_locks(kind);
	return 0;
}

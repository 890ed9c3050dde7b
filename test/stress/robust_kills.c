/* SPDX-License-Identifier: MIT */
/*
 * Processes are killed while their threads lock robust mutexes, two at a time,
 * end with them, or unmap locked ones. The next thread must be able to lock
 * each mutex that a killed process held.
 */
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "robust.h"
#include "stress.h"

enum { NR_MUTEXES = 4, NR_THREADS = 6 };

static pthread_mutex_t *mutexes;

static void lock(pthread_mutex_t *m)
{
	int rc = pthread_mutex_lock(m);

	if (rc == EOWNERDEAD)
		rc = pthread_mutex_consistent(m);
	CHECK_EQ(rc, 0);
}

/*
 * If a thread unmaps a locked mutex, the kernel stops at it in the thread's
 * list.
 */
static void *unmap_locked(void *arg)
{
	pthread_mutex_t *m = map_robust(1, PTHREAD_PRIO_NONE);

	lock(m);
	CHECK_EQ(munmap(m, ROBUST_BYTES), 0);
	return arg;
}

/* Ends while it holds a mutex. */
static void *use(void *arg)
{
	uint64_t random = stress_seed ^ (uint64_t)(uintptr_t)arg;

	while (random_below(&random, 50) != 0) {
		long i = random_below(&random, NR_MUTEXES);
		long j = random_below(&random, NR_MUTEXES);

		lock(&mutexes[i]);
		if (random_below(&random, 20) == 0)
			thread_join(thread_start(unmap_locked, NULL));
		if (j > i) {
			lock(&mutexes[j]);
			CHECK_EQ(pthread_mutex_unlock(&mutexes[j]), 0);
		}
		CHECK_EQ(pthread_mutex_unlock(&mutexes[i]), 0);
	}
	lock(&mutexes[random_below(&random, NR_MUTEXES)]);
	return arg;
}

static void use_for_ever(uintptr_t nr)
{
	for (;;) {
		pthread_t threads[NR_THREADS];

		for (int i = 0; i < NR_THREADS; i++)
			threads[i] = thread_start(use, (void *)++nr);
		threads_join(threads, NR_THREADS);
	}
}

int main(int argc, char **argv)
{
	uint64_t random;
	long nr_kills;

	stress_begin(argc, argv);
	random = stress_seed;
	nr_kills = stress_scale(100);
	mutexes = map_robust(NR_MUTEXES, PTHREAD_PRIO_NONE);
	for (long k = 0; k < nr_kills; k++) {
		uintptr_t nr = (uintptr_t)random_next(&random);
		pid_t child = fork();
		int status;

		CHECK(child >= 0);
		if (child == 0)
			use_for_ever(nr);
		sleep_ms(1 + random_below(&random, 20));
		CHECK_EQ(kill(child, SIGKILL), 0);
		CHECK_EQ(waitpid(child, &status, 0), child);
		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		for (int i = 0; i < NR_MUTEXES; i++) {
			int rc = pthread_mutex_trylock(&mutexes[i]);

			CHECK(rc == 0 || rc == EOWNERDEAD);
			if (rc == EOWNERDEAD)
				rc = pthread_mutex_consistent(&mutexes[i]);
			CHECK_EQ(rc, 0);
			CHECK_EQ(pthread_mutex_unlock(&mutexes[i]), 0);
		}
	}
	return stress_end();
}

/* SPDX-License-Identifier: MIT */
/*
 * Threads that fork at the same time while others allocate, lock, are created
 * and end; each child uses threads, and some fork again.
 */
#include <sys/wait.h>

#include "child.h"
#include "stress.h"

#define NR_FORKERS 4
#define NR_BUSY 16

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int is_over;
static __thread long mine = 7;
static long nr_rounds;

static void *nothing(void *arg)
{
	return arg;
}

static void *keep_busy(void *arg)
{
	uint64_t random = random_start((intptr_t)arg);

	while (!is_over) {
		free(malloc((size_t)random_below(&random, 5000)));
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
		if (random_below(&random, 8) == 0)
			thread_join(thread_start(nothing, NULL));
		stress_disturb(&random);
	}
	return NULL;
}

static void *add(void *arg)
{
	mine += (intptr_t)arg;
	free(malloc(1000));
	usleep(100);
	return (void *)mine;
}

static void use_threads(void)
{
	pthread_t threads[8];
	long sum = 0;

	threads_start_numbered(threads, 8, add);
	for (int i = 0; i < 8; i++)
		sum += (intptr_t)thread_join(threads[i]);
	CHECK_EQ(sum, 8 * 7 + 28);
}

static void use_threads_twice(void)
{
	use_threads();
	CHECK_EQ(child_exit_status(use_threads), 0);
	use_threads();
}

static void exit_at_once(void)
{
	_exit(3);
}

static void run_program(void)
{
	execl("/bin/true", "true", (char *)NULL);
	_exit(1);
}

static void *fork_again_and_again(void *arg)
{
	uint64_t random = random_start(100 + (intptr_t)arg);

	for (long i = 0; i < nr_rounds; i++) {
		switch (random_below(&random, 4)) {
		case 0:
			CHECK_EQ(child_exit_status(use_threads), 0);
			break;
		case 1:
			CHECK_EQ(child_exit_status(use_threads_twice), 0);
			break;
		case 2:
			CHECK_EQ(child_exit_status(run_program), 0);
			break;
		default:
			CHECK_EQ(child_exit_status(exit_at_once), 3);
		}
		stress_disturb(&random);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t forkers[NR_FORKERS], busy[NR_BUSY];

	stress_begin(argc, argv);
	nr_rounds = stress_scale(25);
	threads_start_numbered(busy, NR_BUSY, keep_busy);
	threads_start_numbered(forkers, NR_FORKERS, fork_again_and_again);
	threads_join(forkers, NR_FORKERS);
	is_over = 1;
	threads_join(busy, NR_BUSY);
	return stress_end();
}

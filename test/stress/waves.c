/* SPDX-License-Identifier: MIT */
/*
 * Waves of threads with pauses between them, some long enough for weft to give
 * the last wave's memory back. Each thread finds new thread-local storage, and
 * its stack and malloc whole, whether its memory is fresh, used or trimmed.
 * Forks happen while memory is given back.
 */
#include <sys/wait.h>

#include "stress.h"

#define MOST_THREADS 1500
#define LONGEST_PAUSE_MS 2600
#define NR_BLOCKS 16

static pthread_barrier_t all_in;
static __thread long own[700] = { 1, 2, 3 }; /* larger than a page */
static __thread long *own_zero[4];

static void check_own(long me)
{
	CHECK(own[0] == 1 && own[1] == 2 && own[2] == 3);
	for (int i = 3; i < 700; i++)
		CHECK_EQ(own[i], 0);
	CHECK(own_zero[3] == NULL);
	for (int i = 0; i < 700; i++)
		own[i] = me;
	own_zero[3] = own;
}

__attribute__((noinline)) static void use_stack(long depth)
{
	volatile char frame[1000];

	frame[0] = (char)depth;
	frame[999] = (char)depth;
	if (depth > 0)
		use_stack(depth - 1);
	CHECK_EQ(frame[0], (char)depth);
	CHECK_EQ(frame[999], (char)depth);
}

static void *work(void *arg)
{
	long me = (long)(intptr_t)arg;
	uint64_t random = random_start(me);
	char *blocks[NR_BLOCKS];
	size_t sizes[NR_BLOCKS];

	check_own(me);
	use_stack(random_below(&random, 40));
	for (int i = 0; i < NR_BLOCKS; i++) {
		sizes[i] = (size_t)random_below(&random, 900) + 1;
		blocks[i] = malloc(sizes[i]);
		CHECK(blocks[i] != NULL);
		memset(blocks[i], (char)me, sizes[i]);
	}
	pthread_barrier_wait(&all_in);
	for (int i = 0; i < NR_BLOCKS; i++) {
		CHECK_EQ(blocks[i][0], (char)me);
		CHECK_EQ(blocks[i][sizes[i] - 1], (char)me);
		free(blocks[i]);
	}
	CHECK(own[699] == me && own_zero[3] == own);
	return arg;
}

static void wave(uint64_t *random, long nr)
{
	static pthread_t threads[MOST_THREADS];
	pthread_attr_t attr;

	CHECK_EQ(pthread_attr_init(&attr), 0);
	CHECK_EQ(pthread_attr_setstacksize(
			 &attr, (64UL << 10) << random_below(random, 3)),
		 0);
	CHECK_EQ(pthread_barrier_init(&all_in, NULL, (unsigned int)nr), 0);
	for (intptr_t i = 0; i < nr; i++)
		CHECK_EQ(pthread_create(&threads[i], &attr, work, (void *)i),
			 0);
	threads_join(threads, (int)nr);
	CHECK_EQ(pthread_barrier_destroy(&all_in), 0);
}

static void in_child(uint64_t *random)
{
	pid_t child = fork();
	int status;

	CHECK(child >= 0);
	if (child == 0) {
		wave(random, 1 + random_below(random, 200));
		wave(random, 1 + random_below(random, 200));
		_exit(0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
}

int main(int argc, char **argv)
{
	uint64_t random;
	long nr_rounds;

	stress_begin(argc, argv);
	random = random_start(0);
	nr_rounds = stress_scale(12);
	for (long i = 0; i < nr_rounds; i++) {
		wave(&random, 1 + random_below(&random, MOST_THREADS));
		sleep_ms(random_below(&random, LONGEST_PAUSE_MS));
		if (random_below(&random, 2) == 0)
			in_child(&random);
	}
	return stress_end();
}

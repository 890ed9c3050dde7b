/* SPDX-License-Identifier: MIT */
/*
 * usage: bench_witness PERCENT KIND
 *
 * The operations of the table in one program that asks little of a C library,
 * so that dietlibc can compile it as well. dietlibc's threads are of the family
 * of LinuxThreads and were written by others: they are a witness for the model
 * in bench/papers/linuxthreads. KIND:
 *
 *     self         pthread_self
 *     mutex, sem   an uncontended pair of calls
 *     turn_sem     a switch between two threads, by two semaphores
 *     turn_cond    the same by a condition variable
 *     create_join  a thread that ends at once
 */
#include <semaphore.h>
#include <unistd.h>

#include "../../micro/bench.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t ping, pong;
static long nr_turns;
static int turn;

static uint64_t self(long *nr_ops)
{
	uint64_t start_ns = bench_now_ns();
	volatile pthread_t found;

	for (long i = 0; i < *nr_ops; i++)
		found = pthread_self();
	(void)found;
	return bench_now_ns() - start_ns;
}

static uint64_t lock(long *nr_ops)
{
	uint64_t start_ns = bench_now_ns();

	for (long i = 0; i < *nr_ops; i++) {
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
	}
	return bench_now_ns() - start_ns;
}

static uint64_t post(long *nr_ops)
{
	uint64_t start_ns = bench_now_ns();

	for (long i = 0; i < *nr_ops; i++) {
		sem_post(&ping);
		sem_wait(&ping);
	}
	return bench_now_ns() - start_ns;
}

/* Each of the two threads waits for its turn and passes it to the other one. */
static void take_turns(int me, long nr)
{
	for (long i = 0; i < nr; i++) {
		pthread_mutex_lock(&mutex);
		while (turn != me)
			pthread_cond_wait(&cond, &mutex);
		turn = !me;
		pthread_cond_signal(&cond);
		pthread_mutex_unlock(&mutex);
	}
}

static void *take_second_turns(void *arg)
{
	take_turns(1, nr_turns + 1);
	return arg;
}

static void *answer_posts(void *arg)
{
	for (long i = 0; i <= nr_turns; i++) {
		sem_wait(&ping);
		sem_post(&pong);
	}
	return arg;
}

static void *end(void *arg)
{
	return arg;
}

/* The clock begins after the other thread's first turn. */
static uint64_t turns_by_cond(long *nr_ops)
{
	uint64_t start_ns, ns;
	pthread_t other;

	nr_turns = (*nr_ops + 1) / 2;
	bench_create(&other, take_second_turns, NULL);
	take_turns(0, 1);
	start_ns = bench_now_ns();
	take_turns(0, nr_turns);
	ns = bench_now_ns() - start_ns;
	bench_join(other);
	*nr_ops = 2 * nr_turns;
	return ns;
}

static void post_and_wait(long nr)
{
	for (long i = 0; i < nr; i++) {
		sem_post(&ping);
		sem_wait(&pong);
	}
}

static uint64_t turns_by_sem(long *nr_ops)
{
	uint64_t start_ns, ns;
	pthread_t other;

	nr_turns = (*nr_ops + 1) / 2;
	bench_create(&other, answer_posts, NULL);
	post_and_wait(1);
	start_ns = bench_now_ns();
	post_and_wait(nr_turns);
	ns = bench_now_ns() - start_ns;
	bench_join(other);
	*nr_ops = 2 * nr_turns;
	return ns;
}

static uint64_t create_and_join(long *nr_ops)
{
	uint64_t start_ns = bench_now_ns();
	pthread_t thread;

	for (long i = 0; i < *nr_ops; i++) {
		bench_create(&thread, end, NULL);
		bench_join(thread);
	}
	return bench_now_ns() - start_ns;
}

static const struct kind {
	const char *name;
	uint64_t (*run)(long *nr_ops);
} kinds[] = {
	{ "self", self },
	{ "mutex", lock },
	{ "sem", post },
	{ "turn_sem", turns_by_sem },
	{ "turn_cond", turns_by_cond },
	{ "create_join", create_and_join },
};

int main(int argc, char **argv)
{
	pthread_t first;

	sem_init(&ping, 0, 0);
	sem_init(&pong, 0, 0);
	/* Some libraries start a manager with the first thread. */
	bench_create(&first, end, NULL);
	bench_join(first);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (argc != 3 || strcmp(argv[2], kinds[i].name) != 0)
			continue;
		bench_measure(argc, argv, kinds[i].name, kinds[i].run);
		/*
		 * dietlibc's exit() crashes after the program has had threads.
		 */
		_exit(0);
	}
	fprintf(stderr, "usage: %s PERCENT KIND\n", argv[0]);
	return 2;
}

/* SPDX-License-Identifier: MIT */
/*
 * Threads that are made, detached, joined in any way and end in any way, from
 * several threads at once. Each leaves a trace in counters, by its result or
 * by its destructors, and all traces add up.
 */
#include "stress.h"

#define NR_MAKERS 8
#define NR_BATCH 20

static pthread_key_t key;
static _Atomic long nr_made, nr_run, nr_destroyed, nr_joined, result_sum;
static _Atomic long expected_sum;
static _Atomic long nr_detached, nr_detached_left;
static __thread long mine = 77;
static long nr_rounds;

struct order {
	long result;
	bool is_detached;
	bool ends_by_exit;
	long pause;
};

static void destroy(void *value)
{
	nr_destroyed++;
	if (((struct order *)value)->is_detached) {
		free(value);
		nr_detached_left--;
	}
}

static void end_by_exit(int depth, void *result)
{
	void (*volatile leave)(void *) = pthread_exit;

	if (depth > 0)
		end_by_exit(depth - 1, result);
	else
		leave(result);
}

static void *run(void *arg)
{
	struct order *order = arg;

	CHECK_EQ(mine, 77);
	CHECK_EQ(errno, 0);
	CHECK(pthread_getspecific(key) == NULL);
	mine = order->result;
	CHECK_EQ(pthread_setspecific(key, order), 0);
	nr_run++;
	for (long i = 0; i < order->pause; i++)
		sched_yield();
	free(malloc((size_t)order->result % 5000 + 1));
	errno = 5;
	CHECK_EQ(mine, order->result);
	if (order->ends_by_exit)
		end_by_exit(3, (void *)order->result);
	return (void *)order->result;
}

static void fill(struct order *order, uint64_t *random, bool is_detached)
{
	order->result = 1 + random_below(random, 1000000);
	order->is_detached = is_detached;
	order->ends_by_exit = random_below(random, 2) == 0;
	order->pause = random_below(random, 3);
}

static void start_detached(uint64_t *random)
{
	struct order *order = malloc(sizeof(*order));
	pthread_attr_t attr;
	pthread_t t;

	CHECK(order != NULL);
	fill(order, random, true);
	nr_made++;
	nr_detached++;
	nr_detached_left++;
	if (random_below(random, 2) == 0) {
		t = thread_start(run, order);
		stress_disturb(random);
		CHECK_EQ(pthread_detach(t), 0);
		return;
	}
	CHECK_EQ(pthread_attr_init(&attr), 0);
	CHECK_EQ(pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED),
		 0);
	CHECK_EQ(pthread_create(&t, &attr, run, order), 0);
	CHECK_EQ(pthread_attr_destroy(&attr), 0);
}

static void *join_somehow(pthread_t t, uint64_t *random)
{
	void *result;

	switch (random_below(random, 4)) {
	case 0:
		while (pthread_tryjoin_np(t, &result) != 0)
			sched_yield();
		return result;
	case 1:
		for (;;) {
			struct timespec ts = deadline_ms(CLOCK_REALTIME, 0);
			int err;

			ts = ts_after_ns(ts, random_below(random, 50000));
			err = pthread_timedjoin_np(t, &result, &ts);
			if (err == 0)
				return result;
			CHECK_EQ(err, ETIMEDOUT);
		}
	default:
		return thread_join(t);
	}
}

static void *make(void *arg)
{
	uint64_t random = random_start((intptr_t)arg);

	for (long round = 0; round < nr_rounds; round++) {
		struct order orders[NR_BATCH];
		pthread_t threads[NR_BATCH];
		long nr = 1 + random_below(&random, NR_BATCH);

		for (long i = 0; i < nr; i++) {
			fill(&orders[i], &random, false);
			expected_sum += orders[i].result;
			nr_made++;
			threads[i] = thread_start(run, &orders[i]);
			if (random_below(&random, 4) == 0)
				start_detached(&random);
			stress_disturb(&random);
		}
		for (long i = 0; i < nr; i++) {
			result_sum +=
				(intptr_t)join_somehow(threads[i], &random);
			nr_joined++;
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t makers[NR_MAKERS];

	stress_begin(argc, argv);
	nr_rounds = stress_scale(150);
	CHECK_EQ(pthread_key_create(&key, destroy), 0);
	threads_start_numbered(makers, NR_MAKERS, make);
	threads_join(makers, NR_MAKERS);
	while (nr_detached_left > 0)
		sleep_ms(1);
	CHECK_EQ(result_sum, expected_sum);
	CHECK_EQ(nr_run, nr_made);
	CHECK_EQ(nr_destroyed, nr_made);
	CHECK_EQ(nr_joined + nr_detached, nr_made);
	return stress_end();
}

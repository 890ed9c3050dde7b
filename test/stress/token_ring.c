/* SPDX-License-Identifier: MIT */
/*
 * Rings of threads that pass tokens on by semaphores, condition variables,
 * futexes and yields, beside threads that only compute. They exercise parking,
 * waking and stealing. A token sums the numbers of the threads that it passed;
 * its way is known, and so is the sum.
 */
#include <limits.h>
#include <linux/futex.h>
#include <semaphore.h>
#include <sys/syscall.h>

#include "stress.h"

#define NR_RINGS 8
#define NR_PLACES 25
#define NR_CPU_BOUND 3

struct place {
	sem_t full;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	uint32_t word;
	_Atomic long token;
};

static struct place places[NR_RINGS][NR_PLACES];
static long nr_rounds;
static _Atomic int is_over;

enum { BY_SEM, BY_COND, BY_FUTEX, BY_YIELD, NR_WAYS };

static long take(struct place *p, int way)
{
	long token = -1;

	switch (way) {
	case BY_SEM:
		while (sem_wait(&p->full) != 0)
			CHECK_EQ(errno, EINTR);
		break;
	case BY_COND:
		CHECK_EQ(pthread_mutex_lock(&p->mutex), 0);
		while (p->token == 0)
			CHECK_EQ(pthread_cond_wait(&p->changed, &p->mutex), 0);
		token = p->token;
		p->token = 0;
		CHECK_EQ(pthread_mutex_unlock(&p->mutex), 0);
		return token;
	case BY_FUTEX:
		while (__atomic_exchange_n(&p->word, 0, __ATOMIC_SEQ_CST) == 0)
			syscall(SYS_futex, &p->word, FUTEX_WAIT_PRIVATE, 0,
				NULL, NULL, 0);
		break;
	default:
		for (int i = 1; p->token == 0; i++) {
			sched_yield();
			if (i % 8 == 0)
				usleep(50);
		}
	}
	token = p->token;
	p->token = 0;
	return token;
}

static void put(struct place *p, int way, long token)
{
	switch (way) {
	case BY_SEM:
		p->token = token;
		CHECK_EQ(sem_post(&p->full), 0);
		break;
	case BY_COND:
		CHECK_EQ(pthread_mutex_lock(&p->mutex), 0);
		p->token = token;
		CHECK_EQ(pthread_cond_signal(&p->changed), 0);
		CHECK_EQ(pthread_mutex_unlock(&p->mutex), 0);
		break;
	case BY_FUTEX:
		p->token = token;
		__atomic_store_n(&p->word, 1, __ATOMIC_SEQ_CST);
		syscall(SYS_futex, &p->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL,
			0);
		break;
	default:
		p->token = token;
	}
}

/* Each ring has one token, so the next place is empty when the token comes. */
static void *pass_on(void *arg)
{
	long me = (intptr_t)arg;
	int way = (int)(me / NR_PLACES % NR_WAYS);
	struct place *ring = places[me / NR_PLACES];
	long here = me % NR_PLACES;
	uint64_t random = random_start(me);

	/* The first thread has the token at the beginning and at the end. */
	for (long i = here == 0 ? 0 : 1; i <= nr_rounds; i++) {
		long token = take(&ring[here], way);

		CHECK(token > 0);
		if (here == 0 && i == nr_rounds)
			return (void *)token;
		if (random_below(&random, 10) == 0)
			stress_disturb(&random);
		put(&ring[(here + 1) % NR_PLACES], way, token + here);
	}
	return NULL;
}

static void *compute(void *arg)
{
	volatile double x = 1;

	while (!is_over) {
		for (int i = 0; i < 500000; i++)
			x = x * 1.0000001 + 1;
		sleep_ms(1);
	}
	return arg;
}

int main(int argc, char **argv)
{
	static pthread_t threads[NR_RINGS * NR_PLACES];
	long per_round = NR_PLACES * (NR_PLACES - 1) / 2;
	pthread_t computing[NR_CPU_BOUND];

	stress_begin(argc, argv);
	nr_rounds = stress_scale(150);
	for (int i = 0; i < NR_RINGS * NR_PLACES; i++) {
		struct place *p = &places[i / NR_PLACES][i % NR_PLACES];

		CHECK_EQ(sem_init(&p->full, 0, 0), 0);
		CHECK_EQ(pthread_mutex_init(&p->mutex, NULL), 0);
		CHECK_EQ(pthread_cond_init(&p->changed, NULL), 0);
	}
	threads_start(computing, NR_CPU_BOUND, compute, NULL);
	threads_start_numbered(threads, NR_RINGS * NR_PLACES, pass_on);
	for (int ring = 0; ring < NR_RINGS; ring++)
		put(&places[ring][0], ring % NR_WAYS, 1);
	for (int i = 0; i < NR_RINGS * NR_PLACES; i++) {
		long token = (intptr_t)thread_join(threads[i]);

		CHECK_EQ(token, i % NR_PLACES ? 0 : 1 + nr_rounds * per_round);
	}
	is_over = 1;
	threads_join(computing, NR_CPU_BOUND);
	return stress_end();
}

/* SPDX-License-Identifier: MIT */
/*
 * Many threads use a few futex words through syscall(): waits with and without
 * time-outs, wakes of some and of all, bit sets, requeues, private and shared.
 * Tickets check that no waiter sleeps on after its wake.
 */
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>

#include "stress.h"

#define NR_WORDS 3
#define NR_TAKERS 24
#define NR_GIVERS 3

/*
 * The number of tickets, and the futex word on which takers wait while it is 0.
 */
static uint32_t tickets[NR_WORDS];
static _Atomic long nr_given, nr_taken;
static _Atomic int is_over;
static long nr_rounds;

static long futex(uint32_t *word, int op, uint32_t value,
		  const struct timespec *ts, uint32_t *other, uint32_t value3)
{
	return syscall(SYS_futex, word, op, value, ts, other, value3);
}

static int flag_of(int word)
{
	return word == 0 ? 0 : FUTEX_PRIVATE_FLAG;
}

static bool take(uint32_t *word)
{
	uint32_t seen = __atomic_load_n(word, __ATOMIC_SEQ_CST);

	while (seen > 0)
		if (__atomic_compare_exchange_n(word, &seen, seen - 1, false,
						__ATOMIC_SEQ_CST,
						__ATOMIC_SEQ_CST))
			return true;
	return false;
}

static void wait_for_ticket(int nr, uint64_t *random)
{
	struct timespec ts;
	int flag = flag_of(nr);
	long result;

	switch (random_below(random, 3)) {
	case 0:
		ts = (struct timespec){ 0, random_below(random, 200000) };
		result =
			futex(&tickets[nr], FUTEX_WAIT | flag, 0, &ts, NULL, 0);
		break;
	case 1:
		ts = deadline_ms(CLOCK_MONOTONIC, 0);
		ts = ts_after_ns(ts, random_below(random, 200000));
		result = futex(&tickets[nr], FUTEX_WAIT_BITSET | flag, 0, &ts,
			       NULL, 1u << random_below(random, 32));
		break;
	default:
		result = futex(&tickets[nr], FUTEX_WAIT | flag, 0, NULL, NULL,
			       0);
	}
	if (result != 0)
		CHECK(errno == EAGAIN || errno == ETIMEDOUT || errno == EINTR);
}

static void *take_tickets(void *arg)
{
	uint64_t random = random_start((intptr_t)arg);
	int nr = (int)((intptr_t)arg % NR_WORDS);

	while (!is_over) {
		if (take(&tickets[nr]))
			nr_taken++;
		else
			wait_for_ticket(nr, &random);
	}
	return NULL;
}

/* Requeues within the private words, and wakes the moved threads there. */
static void wake_somehow(int nr, uint64_t *random)
{
	int flag = flag_of(nr);
	int other = nr == 1 ? 2 : 1;
	long moved;

	switch (random_below(random, 4)) {
	case 0:
		futex(&tickets[nr], FUTEX_WAKE | flag, INT_MAX, NULL, NULL, 0);
		break;
	case 1:
		futex(&tickets[nr], FUTEX_WAKE_BITSET | flag, INT_MAX, NULL,
		      NULL, FUTEX_BITSET_MATCH_ANY);
		break;
	case 2:
		if (nr == 0)
			break;
		moved = futex(&tickets[nr], FUTEX_REQUEUE | flag, 1,
			      (const struct timespec *)4L, &tickets[other], 0);
		CHECK(moved >= 0);
		futex(&tickets[other], FUTEX_WAKE | flag, INT_MAX, NULL, NULL,
		      0);
		break;
	default:
		break;
	}
	futex(&tickets[nr], FUTEX_WAKE | flag, 1, NULL, NULL, 0);
}

static void *give_tickets(void *arg)
{
	uint64_t random = random_start(100 + (intptr_t)arg);

	for (long i = 0; i < nr_rounds; i++) {
		int nr = (int)random_below(&random, NR_WORDS);

		__atomic_fetch_add(&tickets[nr], 1, __ATOMIC_SEQ_CST);
		nr_given++;
		wake_somehow(nr, &random);
		stress_disturb(&random);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t takers[NR_TAKERS], givers[NR_GIVERS];

	stress_begin(argc, argv);
	nr_rounds = stress_scale(5000);
	threads_start_numbered(takers, NR_TAKERS, take_tickets);
	threads_start_numbered(givers, NR_GIVERS, give_tickets);
	threads_join(givers, NR_GIVERS);
	while (nr_taken < nr_given)
		sleep_ms(1);
	is_over = 1;
	for (int nr = 0; nr < NR_WORDS; nr++) {
		__atomic_fetch_add(&tickets[nr], NR_TAKERS, __ATOMIC_SEQ_CST);
		futex(&tickets[nr], FUTEX_WAKE | flag_of(nr), INT_MAX, NULL,
		      NULL, 0);
	}
	threads_join(takers, NR_TAKERS);
	CHECK(nr_taken >= nr_given);
	return stress_end();
}

/* SPDX-License-Identifier: MIT */
/*
 * Pairs of threads hand a turn to each other by wait words. The words are from
 * weft_word_new, at any address, or bytes that share a cell. There are waits
 * with and without a doorbell, for one or several words, and with deadlines,
 * beside threads that start and end. No turn is lost or seen twice. Pages also
 * vanish while a thread waits there.
 */
#include <sys/mman.h>

#include <weft/weft.h>

#include "stress.h"

#define NR_PAIRS 24
#define NR_VANISHERS 2
#define PAGE 4096

static struct pair {
	/* each side's count of turns that it has handed on */
	volatile void *words[2];
	size_t bytes;
	bool is_rung;
} pairs[NR_PAIRS];

static uint8_t bytes[2 * NR_PAIRS];
static uint64_t cells[2 * NR_PAIRS];
static uint64_t never;
static long nr_turns;
static _Atomic long nr_handed;

static void make_pair(struct pair *p, int i)
{
	p->is_rung = i % 2 == 0;
	for (int side = 0; side < 2; side++) {
		switch (i % 3) {
		case 0:
			p->bytes = 4;
			p->words[side] = weft_word_new(0);
			break;
		case 1:
			p->bytes = 8;
			p->words[side] = &cells[2 * i + side];
			break;
		default:
			p->bytes = 1;
			p->words[side] = &bytes[2 * i + side];
		}
		CHECK(p->words[side] != NULL);
	}
}

static void hand_on(const struct pair *p, int side, long turn)
{
	switch (p->bytes) {
	case 1:
		__atomic_store_n((uint8_t *)p->words[side], (uint8_t)turn,
				 __ATOMIC_RELEASE);
		break;
	case 4:
		__atomic_store_n((uint32_t *)p->words[side], (uint32_t)turn,
				 __ATOMIC_RELEASE);
		break;
	default:
		__atomic_store_n((uint64_t *)p->words[side], (uint64_t)turn,
				 __ATOMIC_RELEASE);
	}
	if (p->is_rung)
		weft_word_ring(p->words[side]);
}

static int wait_somehow(const struct weft_word *w, uint64_t *random)
{
	struct timespec soon = ts_after_ns(deadline_ms(CLOCK_MONOTONIC, 0),
					   random_below(random, 200000));
	const struct weft_word several[] = {
		{ &never, 8 | WEFT_WORD_RUNG, UINT64_MAX, 0 },
		*w,
		{ (char *)&never + 3, 1 | WEFT_WORD_RUNG, 0xff, 0 },
	};
	struct weft_word polled = *w;
	size_t which = 9;
	int err;

	polled.size |= WEFT_WORD_POLLED;
	switch (random_below(random, 6)) {
	case 0:
		return weft_word_wait_until(w->addr, w->size, w->mask, w->old,
					    &soon);
	case 1:
		err = weft_word_wait_any_until(
			several, 3, &which,
			random_below(random, 2) == 0 ? &soon : NULL);
		CHECK_EQ(which, err == 0 ? 1 : 9);
		return err;
	case 2:
		return weft_word_wait_any_until(&polled, 1, NULL, NULL);
	default:
		return weft_word_wait_until(w->addr, w->size, w->mask, w->old,
					    NULL);
	}
}

static void *play(void *arg)
{
	long me = (intptr_t)arg;
	const struct pair *p = &pairs[me / 2];
	uint64_t random = random_start(me);
	uint64_t mask = UINT64_MAX >> (64 - 8 * p->bytes);
	int side = (int)(me % 2);

	for (long turn = 1; turn <= nr_turns; turn++) {
		struct weft_word w = {
			.addr = p->words[1 - side],
			.size = p->bytes | (p->is_rung ? WEFT_WORD_RUNG : 0),
			.mask = mask,
			.old = (uint64_t)(turn - 1) & mask,
		};
		int err;

		if (side == 0)
			hand_on(p, side, turn);
		while ((err = wait_somehow(&w, &random)) != 0)
			CHECK(err == ETIMEDOUT || err == EAGAIN);
		if (side == 1)
			hand_on(p, side, turn);
		nr_handed++;
		stress_disturb(&random);
	}
	return NULL;
}

static void *await_the_end(void *page)
{
	CHECK_EQ(weft_word_wait_until((char *)page + 8, 8, UINT64_MAX, 0, NULL),
		 EFAULT);
	return NULL;
}

static void *vanish(void *arg)
{
	uint64_t random = random_start(1000 + (intptr_t)arg);

	for (long i = 0; i < nr_turns / 20; i++) {
		void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		pthread_t thread;

		CHECK(page != MAP_FAILED);
		thread = thread_start(await_the_end, page);
		stress_disturb(&random);
		/*
		 * The page stays reserved, so no other mapping gets its
		 * address.
		 */
		CHECK_EQ(mprotect(page, PAGE, PROT_NONE), 0);
		thread_join(thread);
		CHECK_EQ(munmap(page, PAGE), 0);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t players[2 * NR_PAIRS], vanishers[NR_VANISHERS];

	stress_begin(argc, argv);
	nr_turns = stress_scale(1500);
	for (int i = 0; i < NR_PAIRS; i++)
		make_pair(&pairs[i], i);
	threads_start_numbered(players, 2 * NR_PAIRS, play);
	threads_start_numbered(vanishers, NR_VANISHERS, vanish);
	threads_join(players, 2 * NR_PAIRS);
	threads_join(vanishers, NR_VANISHERS);
	CHECK_EQ(nr_handed, 2 * NR_PAIRS * nr_turns);
	return stress_end();
}

/* SPDX-License-Identifier: MIT */
/*
 * Ways to wait with weft.h. As in the paper, the writer calls no thread: a VP
 * that polls the words finds the changed one.
 */
#include <weft/weft.h>

#include "ring.h"

static uint32_t **words;

static void nothing(void)
{
}

static void make_words(void)
{
	words = ring_allocate((size_t)nr_members * sizeof(*words));
	for (long i = 0; i < nr_members; i++) {
		words[i] = weft_word_new(0);
		if (words[i] == NULL)
			bench_impossible("words", ENOMEM);
	}
}

static void wait_for_word(long me)
{
	if (weft_word_wait_until(words[me], sizeof(uint32_t), UINT32_MAX, 0,
				 NULL) != 0)
		abort();
	__atomic_store_n(words[me], 0, __ATOMIC_RELAXED);
}

static void change_word(long to)
{
	__atomic_store_n(words[to], 1, __ATOMIC_RELEASE);
}

/* Here the buffer itself is the word. */

static uint64_t *seen;

static void make_seen(void)
{
	seen = ring_allocate((size_t)nr_members * sizeof(*seen));
}

static void wait_for_buffer(long me)
{
	if (weft_word_wait_until(&members[me].buffer, sizeof(uint64_t),
				 UINT64_MAX, seen[me], NULL) != 0)
		abort();
	seen[me] = members[me].buffer;
}

static void leave_to_agent(long to)
{
}

const struct way ring_word_ways[] = {
	{ "word", make_words, nothing, wait_for_word, change_word },
	{ "address", make_seen, nothing, wait_for_buffer, leave_to_agent },
	{ NULL, NULL, NULL, NULL, NULL },
};

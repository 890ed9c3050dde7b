/* SPDX-License-Identifier: MIT */
/*
 * Ways to wait for a word, and threads that wait, for the tests of wait words.
 */
#ifndef WORDS_H
#define WORDS_H

#include <weft/weft.h>

#include "waiting.h"

static uint64_t cell[8];
static _Atomic int nr_woken;

static inline int wait_8(const void *addr, uint64_t old)
{
	return weft_word_wait_until(addr, 8, UINT64_MAX, old, NULL);
}

static inline int wait_4(const void *addr, uint32_t old)
{
	return weft_word_wait_until(addr, 4, UINT32_MAX, old, NULL);
}

static inline void set_4(uint32_t *word, uint32_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
}

static inline void set_8(uint64_t *word, uint64_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
}

static inline void *await_own(void *arg)
{
	is_ready = 1;
	CHECK_EQ(wait_4(arg, 0), 0);
	nr_woken++;
	return NULL;
}

static inline void *await_cell(void *arg)
{
	is_ready = 1;
	CHECK_EQ(wait_8(arg, 0), 0);
	nr_woken++;
	return NULL;
}

static inline void *await_bell(void *arg)
{
	is_ready = 1;
	CHECK_EQ(weft_word_wait_until(arg, 8 | WEFT_WORD_RUNG, UINT64_MAX, 0,
				      NULL),
		 0);
	nr_woken++;
	return NULL;
}

static inline void *await_own_bell(void *arg)
{
	is_ready = 1;
	CHECK_EQ(weft_word_wait_until(arg, 4 | WEFT_WORD_RUNG, UINT32_MAX, 0,
				      NULL),
		 0);
	nr_woken++;
	return NULL;
}

/* Agents that poll never come to rest. */
static inline void let_it_wait_for_agents(bool do_poll)
{
	if (!do_poll) {
		let_it_wait(&is_ready);
		return;
	}
	await_count(&is_ready, 1);
	sleep_ms(20);
}

/*
 * Starts two waits: one thread waits for a word of weft_word_new, one for a
 * word in the program's own memory.
 */
static inline void two_waits(bool do_agents_poll)
{
	uint32_t *word = weft_word_new(0);
	pthread_t one = thread_start(await_own, word), two;

	let_it_wait_for_agents(do_agents_poll);
	is_ready = 0;
	two = thread_start(await_cell, cell);
	let_it_wait_for_agents(do_agents_poll);
	CHECK_EQ(nr_woken, 0);
	set_4(word, 1);
	thread_join(one);
	CHECK_EQ(nr_woken, 1);
	set_8(cell, 1);
	thread_join(two);
	weft_word_free(word);
}

#endif

/* SPDX-License-Identifier: MIT */
/* Each way out of a wait for words: no record of the wait may remain. */
#include <weft/runtime.h>

#include "check.h"
#include "ways_out.h"

static uint64_t plain, others[3];
static uint32_t *own;

static void prepare(void)
{
	if (own == NULL)
		own = weft_word_new(0);
	CHECK(own != NULL);
	plain = 0;
	*own = 0;
}

static void wait_for_own(void)
{
	CHECK_EQ(weft_word_wait_until(own, sizeof(*own) | WEFT_WORD_RUNG,
				      UINT32_MAX, 0, NULL),
		 0);
}

static void wait_for_plain(void)
{
	CHECK_EQ(weft_word_wait_until(&plain, sizeof(plain), UINT64_MAX, 0,
				      NULL),
		 0);
}

static void wait_for_several(void)
{
	const struct weft_word words[] = {
		{ &plain, sizeof(plain), UINT64_MAX, 0 },
		{ &others[0], sizeof(others[0]), UINT64_MAX, 0 },
		{ &others[1], sizeof(others[1]), UINT64_MAX, 0 },
		{ own, sizeof(*own), UINT32_MAX, 0 },
	};
	size_t index;

	CHECK_EQ(weft_word_wait_any_until(words, 4, &index, NULL), 0);
}

static void *await_all_kinds(void *arg)
{
	wait_for_own();
	wait_for_plain();
	return arg;
}

static void check(void)
{
	pthread_t waiter = thread_start(await_all_kinds, NULL);

	sched_yield();
	__atomic_store_n(own, 1, __ATOMIC_RELEASE);
	weft_word_ring(own);
	sched_yield();
	__atomic_store_n(&plain, 1, __ATOMIC_RELEASE);
	thread_join(waiter);
}

static void leave(void (*wait)(void))
{
	leave_by_all_ways(&(struct way_wait){
		.prepare = prepare, .wait = wait, .check = check });
}

TEST(own_word)
{
	leave(wait_for_own);
}

TEST(plain_word)
{
	leave(wait_for_plain);
}

TEST(several_words)
{
	leave(wait_for_several);
}

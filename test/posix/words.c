/* SPDX-License-Identifier: MIT */
/*
 * Wait words and doorbells of weft.h, by libweft-api.a: it finds the runtime if
 * there is one, and works without a runtime natively.
 */
#include <signal.h>

#include "words.h"

/* --- refused calls, and words that have changed --------------------------- */

TEST(refused)
{
	const struct timespec bad = { 0, 1000000000 };
	const struct timespec over = { 0, 0 };
	const struct weft_word word = { cell, 8, UINT64_MAX, 1 };

	CHECK_EQ(weft_word_wait_until(cell, 3, 0, 0, &over), EINVAL);
	CHECK_EQ(weft_word_wait_until(cell, 0, 0, 0, &over), EINVAL);
	CHECK_EQ(weft_word_wait_until(cell, 16, 0, 0, &over), EINVAL);
	CHECK_EQ(weft_word_wait_until(cell, 8 | 0x400, 0, 0, &over), EINVAL);
	CHECK_EQ(weft_word_wait_until((char *)cell + 2, 4, 0, 0, &over),
		 EINVAL);
	CHECK_EQ(weft_word_wait_until(cell, 8, 0, 0, &bad), EINVAL);
	CHECK_EQ(weft_word_wait_any_until(&word, 0, NULL, NULL), EINVAL);
	CHECK_EQ(weft_word_wait_any_until(&word, WEFT_WORDS_MAX + 1, NULL,
					  NULL),
		 EINVAL);
}

TEST(changed_already)
{
	const struct timespec over = { 0, 0 };
	unsigned char *byte = (unsigned char *)cell;

	set_8(cell, 0x1122334455667788);
	CHECK_EQ(wait_8(cell, 0), 0);
	for (size_t i = 0; i < 8; i++)
		CHECK_EQ(weft_word_wait_until(byte + i, 1, 0xff, 0, NULL), 0);
	for (size_t i = 0; i < 8; i += 2)
		CHECK_EQ(weft_word_wait_until(byte + i, 2, 0xffff, 0, NULL), 0);
	CHECK_EQ(wait_4(byte + 4, 0x55667788), 0);
	/* A value that the masked word can never have. */
	CHECK_EQ(weft_word_wait_until(cell, 8, 0xf, 0x18, &over), 0);
	CHECK_EQ(weft_word_wait_until(cell, 1, UINT64_MAX, 0x188, &over), 0);
}

/* --- deadlines --------------------------------------------------------- */

TEST(only_the_masked_bits_count)
{
	struct timespec soon = deadline_ms(CLOCK_MONOTONIC, 20);
	unsigned char *byte = (unsigned char *)cell;

	set_8(cell, 0x1122334455667788);
	CHECK_EQ(weft_word_wait_until(cell, 8, 0xff00, 0x7700, &soon),
		 ETIMEDOUT);
	CHECK_EQ(weft_word_wait_until(byte + 3, 1, 0x0f, 0x05, &soon),
		 ETIMEDOUT);
	CHECK_EQ(weft_word_wait_until(byte + 6, 2, UINT64_MAX, 0x1122, &soon),
		 ETIMEDOUT);
}

TEST(deadlines)
{
	uint32_t *word = weft_word_new(5);
	struct timespec soon = deadline_ms(CLOCK_MONOTONIC, 30);
	struct timespec past = { -1, 0 };
	int64_t start = now_ns();

	CHECK_EQ(weft_word_wait_until(word, 4, UINT32_MAX, 5, &soon),
		 ETIMEDOUT);
	CHECK(elapsed_ms(start) >= 29);
	CHECK_EQ(weft_word_wait_until(word, 4, UINT32_MAX, 5, &past),
		 ETIMEDOUT);
	CHECK_EQ(weft_word_wait_until(word, 4, UINT32_MAX, 6, &past), 0);
	soon = deadline_ms(CLOCK_MONOTONIC, 30);
	start = now_ns();
	CHECK_EQ(weft_word_wait_until(cell, 8 | WEFT_WORD_RUNG, UINT64_MAX,
				      cell[0], &soon),
		 ETIMEDOUT);
	CHECK(elapsed_ms(start) >= 29);
	weft_word_free(word);
}

/* --- woken by a change -------------------------------------------------- */

TEST(without_a_doorbell)
{
	two_waits(false);
}

/* main computes, so with one VP no agent is idle. */
TEST(beside_a_thread_that_computes)
{
	uint32_t *word = weft_word_new(0);
	pthread_t threads[] = { thread_start(await_own, word),
				thread_start(await_cell, cell) };

	let_it_wait(&is_ready);
	set_4(word, 1);
	set_8(cell, 1);
	while (nr_woken < 2) /* without a yield to other threads */
		;
	threads_join(threads, 2);
	weft_word_free(word);
}

TEST(many_wait_for_one_word)
{
	uint32_t *word = weft_word_new(0);
	pthread_t threads[100];

	threads_start(threads, 100, await_own, word);
	let_it_wait(&is_ready);
	set_4(word, 1);
	weft_word_ring(word);
	threads_join(threads, 100);
	CHECK_EQ(nr_woken, 100);
	weft_word_free(word);
}

/* --- doorbells ---------------------------------------------------------- */

TEST(a_bell_wakes)
{
	uint32_t *word = weft_word_new(0);
	pthread_t threads[] = { thread_start(await_bell, cell),
				thread_start(await_own_bell, word) };

	let_it_wait(&is_ready);
	weft_word_ring(cell); /* rung, but unchanged */
	weft_word_ring(word);
	await_rest();
	CHECK_EQ(nr_woken, 0);
	set_8(cell, 1);
	weft_word_ring(cell);
	set_4(word, 1);
	weft_word_ring(word);
	threads_join(threads, 2);
	weft_word_ring(NULL); /* no thread waits there */
	weft_word_free(word);
}

static void ring_cell(int sig)
{
	set_8(cell, 1);
	weft_word_ring(cell);
}

TEST(a_bell_in_a_handler)
{
	const struct sigaction action = { .sa_handler = ring_cell };
	pthread_t thread = thread_start(await_bell, cell);

	let_it_wait(&is_ready);
	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	CHECK_EQ(raise(SIGUSR1), 0);
	thread_join(thread);
}

/* --- several words ------------------------------------------------------ */

static uint32_t *words[3];

static void *await_any(void *arg)
{
	const struct weft_word any[] = {
		{ words[0], 4, UINT32_MAX, 0 },
		{ words[1], 4 | WEFT_WORD_RUNG, UINT32_MAX, 0 },
		{ &cell[1], 8, UINT64_MAX, 0 },
	};
	size_t which = 9;

	is_ready = 1;
	CHECK_EQ(weft_word_wait_any_until(any, 3, &which, NULL), 0);
	return (void *)(intptr_t)which;
}

TEST(any_of_several)
{
	for (int i = 0; i < 3; i++)
		words[i] = weft_word_new(0);
	for (intptr_t i = 0; i < 3; i++) {
		pthread_t thread;

		is_ready = 0;
		thread = thread_start(await_any, NULL);
		let_it_wait(&is_ready);
		if (i < 2)
			set_4(words[i], 1);
		else
			set_8(&cell[1], 1);
		if (i == 1)
			weft_word_ring(words[i]);
		CHECK(thread_join(thread) == (void *)i);
		set_4(words[0], 0);
		set_4(words[1], 0);
	}
	for (int i = 0; i < 3; i++)
		weft_word_free(words[i]);
}

TEST(most_words_at_once)
{
	static struct weft_word all[WEFT_WORDS_MAX];
	static uint8_t bytes[WEFT_WORDS_MAX];
	struct timespec soon = deadline_ms(CLOCK_MONOTONIC, 20);
	size_t which = 9;

	for (size_t i = 0; i < WEFT_WORDS_MAX; i++)
		all[i] = (struct weft_word){ &bytes[i], 1, 0xff, 0 };
	CHECK_EQ(weft_word_wait_any_until(all, WEFT_WORDS_MAX, &which, &soon),
		 ETIMEDOUT);
	CHECK_EQ(which, 9);
	bytes[1000] = 1;
	CHECK_EQ(weft_word_wait_any_until(all, WEFT_WORDS_MAX, &which, NULL),
		 0);
	CHECK_EQ(which, 1000);
}

/* SPDX-License-Identifier: MIT */
/* weft.h from C++, with std::atomic_ref's elder: a word that threads share. */
#include <atomic>
#include <thread>
#include <vector>

#include <weft/weft.h>

#include "check.h"

TEST(hand_on_in_a_ring)
{
	constexpr int nr = 5;
	std::vector<uint32_t *> words;
	std::vector<std::thread> threads;

	for (int i = 0; i < nr; i++)
		words.push_back(weft_word_new(0));
	for (int i = 0; i < nr; i++)
		threads.emplace_back([&words, i] {
			uint32_t *next = words[(i + 1) % nr];

			for (uint32_t seen = 0; seen < 100; seen++) {
				CHECK_EQ(weft_word_wait_until(words[i], 4,
							      UINT32_MAX, seen,
							      nullptr),
					 0);
				__atomic_fetch_add(next, 1, __ATOMIC_RELEASE);
				weft_word_ring(next);
			}
		});
	__atomic_fetch_add(words[0], 1, __ATOMIC_RELEASE);
	for (auto &thread : threads)
		thread.join();
	for (int i = 0; i < nr; i++) {
		CHECK_EQ(*words[i], i == 0 ? 101 : 100);
		weft_word_free(words[i]);
	}
}

TEST(an_atomic_is_a_word)
{
	std::atomic<uint64_t> flag{ 0 };
	const weft_word word = { &flag, sizeof(flag), UINT64_MAX, 0 };
	std::size_t which = 7;
	std::thread setter([&flag] { flag.store(1); });

	CHECK_EQ(weft_word_wait_any_until(&word, 1, &which, nullptr), 0);
	CHECK_EQ(which, 0);
	setter.join();
}

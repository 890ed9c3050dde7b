/* SPDX-License-Identifier: MIT */
/*
 * src/arch/x86_64/words.c and words.S. Each way to search an array has to find
 * the same as a check of one word after the other. Slots may point to unmapped
 * memory.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>
#include <sys/mman.h>

#include "arch/words.h"
#include "base/compiler.h"
#include "random.h"

enum { GROUPS = 5, WORDS = GROUPS * WF_ARCH_GROUP, ROUNDS = 20000 };

static struct {
	uint32_t words[WORDS], old[WORDS];
	uint8_t states[WORDS];
} a WF_ALIGNED(WF_CACHE_LINE);

static uint64_t find_slowly(uint32_t *group, uint32_t end)
{
	for (uint32_t g = *group; g < end; g++) {
		uint64_t bits = 0;

		for (uint32_t i = 0; i < WF_ARCH_GROUP; i++) {
			uint32_t n = g * WF_ARCH_GROUP + i;

			if (a.states[n] != 0 && a.words[n] != a.old[n])
				bits |= 1ULL << i;
		}
		if (bits != 0) {
			*group = g;
			return bits;
		}
	}
	return 0;
}

static void compare(wf_arch_find_fn *find, uint32_t from, uint32_t end)
{
	uint32_t group = from, expected_group = from;
	uint64_t expected = find_slowly(&expected_group, end);

	assert_true(find(a.words, a.old, a.states, &group, end) == expected);
	assert_int_equal(group, expected_group);
}

/* Changes few words, so most groups have no change. */
static void change_some(struct test_random *r)
{
	uint32_t n = test_random(r, WORDS);

	switch (test_random(r, 4)) {
	case 0:
		a.words[n] ^= 1U << test_random(r, 32);
		break;
	case 1:
		a.states[n] = (uint8_t)(1 << test_random(r, 8));
		break;
	case 2:
		a.states[n] = 0;
		break;
	default:
		a.old[n] = a.words[n];
	}
}

static void ways_agree(void **state)
{
	struct test_random r = { test_seed() };

	for (size_t way = 0; wf_arch_find_nth(way) != NULL; way++) {
		memset(&a, 0, sizeof(a));
		for (int i = 0; i < ROUNDS; i++) {
			uint32_t from = test_random(&r, GROUPS + 1);

			change_some(&r);
			compare(wf_arch_find_nth(way), 0, GROUPS);
			compare(wf_arch_find_nth(way), from, GROUPS);
			compare(wf_arch_find_nth(way), 0, from);
		}
	}
}

/* Changes one word at a time, at each bit. */
static void each_word_counts(void **state)
{
	for (size_t way = 0; wf_arch_find_nth(way) != NULL; way++) {
		memset(&a, 0, sizeof(a));
		for (uint32_t n = 0; n < WORDS; n++) {
			a.words[n] = 1U << (n % 32);
			compare(wf_arch_find_nth(way), 0, GROUPS);
			a.states[n] = 1;
			compare(wf_arch_find_nth(way), 0, GROUPS);
			a.words[n] = 0;
		}
	}
}

static void the_fastest_is_chosen(void **state)
{
	size_t nr = 0;

	while (wf_arch_find_nth(nr) != NULL)
		nr++;
	assert_true(nr > 0);
	assert_ptr_equal(wf_arch_find_choose(), wf_arch_find_nth(nr - 1));
}

/* --- slots --------------------------------------------------------------- */

static void on_fault(int sig, siginfo_t *info, void *uc)
{
	if (!wf_arch_slots_fixup(uc))
		signal(sig, SIG_DFL);
}

static void slots(void **state)
{
	uint64_t values[4] = { 5, 6, 7, 8 };
	struct wf_arch_slot s[4];

	for (int i = 0; i < 4; i++)
		s[i] = (struct wf_arch_slot){ &values[i], 0xff, values[i],
					      NULL };
	assert_ptr_equal(wf_arch_slots_scan(s, s + 4), s + 4);
	assert_ptr_equal(wf_arch_slots_scan(s, s), s);
	values[2] |= 0x100; /* not in the mask */
	assert_ptr_equal(wf_arch_slots_scan(s, s + 4), s + 4);
	values[2]++;
	values[3]++;
	assert_ptr_equal(wf_arch_slots_scan(s, s + 4), s + 2);
	assert_ptr_equal(wf_arch_slots_scan(s + 3, s + 4), s + 3);
	assert_ptr_equal(wf_arch_slots_scan(s, s + 2), s + 2);
}

static void slots_that_fault(void **state)
{
	const struct sigaction action = { .sa_sigaction = on_fault,
					  .sa_flags = SA_SIGINFO };
	uint64_t value = 1;
	void *nothing =
		mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct wf_arch_slot s[3] = { { &value, 1, 1, NULL },
				     { nothing, 1, 0, NULL },
				     { &value, 1, 0, NULL } };

	sigaction(SIGSEGV, &action, NULL);
	assert_ptr_equal(wf_arch_slots_scan(s, s + 3), (char *)&s[1] + 1);
	assert_ptr_equal(wf_arch_slots_scan(s + 2, s + 3), &s[2]);
	signal(SIGSEGV, SIG_DFL);
	munmap(nothing, 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ways_agree),
		cmocka_unit_test(each_word_counts),
		cmocka_unit_test(the_fastest_is_chosen),
		cmocka_unit_test(slots),
		cmocka_unit_test(slots_that_fault),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * src/os/uring.c: questions about a ring that other threads use at the same
 * time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "os/uring.h"

enum { NR_ENTRIES = 8, NAMED = 42 };

static struct io_uring_sqe entries[NR_ENTRIES];
static _Atomic uint32_t head, tail;
static const struct wf_uring ring = {
	.sq_head = &head,
	.sq_tail = &tail,
	.sq_entries = NR_ENTRIES,
	.sq_mask = NR_ENTRIES - 1,
	.sqes = entries,
};

static void set(uint32_t new_head, uint32_t new_tail)
{
	head = new_head;
	tail = new_tail;
}

static void entries_that_wait_are_seen(void **state)
{
	entries[2].fd = NAMED;
	for (uint32_t lap = 0; lap < 2 * NR_ENTRIES; lap += NR_ENTRIES) {
		set(lap, lap + 2);
		assert_false(wf_uring_names(&ring, NAMED, NAMED));
		set(lap + 1, lap + 4);
		assert_true(wf_uring_names(&ring, NAMED, NAMED));
		assert_true(wf_uring_names(&ring, 1, ~0U));
		assert_false(wf_uring_names(&ring, NAMED + 1, ~0U));
		assert_false(wf_uring_names(&ring, 1, NAMED - 1));
		set(lap + 3, lap + NR_ENTRIES);
		assert_false(wf_uring_names(&ring, NAMED, NAMED));
	}
	set(UINT32_MAX - 5, 3);
	assert_true(wf_uring_names(&ring, NAMED, NAMED));
}

/*
 * Between the reads of tail and head another thread has pushed and submitted.
 */
static void the_head_may_be_past_the_tail(void **state)
{
	for (int i = 0; i < NR_ENTRIES; i++)
		entries[i].fd = NAMED;
	set(5, 4);
	assert_false(wf_uring_names(&ring, NAMED, NAMED));
	set(2, UINT32_MAX);
	assert_false(wf_uring_names(&ring, NAMED, NAMED));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_that_wait_are_seen),
		cmocka_unit_test(the_head_may_be_past_the_tail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

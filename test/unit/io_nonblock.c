/* SPDX-License-Identifier: MIT */
/*
 * src/io/backend/nonblock.c: for which receives the kernel is asked for
 * O_NONBLOCK, and when.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "io/backend/nonblock.h"
#include "io/backend/request.h"
#include "io/file/descriptor.h"

enum { FD = 5, BUSY = 6 };

static struct wf_nonblock table;
static struct wf_request requests[2 * WF_NONBLOCK_ROOM];
static uint32_t uses;
static unsigned int nr_asked, nr_refused;
static bool is_nonblocking;

/* --- fakes --------------------------------------------------------------- */

bool wf_descriptor_is_nonblocking(int fd)
{
	nr_asked++;
	return fd == FD && is_nonblocking;
}

uint32_t wf_descriptor_generation(int fd)
{
	return uses;
}

void wf_descriptor_was_tried(int fd, bool has_to_wait)
{
	assert_false(has_to_wait);
}

void wf_request_refuse(struct wf_thread *me, struct wf_request *r)
{
	assert_false(r->is_unchecked);
	nr_refused++;
}

/* --- tests --------------------------------------------------------------- */

static int begin(void **state)
{
	memset(&table, 0, sizeof(table));
	nr_asked = nr_refused = 0;
	uses = 3;
	is_nonblocking = false;
	return 0;
}

static void add(unsigned int i, int fd)
{
	requests[i] = (struct wf_request){ .fd = fd,
					   .is_unchecked = true,
					   .fd_generation = uses };
	wf_nonblock_add(NULL, &table, &requests[i]);
}

static bool settle_all(void)
{
	return wf_nonblock_check_oldest(NULL, &table, UINT32_MAX);
}

static void what_has_ended(void **state)
{
	add(0, BUSY);
	add(1, BUSY);
	assert_true(wf_nonblock_any(&table));
	wf_nonblock_drop(&table, &requests[0]);
	wf_nonblock_drop(&table, &requests[1]);
	assert_false(wf_nonblock_any(&table));
	assert_false(settle_all());
	assert_int_equal(nr_asked, 0);
}

static void once_each(void **state)
{
	is_nonblocking = true;
	add(0, FD);
	add(1, BUSY);
	assert_true(settle_all());
	assert_int_equal(nr_asked, 2);
	assert_int_equal(nr_refused, 1);
	assert_false(requests[1].is_unchecked);
	assert_false(wf_nonblock_any(&table));
	assert_false(settle_all());
	assert_int_equal(nr_asked, 2);
}

static void oldest_first(void **state)
{
	for (unsigned int i = 0; i < 5; i++)
		add(i, BUSY);
	wf_nonblock_drop(&table, &requests[0]);
	assert_false(wf_nonblock_check_oldest(NULL, &table, 2));
	assert_int_equal(nr_asked, 2);
	assert_false(requests[2].is_unchecked);
	assert_true(requests[3].is_unchecked);
	assert_true(wf_nonblock_any(&table));
	is_nonblocking = true;
	add(5, FD);
	assert_false(wf_nonblock_check_oldest(NULL, &table, 2));
	assert_true(wf_nonblock_check_oldest(NULL, &table, 2));
	assert_int_equal(nr_asked, 5);
	assert_false(wf_nonblock_any(&table));
}

static void number_of_another_file(void **state)
{
	is_nonblocking = true;
	add(0, FD);
	uses++;
	assert_false(settle_all());
	assert_int_equal(nr_asked, 0);
	assert_false(wf_nonblock_any(&table));
}

static void for_want_of_room(void **state)
{
	for (unsigned int i = 0; i < WF_NONBLOCK_ROOM; i++)
		add(i, BUSY);
	assert_int_equal(nr_asked, 0);
	add(WF_NONBLOCK_ROOM, BUSY);
	assert_int_equal(nr_asked, 1);
	assert_false(requests[0].is_unchecked);
	/* A dropped request in front makes room. */
	wf_nonblock_drop(&table, &requests[1]);
	add(WF_NONBLOCK_ROOM + 1, BUSY);
	assert_int_equal(nr_asked, 1);
	settle_all();
	assert_int_equal(nr_asked, WF_NONBLOCK_ROOM + 1);
}

static void after_many_others(void **state)
{
	unsigned int i = 0;

	add(i++, BUSY);
	/* A request's age counts from the first call that comes after it. */
	for (; i <= WF_NONBLOCK_AGES; i++) {
		wf_nonblock_age(NULL, &table);
		add(i, BUSY);
	}
	assert_int_equal(nr_asked, 0);
	wf_nonblock_age(NULL, &table);
	assert_int_equal(nr_asked, 1);
	assert_false(requests[0].is_unchecked);
	assert_true(requests[1].is_unchecked);
	wf_nonblock_age(NULL, &table);
	assert_int_equal(nr_asked, 2);
}

static void indices_wrap(void **state)
{
	table.first = table.next = UINT32_MAX - 1;
	for (unsigned int i = 0; i < WF_NONBLOCK_AGES; i++)
		table.nexts[i] = table.next;
	for (unsigned int i = 0; i < 4; i++)
		add(i, BUSY);
	wf_nonblock_drop(&table, &requests[2]);
	settle_all();
	assert_int_equal(nr_asked, 3);
	assert_false(wf_nonblock_any(&table));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(what_has_ended, begin),
		cmocka_unit_test_setup(once_each, begin),
		cmocka_unit_test_setup(oldest_first, begin),
		cmocka_unit_test_setup(number_of_another_file, begin),
		cmocka_unit_test_setup(for_want_of_room, begin),
		cmocka_unit_test_setup(after_many_others, begin),
		cmocka_unit_test_setup(indices_wrap, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

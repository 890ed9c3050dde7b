/* SPDX-License-Identifier: MIT */
/*
 * src/io/file/path_latency.c: which paths are known, and what makes them slow
 * or quick.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "io/file/path_latency.h"

enum { HERE = -100, FD = 5 };

static uint64_t key(int dirfd, const char *path)
{
	return wf_path_latency_key(dirfd, path, strlen(path));
}

static int state(int dirfd, const char *path)
{
	return wf_path_latency_find(dirfd, path).state;
}

static void nothing_is_known(void **state_)
{
	assert_int_equal(wf_path_latency_nr, 0);
	assert_int_equal(state(HERE, "/a/b"), WF_PATH_UNKNOWN);
}

static void all_below_a_name(void **state_)
{
	wf_path_latency_set(key(HERE, "/mnt/far"), WF_PATH_SLOW);
	assert_int_equal(state(HERE, "/mnt/far"), WF_PATH_SLOW);
	assert_int_equal(state(HERE, "/mnt/far/a/b"), WF_PATH_SLOW);
	assert_int_equal(state(HERE, "/mnt/far//a"), WF_PATH_SLOW);
	assert_int_equal(state(FD, "/mnt/far/a"), WF_PATH_SLOW);
	assert_int_equal(state(HERE, "/mnt/farther"), WF_PATH_UNKNOWN);
	assert_int_equal(state(HERE, "/mnt/fa"), WF_PATH_UNKNOWN);
	assert_int_equal(state(HERE, "/mnt"), WF_PATH_UNKNOWN);
	assert_int_equal(state(HERE, "mnt/far/a"), WF_PATH_UNKNOWN);
	wf_path_latency_set(key(HERE, "/mnt/far"), WF_PATH_UNKNOWN);
	assert_int_equal(state(HERE, "/mnt/far"), WF_PATH_UNKNOWN);
	assert_int_equal(wf_path_latency_nr, 0);
}

static void the_longest_counts(void **state_)
{
	wf_path_latency_set(key(HERE, ""), WF_PATH_SLOW);
	wf_path_latency_set(key(HERE, "a/fifo"), WF_PATH_FIFO);
	assert_int_equal(state(HERE, "a/fifo"), WF_PATH_FIFO);
	assert_int_equal(state(HERE, "a/b"), WF_PATH_SLOW);
	assert_int_equal(state(FD, "a/fifo"), WF_PATH_UNKNOWN);
	assert_int_equal(state(HERE, "/a/fifo"), WF_PATH_UNKNOWN);
	wf_path_latency_set(key(HERE, ""), WF_PATH_UNKNOWN);
	wf_path_latency_set(key(HERE, "a/fifo"), WF_PATH_UNKNOWN);
	assert_int_equal(wf_path_latency_nr, 0);
}

static void took(const char *path, bool is_long)
{
	struct wf_path_latency p = wf_path_latency_find(HERE, path);

	wf_path_latency_took(&p, is_long);
}

static void by_how_long_opens_take(void **state_)
{
	wf_path_latency_set(key(HERE, "/d"), WF_PATH_MAYBE_SLOW);
	took("/d/a", true);
	assert_int_equal(state(HERE, "/d/b"), WF_PATH_SLOW);
	took("/d/a", true);
	assert_int_equal(state(HERE, "/d/b"), WF_PATH_SLOW);
	took("/d/a", false);
	assert_int_equal(state(HERE, "/d/b"), WF_PATH_MAYBE_SLOW);
	took("/d/a", false);
	assert_int_equal(state(HERE, "/d/b"), WF_PATH_UNKNOWN);
	assert_int_equal(wf_path_latency_nr, 0);
}

/* A FIFO stays a FIFO, whatever its opens take. */
static void fifos_stay(void **state_)
{
	wf_path_latency_set(key(HERE, "/f"), WF_PATH_FIFO);
	took("/f", false);
	took("/f", true);
	assert_int_equal(state(HERE, "/f"), WF_PATH_FIFO);
	wf_path_latency_set(key(HERE, "/f"), WF_PATH_UNKNOWN);
}

/* With more paths than fit, dropped paths count as unknown. */
static void too_many(void **state_)
{
	char path[16];
	uint32_t nr = 0;

	for (int i = 0; i < 5000; i++) {
		snprintf(path, sizeof(path), "/%d", i);
		wf_path_latency_set(key(HERE, path), WF_PATH_SLOW);
		assert_int_equal(state(HERE, path), WF_PATH_SLOW);
	}
	for (int i = 0; i < 5000; i++) {
		snprintf(path, sizeof(path), "/%d", i);
		nr += state(HERE, path) == WF_PATH_SLOW;
	}
	assert_int_equal(nr, wf_path_latency_nr);
	assert_in_range(nr, 100, 5000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_known),
		cmocka_unit_test(all_below_a_name),
		cmocka_unit_test(the_longest_counts),
		cmocka_unit_test(by_how_long_opens_take),
		cmocka_unit_test(fifos_stay),
		cmocka_unit_test(too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * src/io/file/descriptor.c: when a read is not tried first, and when a file is
 * slow.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io/file/descriptor.h"

enum { FD = 40, MANY = 8, PROBE = 32 };

static void wait_often(int nr)
{
	for (int i = 0; i < nr; i++) {
		assert_false(wf_descriptor_expects_wait(FD));
		wf_descriptor_was_tried(FD, true);
	}
}

static void reset(void)
{
	wf_descriptor_was_tried(FD, false);
}

static void after_many_waits(void **state)
{
	wait_often(MANY);
	assert_true(wf_descriptor_expects_wait(FD));
	assert_false(wf_descriptor_expects_wait(FD + 1));
	reset();
}

static void one_that_does_not_wait(void **state)
{
	wait_often(MANY - 1);
	reset();
	wait_often(MANY);
	assert_true(wf_descriptor_expects_wait(FD));
	reset();
	assert_false(wf_descriptor_expects_wait(FD));
}

/* Even after many waits, a read is tried first now and then. */
static void is_probed(void **state)
{
	int nr_tried = 0;

	wait_often(MANY);
	for (int i = 0; i < 10 * PROBE; i++) {
		if (!wf_descriptor_expects_wait(FD)) {
			wf_descriptor_was_tried(FD, true);
			nr_tried++;
		}
	}
	assert_int_equal(nr_tried, 10);
	reset();
}

static void numbers_out_of_range(void **state)
{
	static const int fds[] = { -1, 1 << 16, INT32_MAX };

	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++) {
		for (int k = 0; k < 2 * MANY; k++)
			wf_descriptor_was_tried(fds[i], true);
		assert_false(wf_descriptor_expects_wait(fds[i]));
	}
}

/* A slow file counts as fast again once all reads hit the page cache. */
static void cached_again_and_again(void **state)
{
	int nr_hits = 0;

	wf_descriptor_set_slow(FD, true);
	for (int i = 0; i < 5; i++)
		wf_descriptor_was_cached(FD, true);
	wf_descriptor_was_cached(FD, false);
	while (wf_descriptor_is_slow(FD, true) && nr_hits < 1000) {
		wf_descriptor_was_cached(FD, true);
		nr_hits++;
	}
	assert_int_equal(nr_hits, PROBE);
	assert_false(wf_descriptor_expects_wait(FD));
	wf_descriptor_forget(FD);
}

/* The state of a number's old file does not apply to its next file. */
static void forgotten(void **state)
{
	int pair[2], message[2];
	uint32_t generation;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_true(wf_descriptor_is_stream_socket(pair[0]));
	for (int i = 0; i < MANY; i++)
		wf_descriptor_was_tried(pair[0], true);
	assert_true(wf_descriptor_expects_wait(pair[0]));
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, message), 0);
	generation = wf_descriptor_generation(pair[0]);
	wf_descriptor_generation_ends(pair[0]);
	assert_int_not_equal(wf_descriptor_generation(pair[0]), generation);
	generation = wf_descriptor_generation(pair[0]);
	assert_int_equal(dup2(message[0], pair[0]), pair[0]);
	wf_descriptor_forget(pair[0]);
	assert_int_equal(wf_descriptor_generation(pair[0]), generation);
	assert_false(wf_descriptor_is_stream_socket(pair[0]));
	assert_true(wf_descriptor_is_stream(pair[0]));
	assert_false(wf_descriptor_expects_wait(pair[0]));
}

/* A closed number counts as blocking, and the request itself returns EBADF. */
static void gone(void **state)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

	assert_true(wf_descriptor_is_nonblocking(fd));
	close(fd);
	assert_false(wf_descriptor_is_nonblocking(fd));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(after_many_waits),
		cmocka_unit_test(one_that_does_not_wait),
		cmocka_unit_test(is_probed),
		cmocka_unit_test(numbers_out_of_range),
		cmocka_unit_test(cached_again_and_again),
		cmocka_unit_test(forgotten),
		cmocka_unit_test(gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

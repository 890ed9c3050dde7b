/* SPDX-License-Identifier: MIT */
/*
 * src/io/backend/migrate.c, in_flight.h: which requests follow a VP to its next
 * carrier.
 */
#include <errno.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "fake_ring.h"
#include "io/file/descriptor.h"

static struct wf_carrier other = { .number = 1 };

/*
 * Gives the VP another carrier for long enough. Returns whether the kernel can
 * give requests up.
 */
static bool pass_on(void)
{
	uint32_t nr_given_up = vp.io->nr_given_up;

	vp.carrier = vp.carrier == &carrier ? &other : &carrier;
	wf_vp_io_poll(&vp);
	assert_int_equal(vp.io->nr_given_up, nr_given_up);
	usleep(2000 + 20 * wf_load_relaxed(&vp.nr_requests));
	wf_vp_io_poll(&vp);
	return wf_uring_gives_up_surely(&vp.io->ring);
}

/* Takes all completions that the kernel has. */
static void look_for_all(void)
{
	wf_vp_io_ops->submit(&vp);
	wf_uring_submit(&vp.io->ring, 0);
	usleep(1000);
	wf_vp_io_poll(&vp);
}

static void requests_follow_their_vp(void **state)
{
	static struct wf_request receive, firm;
	int ends[2], firm_ends[2];
	uint64_t id;
	char bytes[2];

	if (wf_ring_ensure(&vp) < 0)
		skip();
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, firm_ends), 0);
	push_receive(&receive, ends[0], &bytes[0]);
	/* A request that may have received a part does not migrate. */
	push_receive(&firm, firm_ends[0], &bytes[1]);
	firm.op_flags = MSG_WAITALL;
	wf_vp_io_ops->submit(&vp);
	id = wf_load_relaxed(&receive.ring_id);
	if (!pass_on())
		skip();
	assert_true(wf_load_relaxed(&receive.ring_id) != id);
	look_for_all();
	assert_int_equal(vp.io->nr_given_up, 0);
	assert_false(wf_load_relaxed(&receive.is_done));
	assert_false(wf_load_relaxed(&firm.is_done));
	assert_int_equal(write(ends[1], "x", 1), 1);
	assert_int_equal(write(firm_ends[1], "y", 1), 1);
	look_for_all();
	assert_int_equal(receive.result, 1);
	assert_int_equal(firm.result, 1);
	assert_memory_equal(bytes, "xy", 2);
}

static void receive_from_pair(struct wf_request *receive, int ends[2],
			      char *byte)
{
	if (wf_ring_ensure(&vp) < 0)
		skip();
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	push_receive(receive, ends[0], byte);
}

/* Data that came before the migration is not lost, nor is a cancellation. */
static void earlier_data_is_not_lost(void **state)
{
	static struct wf_request receive, poll_of;
	static struct wf_thread nobody;
	int ends[2];
	char byte = 0;

	receive_from_pair(&receive, ends, &byte);
	poll_of = (struct wf_request){ .op = IORING_OP_POLL_ADD,
				       .fd = ends[0],
				       .op_flags = POLLPRI };
	wf_ring_push(&vp, &poll_of);
	wf_vp_io_ops->submit(&vp);
	assert_int_equal(write(ends[1], "x", 1), 1);
	wf_ring_cancel(&nobody, &poll_of);
	pass_on();
	look_for_all();
	wf_ring_cancel(&nobody, &poll_of);
	look_for_all();
	assert_int_equal(receive.result, 1);
	assert_int_equal(byte, 'x');
	assert_int_equal(poll_of.result, -ECANCELED);
}

/* The number may belong to another file by now, so the request stays. */
static void waits_for_closed_files_stay(void **state)
{
	static struct wf_request receive;
	int ends[2], others[2];
	uint64_t id;
	char byte = 0;

	if (wf_ring_ensure(&vp) < 0)
		skip();
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, others), 0);
	push_receive(&receive, ends[0], &byte);
	id = wf_load_relaxed(&receive.ring_id);
	wf_descriptor_generation_ends(ends[0]);
	wf_ring_flush((unsigned int)ends[0], (unsigned int)ends[0]);
	assert_int_equal(dup2(others[0], ends[0]), ends[0]);
	assert_int_equal(write(others[1], "n", 1), 1);
	pass_on();
	assert_int_equal(wf_load_relaxed(&receive.ring_id), id);
	assert_int_equal(write(ends[1], "x", 1), 1);
	look_for_all();
	assert_int_equal(receive.result, 1);
	assert_int_equal(byte, 'x');
}

/*
 * When a kernel thread exits, the kernel drops the requests that it handed
 * over. So a thread that may exit hands over none: it waits for the owner, and
 * gives up after some time.
 */
static void exiting_threads_hand_nothing_over(void **state)
{
	static struct wf_request receive;
	struct wf_thread *owner = wf_self;
	int ends[2];
	char byte = 0;

	receive_from_pair(&receive, ends, &byte);
	wf_self = NULL;
	wf_ring_flush((unsigned int)ends[0], (unsigned int)ends[0]);
	assert_true(wf_uring_unsubmitted(&vp.io->ring) > 0);
	wf_self = owner;
	wf_ring_flush((unsigned int)ends[0], (unsigned int)ends[0]);
	assert_int_equal(wf_uring_unsubmitted(&vp.io->ring), 0);
	assert_int_equal(write(ends[1], "x", 1), 1);
	look_for_all();
	assert_int_equal(receive.result, 1);
}

/*
 * Exclusive waits do not migrate: until the kernel has given one up, it would
 * take wakes from other waiters.
 */
static void exclusive_waits_stay(void **state)
{
	static struct wf_request polls;
	int ends[2];
	uint64_t id;

	if (wf_ring_ensure(&vp) < 0)
		skip();
	assert_int_equal(pipe(ends), 0);
	polls = (struct wf_request){ .op = IORING_OP_POLL_ADD,
				     .fd = ends[0],
				     .op_flags = POLLIN | EPOLLEXCLUSIVE };
	wf_ring_push(&vp, &polls);
	wf_vp_io_ops->submit(&vp);
	id = wf_load_relaxed(&polls.ring_id);
	pass_on();
	assert_int_equal(wf_load_relaxed(&polls.ring_id), id);
	assert_int_equal(write(ends[1], "x", 1), 1);
	look_for_all();
	assert_int_equal(polls.result, POLLIN);
}

/*
 * Requests that a closing thread handed over migrate: once it sleeps, it takes
 * no completions.
 */
static void requests_of_a_closing_thread_migrate(void **state)
{
	static struct wf_request receive;
	int ends[2];
	uint64_t id;
	char byte = 0;

	if (wf_ring_ensure(&vp) < 0 || !wf_uring_gives_up_surely(&vp.io->ring))
		skip();
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	push_receive(&receive, ends[0], &byte);
	id = wf_load_relaxed(&receive.ring_id);
	wf_ring_flush((unsigned int)ends[0], (unsigned int)ends[0]);
	wf_vp_io_poll(&vp);
	usleep(2000 + 20 * wf_load_relaxed(&vp.nr_requests));
	wf_vp_io_poll(&vp);
	assert_true(wf_load_relaxed(&receive.ring_id) != id);
	assert_int_equal(write(ends[1], "x", 1), 1);
	look_for_all();
	assert_int_equal(receive.result, 1);
}

/* A migrated wait for a word checks the word again. */
static void waits_for_words_end(void **state)
{
	static struct wf_request wait;
	static uint32_t word;

	if (wf_ring_ensure(&vp) < 0 || wf_ring_lacks_futex())
		skip();
	wait = (struct wf_request){ .op = WF_RING_OP_FUTEX_WAIT,
				    .fd = 2 /* FUTEX2_SIZE_U32 */,
				    .addr = (uintptr_t)&word,
				    .off = 0,
				    .addr3 = UINT32_MAX };
	wf_ring_push(&vp, &wait);
	wf_vp_io_ops->submit(&vp);
	if (!pass_on())
		skip();
	assert_true(wf_load_relaxed(&wait.is_done));
	assert_int_equal(wait.result, 0);
	look_for_all();
	assert_int_equal(vp.io->nr_given_up, 0);
}

/* Each request has a new id, even if an id's place is reused. */
static void ids_are_used_once(void **state)
{
	enum { NR = 3 };
	static struct wf_in_flight u;
	struct wf_request requests[NR];
	uint64_t first[NR], again;

	u.rows = calloc(NR + 1, sizeof(*u.rows));
	assert_non_null(u.rows);
	for (int i = 0; i < NR; i++)
		first[i] = wf_in_flight_add(&u, &requests[i], 0);
	assert_ptr_equal(wf_in_flight_take(&u, first[1]), &requests[1]);
	assert_null(wf_in_flight_take(&u, first[1]));
	again = wf_in_flight_add(&u, &requests[1], 0);
	assert_int_equal((uint32_t)again, (uint32_t)first[1]);
	assert_null(wf_in_flight_take(&u, first[1]));
	again = wf_in_flight_renew(&u, (uint32_t)again, 1);
	assert_ptr_equal(wf_in_flight_take(&u, again), &requests[1]);
	assert_ptr_equal(wf_in_flight_take(&u, first[0]), &requests[0]);
	assert_ptr_equal(wf_in_flight_take(&u, first[2]), &requests[2]);
	assert_int_equal(u.nr_used, NR);
	free(u.rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_follow_their_vp),
		cmocka_unit_test(earlier_data_is_not_lost),
		cmocka_unit_test(waits_for_closed_files_stay),
		cmocka_unit_test(exiting_threads_hand_nothing_over),
		cmocka_unit_test(exclusive_waits_stay),
		cmocka_unit_test(requests_of_a_closing_thread_migrate),
		cmocka_unit_test(waits_for_words_end),
		cmocka_unit_test(ids_are_used_once),
	};

	return cmocka_run_group_tests(tests, start, NULL);
}

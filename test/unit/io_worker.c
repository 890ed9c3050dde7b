/* SPDX-License-Identifier: MIT */
/*
 * src/io/backend/worker.c and worker_run.c with kernel threads: requests that
 * are carried out, cancelled or refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_workers.h"
#include "io/backend/call.h"
#include "io/backend/ring.h"
#include "io/backend/watcher.h"
#include "io/backend/worker.h"
#include "io/backend/worker_table.h"
#include "libc/tcb.h"
#include "os/kthread.h"
#include "os/sys.h"
#include "sched/carrier.h"
#include "sched/runtime.h"
#include "trace/counters.h"

/* --- tests --------------------------------------------------------------- */

static void any_call_is_served(void **state)
{
	struct wf_call wait = { .nr = SYS_nanosleep, .ns = 0 };
	struct timespec a_while = { 0, 2000000 };
	struct call c;

	wait.args[0] = (long)&a_while;
	memset(&c, 0, sizeof(c));
	c.r.op = WF_REQUEST_OP_CALL;
	c.r.nr_done = &c.nr_done;
	c.r.addr = (uintptr_t)&wait;
	assert_true(wf_worker_handles(&c.r));
	assert_int_equal(wf_worker_push(&c.r, WF_WORKER_WAIT), 0);
	assert_int_equal(call_result(&c), 0);
	assert_true(wait.ns >= a_while.tv_nsec);
	wait.nr = SYS_close;
	wait.args[0] = -1;
	c.nr_done = 0;
	assert_int_equal(wf_worker_push(&c.r, WF_WORKER_WAIT), 0);
	assert_int_equal(call_result(&c), -EBADF);
}

static void servers_are_used_again(void **state)
{
	struct call c;
	uint32_t nr;

	assert_int_equal(call_push_wait(&c), 0);
	assert_int_equal(call_end(&c), -EINTR);
	nr = wf_worker_count();
	for (int i = 0; i < 100; i++) {
		assert_int_equal(call_push_wait(&c), 0);
		call_wake(&c);
		assert_true(call_result(&c) == 0 || call_result(&c) == -EAGAIN);
	}
	assert_int_equal(wf_worker_count(), nr);
}

static void calls_that_fail(void **state)
{
	struct sockaddr nowhere = { .sa_family = AF_UNIX };
	struct call c = { 0 };

	c.r.op = IORING_OP_CONNECT;
	c.r.fd = -1;
	c.r.pinned_fd = -1;
	c.r.addr = (uintptr_t)&nowhere;
	c.r.off = sizeof(nowhere);
	c.r.nr_done = &c.nr_done;
	assert_true(wf_worker_handles(&c.r));
	assert_int_equal(wf_worker_push(&c.r, WF_WORKER_WAIT), 0);
	assert_int_equal(call_result(&c), -EBADF);
}

static void watched_requests_go_back(void **state)
{
	char data[10] = "abc";
	struct wf_request r = {
		.op = IORING_OP_RECV,
		.addr = (uintptr_t)data,
		.len = sizeof(data),
		.nr_bytes = 3,
		.fd = -1,
	};
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	r.pinned_fd = ends[0];
	assert_int_equal(wf_worker_push(&r, WF_WORKER_WAIT), 0);
	assert_int_equal(write(ends[1], "def", 3), 3);
	while (fake_served == NULL)
		usleep(100);
	assert_ptr_equal(fake_served, &r);
	assert_int_equal(fake_served_result, 3);
	assert_memory_equal(data, "abcdef", 6);
}

static void requests_not_handed_over(void **state)
{
	struct wf_request r = { .op = IORING_OP_ACCEPT };

	wf_worker_cancel(&r);
	assert_int_equal(r.is_done, false);
}

static void there_are_enough(void **state)
{
	enum { MOST = 1000 };
	static struct call calls[MOST], more;
	int nr = 0;

	while (nr < MOST && call_push_wait(&calls[nr]) == 0)
		nr++;
	assert_in_range(nr, 1, MOST - 1);
	assert_int_equal(call_push_wait(&more), -ENOSYS);
	assert_false(wf_worker_is_free());
	call_wake(&calls[nr / 2]);
	call_result(&calls[nr / 2]);
	assert_true(wf_worker_is_free());
	assert_int_equal(call_push_wait(&more), 0);
	assert_int_equal(call_end(&more), -EINTR);
	/* The last worker is reserved for a call that does not end. */
	assert_int_equal(wf_worker_count(), nr + 1);
	for (int i = 0; i < nr; i++) {
		if (i != nr / 2)
			assert_int_equal(call_end(&calls[i]), -EINTR);
	}
}

static _Atomic int nr_running, running_tid;

static void run_for_ever(void *arg)
{
	struct wf_worker_follower f = wf_worker_self(wf_self);

	assert_false(f.is_process);
	assert_int_equal(*f.seen, 5);
	running_tid = wf_os_gettid();
	nr_running++;
	for (;;)
		pause();
}

static void one_runs_for_ever(void **state)
{
	struct wf_thread nobody;

	fake_refuses_threads = true;
	assert_int_equal(wf_worker_start_thread(run_for_ever), -EAGAIN);
	fake_refuses_threads = false;
	assert_int_equal(wf_worker_start_thread(run_for_ever), 0);
	while (nr_running == 0)
		usleep(100);
	assert_int_equal(wf_worker_count(), 1);
	assert_int_equal(wf_worker_at(0).tid, running_tid);
	assert_int_equal(*wf_worker_at(0).seen, 5);
	assert_int_equal(wf_worker_self(&nobody).tid, 0);
}

static void none_can_be_made(void **state)
{
	struct call c;

	fake_refuses_threads = true;
	for (int i = 0; i < 1000; i++)
		assert_int_equal(call_push_wait(&c), -ENOSYS);
	fake_refuses_threads = false;
	waits_are_served(state);
	assert_int_equal(wf_worker_count(), 2);
}

static void forked_child_has_none(void **state)
{
	wf_worker_fork_child();
	assert_int_equal(wf_worker_count(), 0);
	waits_are_served(state);
	assert_int_equal(wf_worker_count(), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_runs_for_ever),
		cmocka_unit_test(none_can_be_made),
		cmocka_unit_test(waits_are_served),
		cmocka_unit_test(any_call_is_served),
		cmocka_unit_test(servers_are_used_again),
		cmocka_unit_test(next_request_is_not_ended),
		cmocka_unit_test(calls_that_fail),
		cmocka_unit_test(watched_requests_go_back),
		cmocka_unit_test(requests_not_handed_over),
		cmocka_unit_test(there_are_enough),
		cmocka_unit_test(hit_needs_no_report),
		cmocka_unit_test(wait_is_reported),
		cmocka_unit_test(forked_child_has_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

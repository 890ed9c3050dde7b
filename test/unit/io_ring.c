/* SPDX-License-Identifier: MIT */
/*
 * src/io/backend/ring.c: which thread may wake a VP that sleeps in its ring,
 * and which thread submits.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#include "fake_ring.h"
#include "sched/queue.h"
#include "sched/vp_io.h"

/* Reads the wake descriptor, the only one of weft's that can be read. */
static uint64_t nr_wakes(void)
{
	uint64_t sum = 0, n;
	unsigned int fd = wf_ring_first_private(0);

	for (; fd != ~0U; fd = wf_ring_first_private(fd + 1)) {
		if (read((int)fd, &n, sizeof(n)) == sizeof(n))
			sum += n;
	}
	return sum;
}

static void *wake(void *arg)
{
	if (arg != NULL && syscall(SYS_close_range, 0, ~0U, 2) != 0)
		return arg;
	wf_vp_io_ops->wake(&vp);
	return NULL;
}

static void all_threads_wake(void **state)
{
	static char private_table;
	pthread_t thread;
	void *failed;

	if (wf_ring_ensure(&vp) < 0)
		skip();
	assert_int_equal(nr_wakes(), 0);
	wake(NULL);
	assert_int_equal(nr_wakes(), 1);
	/* The monitor, a kernel thread of its own, wakes the VP. */
	assert_int_equal(pthread_create(&thread, NULL, wake, &private_table),
			 0);
	assert_int_equal(pthread_join(thread, &failed), 0);
	assert_null(failed);
	assert_int_equal(nr_wakes(), 1);
}

static struct wf_request r;

/* Pushes a poll of a pipe and returns the pipe's number. */
static unsigned int push_poll(void)
{
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	r = (struct wf_request){ .op = IORING_OP_POLL_ADD,
				 .fd = ends[0],
				 .op_flags = POLLIN };
	wf_ring_push(&vp, &r);
	return (unsigned int)ends[0];
}

/* The close of a file submits only the requests that concern the file. */
static void closing_submits_requests_of_the_file(void **state)
{
	unsigned int fd;

	if (wf_ring_ensure(&vp) < 0)
		skip();
	fd = push_poll();
	wf_ring_flush(0, fd - 1);
	wf_ring_flush(fd + 1, ~0U);
	assert_true(wf_vp_io_is_waiting(&vp));
	wf_ring_flush(fd, fd);
	assert_false(wf_vp_io_is_waiting(&vp));
}

/*
 * A computing thread makes no call that could submit later, so the poll submits
 * at once.
 */
static void beside_a_computing_thread_it_submits(void **state)
{
	static struct wf_thread cpu_bound = { .cpu_bound = WF_CPU_BOUND_NOW };

	if (wf_ring_ensure(&vp) < 0)
		skip();
	push_poll();
	wf_vp_io_poll(&vp);
	assert_true(wf_vp_io_is_waiting(&vp));
	wf_store_relaxed(&vp.cur, &cpu_bound);
	wf_vp_io_poll(&vp);
	assert_false(wf_vp_io_is_waiting(&vp));
	wf_store_relaxed(&vp.cur, NULL);
}

/*
 * A request is submitted after 2 * starvation_bound polls, since a switch polls
 * twice. The tick sets starvation_bound.
 */
static void a_request_waits_for_some_points(void **state)
{
	if (wf_ring_ensure(&vp) < 0)
		skip();
	push_poll();
	wf_store_relaxed(&vp.starvation_bound, 3);
	for (int nr_polls = 1; nr_polls < 6; nr_polls++)
		wf_vp_io_poll(&vp);
	assert_true(wf_vp_io_is_waiting(&vp));
	wf_vp_io_poll(&vp);
	assert_false(wf_vp_io_is_waiting(&vp));
	wf_store_relaxed(&vp.starvation_bound, WF_STARVATION_MOST);
}

/* Requests are submitted in order, each once. */
static void some_are_handed_over_at_a_time(void **state)
{
	enum { NR = 100 };
	static struct wf_request polls[NR];
	uint32_t left = NR, before;
	int ends[2];

	if (wf_ring_ensure(&vp) < 0)
		skip();
	wf_vp_io_ops->submit(&vp);
	assert_false(wf_vp_io_submit_some(&vp));
	assert_int_equal(pipe(ends), 0);
	for (int i = 0; i < NR; i++) {
		polls[i] = (struct wf_request){ .op = IORING_OP_POLL_ADD,
						.fd = ends[0],
						.op_flags = POLLIN };
		wf_ring_push(&vp, &polls[i]);
	}
	while (left > 0) {
		before = left;
		assert_true(wf_vp_io_submit_some(&vp));
		left = wf_uring_unsubmitted(&vp.io->ring);
		assert_true(left < before);
		assert_true(before == NR ? left > NR / 2 : left < before);
	}
	assert_false(wf_vp_io_submit_some(&vp));
	assert_false(wf_load_relaxed(&polls[0].is_done));
	assert_int_equal(write(ends[1], "x", 1), 1);
	wf_vp_io_poll(&vp);
	for (int i = 0; i < NR; i++)
		assert_int_equal(polls[i].result, POLLIN);
}

/* A receive is tried first if the last receives found data. */
static void receives_are_tried_where_there_is_something(void **state)
{
	static struct wf_request receives[4];
	int ends[2];
	char byte;

	if (wf_ring_ensure(&vp) < 0)
		skip();
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	assert_int_equal(write(ends[1], "abc", 3), 3);
	assert_true(push_receive(&receives[0], ends[0], &byte));
	assert_true(wf_vp_io_submit_some(&vp));
	assert_int_equal(receives[0].result, 1);
	assert_false(push_receive(&receives[1], ends[0], &byte));
	assert_false(push_receive(&receives[2], ends[0], &byte));
	assert_true(wf_vp_io_submit_some(&vp));
	assert_int_equal(receives[2].result, 1);
	assert_int_equal(byte, 'c');
	assert_false(push_receive(&receives[3], ends[0], &byte));
	assert_true(wf_vp_io_submit_some(&vp));
	assert_false(wf_load_relaxed(&receives[3].is_done));
	assert_true(push_receive(&receives[0], ends[0], &byte));
	/* A request that was tried once waits like the others. */
	assert_int_equal(write(ends[1], "de", 2), 2);
	assert_true(wf_vp_io_submit_some(&vp));
	assert_int_equal(receives[3].result, 1);
	assert_int_equal(receives[0].result, 1);
}

static _Atomic int nr_refused;
static _Atomic bool is_over;

static void refuse(int sig, siginfo_t *info, void *context)
{
	ucontext_t *c = context;

	c->uc_mcontext.gregs[REG_RAX] = -EAGAIN;
	nr_refused++;
}

/* Makes submissions fail, as a kernel without memory does. */
static int refuse_submission(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_enter, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { 4, code };
	struct sigaction action = { .sa_sigaction = refuse,
				    .sa_flags = SA_SIGINFO };

	sigaction(SIGSYS, &action, NULL);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

static void *flush_refused(void *fd)
{
	unsigned int number = (unsigned int)(uintptr_t)fd;
	bool can_filter = refuse_submission() == 0;

	wf_self = &carrier.idle_self; /* may hand requests over */
	wf_ring_flush(number, number);
	is_over = true;
	return can_filter ? fd : NULL;
}

static void closing_tries_again(void **state)
{
	pthread_t thread;
	unsigned int fd;
	void *filtered;

	if (wf_ring_ensure(&vp) < 0)
		skip();
	fd = push_poll();
	pthread_create(&thread, NULL, flush_refused, (void *)(uintptr_t)fd);
	while (nr_refused < 2 && !is_over)
		usleep(100);
	wf_ring_flush(fd, fd);
	pthread_join(thread, &filtered);
	if (filtered == NULL)
		skip();
	assert_true(nr_refused >= 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_threads_wake),
		cmocka_unit_test(closing_submits_requests_of_the_file),
		cmocka_unit_test(beside_a_computing_thread_it_submits),
		cmocka_unit_test(a_request_waits_for_some_points),
		cmocka_unit_test(some_are_handed_over_at_a_time),
		cmocka_unit_test(receives_are_tried_where_there_is_something),
		cmocka_unit_test(closing_tries_again),
	};

	return cmocka_run_group_tests(tests, start, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * src/io/backend/worker.c, worker_run.c and supervisor.c: workers that are
 * processes, and that are killed at any time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_workers.h"

#include "base/options.h"
#include "arch/arch.h"
#include "io/backend/call.h"
#include "io/backend/ring.h"
#include "io/backend/watcher.h"
#include "io/backend/worker.h"
#include "io/backend/worker_table.h"
#include "libc/tcb.h"
#include "os/kthread.h"
#include "os/sys.h"
#include "sched/carrier.h"
#include "sched/preempt.h"
#include "sched/runtime.h"
#include "sched/vp_io.h"
#include "trace/counters.h"

static void kill_worker(const struct call *c)
{
	int pid = call_server(c)->tid;

	assert_true(call_server(c)->is_process);
	/* An earlier kill may only now end it. */
	if (pid != 0)
		assert_true(kill(pid, SIGKILL) == 0 || errno == ESRCH);
}

static void until_begun(const struct call *c)
{
	while (!call_server(c)->has_begun)
		usleep(100);
	usleep(2000);
}

/* The supervisor reaps only its own I/O servers. */
static void killed_in_a_wait(void **state)
{
	uint64_t nr_lost = wf_counters.servers_lost;
	struct call c;
	int pid;

	assert_int_equal(call_push_wait(&c), 0);
	until_begun(&c);
	pid = call_server(&c)->tid;
	kill_worker(&c);
	assert_int_equal(call_result(&c), 0);
	assert_int_equal(wf_counters.servers_lost, nr_lost + 1);
	while (kill(pid, 0) == 0)
		usleep(100);
	wait_is_reported(state);
}

static void killed_with_nothing_to_do(void **state)
{
	struct call c;

	call_push_hit(&c);
	wf_worker_check(NULL, &c.r);
	kill_worker(&c);
	for (int i = 0; i < 3; i++)
		wait_is_reported(state);
}

/* The requester checks too late to see that its worker has died. */
static void killed_before_the_look(void **state)
{
	struct call c;

	call_set_wait(&c);
	assert_int_equal(wf_worker_push(&c.r, WF_WORKER_YET), 0);
	until_begun(&c);
	kill_worker(&c);
	assert_int_equal(call_result(&c), 0);
	wf_worker_check(NULL, &c.r);
	assert_int_equal(c.nr_done, 1);
}

static void killed_after_the_call(void **state)
{
	struct call c;

	call_push_hit(&c);
	kill_worker(&c);
	assert_int_equal(call_result(&c), -EAGAIN);
}

static void bytes_are_not_received_twice(void **state)
{
	char data[10];
	struct iovec iov = { data, sizeof(data) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct call c = { 0 };
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	c.r.op = IORING_OP_RECVMSG;
	c.r.fd = ends[0];
	c.r.pinned_fd = -1;
	c.r.addr = (uintptr_t)&msg;
	c.r.op_flags = MSG_WAITALL;
	c.r.nr_done = &c.nr_done;
	assert_int_equal(wf_worker_push(&c.r, WF_WORKER_WAIT), 0);
	assert_int_equal(write(ends[1], "abc", 3), 3);
	until_begun(&c);
	kill_worker(&c);
	assert_int_equal(call_result(&c), -EIO);
	close(ends[0]);
	close(ends[1]);
}

/* The lock belongs to the open file, so another process may repeat the call. */
static void call_that_may_be_made_again(void **state)
{
	char path[] = "/tmp/weft-test-XXXXXX";
	int holder = mkstemp(path), waiter = open(path, O_RDWR);
	struct wf_call lock = { .nr = SYS_flock, .args = { waiter, LOCK_EX } };
	struct call c = { 0 };
	int pid;

	assert_int_equal(unlink(path), 0);
	assert_int_equal(flock(holder, LOCK_EX), 0);
	c.r.op = WF_REQUEST_OP_CALL;
	c.r.addr = (uintptr_t)&lock;
	c.r.nr_done = &c.nr_done;
	assert_int_equal(wf_worker_push(&c.r, WF_WORKER_WAIT), 0);
	until_begun(&c);
	pid = call_server(&c)->tid;
	kill_worker(&c);
	while (kill(pid, 0) == 0)
		usleep(100);
	assert_int_equal(c.nr_done, 0);
	assert_int_equal(flock(holder, LOCK_UN), 0);
	assert_int_equal(call_result(&c), 0);
	assert_int_equal(flock(holder, LOCK_EX | LOCK_NB), -1);
	close(holder);
	close(waiter);
}

/* Calls that concern the caller's process are made by a thread of it. */
static void calls_of_the_process_itself(void **state)
{
	struct wf_call ask = { .nr = SYS_getpid };
	struct call c = { 0 };

	c.r.op = WF_REQUEST_OP_CALL;
	c.r.addr = (uintptr_t)&ask;
	c.r.nr_done = &c.nr_done;
	assert_int_equal(wf_worker_push(&c.r, WF_WORKER_WAIT), 0);
	assert_int_equal(call_result(&c), getpid());
}

/*
 * No process accepts connections: if a worker died with an accepted connection,
 * the connection's peer would wait for ever.
 */
static void connections_are_not_lost(void **state)
{
	const struct wf_request r = { .op = IORING_OP_ACCEPT };

	assert_false(wf_worker_call_is_for_process(&r));
}

static void opens(void **state)
{
	struct wf_call call = { .nr = SYS_openat, .args = { 0, 0, O_CREAT } };
	const struct wf_request r = {
		.op = WF_REQUEST_OP_CALL,
		.addr = (uintptr_t)&call,
	};

	assert_true(wf_worker_call_is_for_process(&r));
	assert_int_equal(wf_worker_call_lost(&r), -ERESTART);
	/* The lost worker may have made the file. */
	call.args[2] = O_CREAT | O_EXCL;
	assert_int_equal(wf_worker_call_lost(&r), -EIO);
	call.is_own = true;
	assert_false(wf_worker_call_is_for_process(&r));
}

/* Each request ends, whenever its worker is killed. */
static void killed_at_any_time(void **state)
{
	enum { NR = 400 };
	uint64_t nr_lost = wf_counters.servers_lost;
	struct call c;

	for (int i = 0; i < NR; i++) {
		int result;

		call_set_wait(&c);
		c.word = i % 2;
		assert_int_equal(wf_worker_push(&c.r, WF_WORKER_YET), 0);
		for (int n = i % 11; n > 0; n--)
			sched_yield();
		if (i % 3 == 0)
			kill_worker(&c);
		wf_worker_check(NULL, &c.r);
		for (int n = i % 13; n > 0; n--)
			sched_yield();
		if (i % 3 == 1)
			kill_worker(&c);
		call_wake(&c);
		result = call_result(&c);
		assert_true(result == 0 || result == -EAGAIN);
	}
	assert_true(wf_counters.servers_lost > nr_lost);
}

/* --- reported by a signal (supervisor.c, SUPERVISOR-5) ------------------- */

static struct wf_vp vp;
static struct wf_carrier carrier;
static struct wf_thread computes = { .kind = WF_THREAD_MULTIPLEXED };
static _Atomic int nr_signals, nr_to_refuse;

/* The handler of signal/preempt.c. */
static void on_signal(int sig)
{
	bool is_notified = atomic_exchange(&carrier.is_notified, false);

	nr_signals++;
	if (!is_notified)
		return;
	if (nr_to_refuse > 0) {
		nr_to_refuse--;
		wf_supervisor_finish_marked(NULL);
	} else {
		wf_supervisor_finish_marked(&computes);
	}
}

/* The test plays the computing thread, and its kernel thread the carrier. */
static int compute(void **state)
{
	struct {
		void (*handler)(int);
		unsigned long flags;
		void (*restorer)(void);
		uint64_t mask;
	} action = { on_signal, 0x04000000, wf_arch_sigreturn, UINT64_MAX };

	assert_int_equal(wf_sys(SYS_rt_sigaction, WF_PREEMPT_SIGNAL, &action,
				NULL, 8),
			 0);
	computes.vp = &vp;
	computes.carrier = &carrier;
	carrier.tid = wf_os_gettid();
	vp.cur = &computes;
	vp.carrier = &carrier;
	wf_self = &computes;
	fake_yields = true;
	nr_signals = nr_to_refuse = 0;
	return 0;
}

static int compute_no_more(void **state)
{
	fake_yields = false;
	wf_self = NULL;
	carrier.is_notified = false;
	return 0;
}

static void computing_thread_is_signalled(void **state)
{
	for (int i = 1; i <= 50; i++)
		wait_is_reported(state);
	/*
	 * On a busy machine some requests are complete before the signal, or
	 * the supervisor completes them.
	 */
	assert_true(nr_signals > 0 && nr_signals <= 50);
}

/* If the handler may not complete the request, the supervisor does. */
static void signal_at_the_wrong_time(void **state)
{
	nr_to_refuse = 50;
	for (int i = 1; i <= 50; i++)
		wait_is_reported(state);
	assert_int_equal(nr_to_refuse, 0);
}

/* A worker was killed after it set the flag, before it sent the signal. */
static void signal_that_never_comes(void **state)
{
	carrier.is_notified = true;
	for (int i = 0; i < 5; i++)
		wait_is_reported(state);
	assert_int_equal(nr_signals, 0);
	assert_true(carrier.is_notified);
}

static void carrier_that_is_gone(void **state)
{
	carrier.tid = INT32_MAX;
	wait_is_reported(state);
	assert_int_equal(nr_signals, 0);
	assert_false(carrier.is_notified);
}

/*
 * The supervisor makes the waiting thread runnable without a signal if a VP is
 * idle, runs no thread, or runs a thread that is not to yield.
 */
static void no_signal_without_need(void **state)
{
	wf_sched.nr_idle = 1;
	wait_is_reported(state);
	wf_sched.nr_idle = 0;
	vp.cur = NULL;
	wait_is_reported(state);
	vp.cur = &computes;
	fake_yields = false;
	wait_is_reported(state);
	assert_int_equal(nr_signals, 0);
}

/* --- without processes ---------------------------------------------------- */

static void threads_serve_where_processes_cannot(void **state)
{
	struct call kept, c;

	/* Occupies the one worker that would otherwise be idle. */
	assert_int_equal(call_push_wait(&kept), 0);
	fake_refuses_processes = true;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(call_push_wait(&c), 0);
		assert_false(call_server(&c)->is_process);
		assert_int_equal(call_end(&c), -EINTR);
	}
	fake_refuses_processes = false;
	assert_int_equal(call_end(&kept), -EINTR);
}

/* When the processes end, threads continue their requests. */
static void threads_serve_when_processes_go(void **state)
{
	struct call c;
	int pid;

	assert_int_equal(call_push_wait(&c), 0);
	until_begun(&c);
	pid = call_server(&c)->tid;
	assert_int_equal(kill(pid, 0), 0);
	wf_store_relaxed(&wf_os_execs, 1);
	wf_worker_end_processes();
	while (kill(pid, 0) == 0)
		usleep(100);
	for (uint32_t i = 0; i < wf_worker_count(); i++)
		assert_false(wf_worker_at(i).is_process &&
			     wf_worker_at(i).tid != 0);
	while (wf_workers[c.r.worker - 1].is_process)
		usleep(100);
	assert_int_equal(c.nr_done, 0);
	call_wake(&c);
	call_result(&c);
	wf_store_relaxed(&wf_os_execs, 0);
	wait_is_reported(state);
}

#define while_computing(test) \
	cmocka_unit_test_setup_teardown(test, compute, compute_no_more)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waits_are_served),
		cmocka_unit_test(wait_is_reported),
		cmocka_unit_test(hit_needs_no_report),
		cmocka_unit_test(next_request_is_not_ended),
		cmocka_unit_test(killed_in_a_wait),
		cmocka_unit_test(killed_with_nothing_to_do),
		cmocka_unit_test(killed_before_the_look),
		cmocka_unit_test(killed_after_the_call),
		cmocka_unit_test(bytes_are_not_received_twice),
		cmocka_unit_test(call_that_may_be_made_again),
		cmocka_unit_test(calls_of_the_process_itself),
		cmocka_unit_test(connections_are_not_lost),
		cmocka_unit_test(opens),
		cmocka_unit_test(killed_at_any_time),
		while_computing(computing_thread_is_signalled),
		while_computing(signal_at_the_wrong_time),
		while_computing(signal_that_never_comes),
		while_computing(carrier_that_is_gone),
		while_computing(no_signal_without_need),
		while_computing(killed_at_any_time),
		cmocka_unit_test(threads_serve_where_processes_cannot),
		cmocka_unit_test(threads_serve_when_processes_go),
	};

	wf_options.io = WF_IO_PROCESS;
	return cmocka_run_group_tests(tests, NULL, NULL);
}

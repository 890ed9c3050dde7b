/* SPDX-License-Identifier: MIT */
/*
 * Requests to I/O workers and the functions that their code needs: see
 * fake_workers.h.
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

#include "base/options.h"
#include "io/backend/attempt.h"
#include "io/backend/ring.h"
#include "io/backend/watcher.h"
#include "io/backend/worker.h"
#include "io/backend/worker_table.h"
#include "libc/tcb.h"
#include "os/kthread.h"
#include "os/sys.h"
#include "sched/carrier.h"
#include "sched/clone_lock.h"
#include "sched/ready.h"
#include "sched/runtime.h"
#include "sched/service.h"
#include "trace/counters.h"

/* --- fakes --------------------------------------------------------------- */

__thread struct wf_thread *wf_self;
uint32_t wf_carrier_setxid_generation = 5;
_Atomic bool wf_carrier_setxid_comes;
struct wf_request *_Atomic fake_served;
_Atomic int fake_served_result;
bool fake_refuses_threads, fake_refuses_processes;
_Atomic bool fake_yields;
struct wf_options wf_options;
struct wf_counters wf_counters;
_Atomic uint32_t wf_os_execs;

struct wf_thread *wf_runtime_attach(void)
{
	static struct wf_thread first;

	return &first;
}

void wf_runtime_reacquire_slow(struct wf_thread *t)
{
	abort();
}

void wf_runtime_leave_slow(struct wf_thread *t)
{
	abort();
}

void wf_clone_lock(void)
{
}

bool wf_clone_trylock(void)
{
	return true;
}

void wf_clone_unlock(void)
{
}

void wf_clone_pass(void)
{
}

bool wf_attempt_serves(const struct wf_request *r)
{
	return r->op == IORING_OP_RECV;
}

void wf_watcher_served(struct wf_request *r, int result)
{
	fake_served_result = result;
	fake_served = r;
}

void wf_request_complete(struct wf_thread *me, struct wf_request *r, int result)
{
	assert_true(me == NULL || me == wf_self);
	r->result = result;
	atomic_fetch_add(r->nr_done, 1);
}

struct wf_carrier *wf_ready_yielding(const struct wf_vp *vp)
{
	return fake_yields && vp->cur != NULL ? vp->carrier : NULL;
}

size_t wf_tcb_minimal_bytes(void)
{
	return 64;
}

uintptr_t wf_tcb_minimal_make(void *block, struct wf_thread *self)
{
	return (uintptr_t)self;
}

static struct start {
	void (*fn)(void *);
	void *arg;
	uintptr_t tp;
	_Atomic int tid;
} start;

static void *run(void *arg)
{
	void (*fn)(void *) = start.fn;
	void *fn_arg = start.arg;

	wf_self = (struct wf_thread *)start.tp;
	start.tid = wf_os_gettid();
	fn(fn_arg);
	return NULL;
}

int wf_os_kthread_start(void (*fn)(void *), void *arg, void *stack_top,
			uintptr_t tp, _Atomic uint32_t *clear)
{
	pthread_t thread;

	if (fake_refuses_threads)
		return -EAGAIN;
	start.fn = fn;
	start.arg = arg;
	start.tp = tp;
	start.tid = 0;
	if (pthread_create(&thread, NULL, run, NULL) != 0)
		return -EAGAIN;
	while (start.tid == 0)
		sched_yield();
	return start.tid;
}

static int run_process(void *arg)
{
	start.fn(arg);
	return 0;
}

/* The child keeps its parent's thread register: it only makes system calls. */
int wf_os_process_start(void (*fn)(void *), void *arg, void *stack_top,
			uintptr_t tp)
{
	int pid;

	if (fake_refuses_processes)
		return -EAGAIN;
	start.fn = fn;
	pid = clone(run_process, stack_top,
		    CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SYSVSEM, arg);
	return pid < 0 ? -EAGAIN : pid;
}

void wf_os_set_thread_name(const char *name)
{
}

void wf_os_set_signal_mask(uint64_t mask)
{
	wf_sys(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, 8);
}

uint64_t wf_os_close_signals(void)
{
	uint64_t all = UINT64_MAX, mask = 0;

	wf_sys(SYS_rt_sigprocmask, SIG_SETMASK, &all, &mask, 8);
	return mask;
}

int wf_os_tgkill(int tid, int sig)
{
	return (int)wf_sys(SYS_tgkill, wf_os_getpid(), tid, sig);
}

/* --- requests ------------------------------------------------------------ */

void call_set_wait(struct call *c)
{
	memset(c, 0, sizeof(*c));
	c->r.op = WF_RING_OP_FUTEX_WAIT;
	c->r.pinned_fd = -1;
	c->r.nr_done = &c->nr_done;
	c->r.addr = (uintptr_t)&c->word;
	c->r.addr3 = FUTEX_BITSET_MATCH_ANY;
}

/* Pushes the request like a thread that parks at once. */
int call_push_wait(struct call *c)
{
	int err;

	call_set_wait(c);
	err = wf_worker_push(&c->r, WF_WORKER_YET);
	if (err == 0)
		wf_worker_check(NULL, &c->r);
	return err;
}

struct wf_worker *call_server(const struct call *c)
{
	return &wf_workers[c->r.worker - 1];
}

int call_result(struct call *c)
{
	while (c->nr_done == 0)
		usleep(100);
	return c->r.result;
}

/* Asks again and again, like wf_request_run. */
int call_end(struct call *c)
{
	while (c->nr_done == 0) {
		wf_worker_cancel(&c->r);
		usleep(50);
	}
	return c->r.result;
}

/* Sets the word, so it does not matter whether the wait has begun. */
void call_wake(struct call *c)
{
	c->word = 1;
	wf_sys(SYS_futex, &c->word, FUTEX_WAKE, 1);
}

/*
 * Pushes a request and waits until the worker has made its call: the
 * requester's check finds COMPLETE, and needs no report.
 */
void call_push_hit(struct call *c)
{
	call_set_wait(c);
	c->word = 1;
	assert_int_equal(wf_worker_push(&c->r, WF_WORKER_YET), 0);
	while (call_server(c)->status != WF_WORKER_COMPLETE)
		usleep(100);
}

/* --- tests --------------------------------------------------------------- */

void waits_are_served(void **state)
{
	struct call c;

	assert_true(wf_worker_handles(
		&(struct wf_request){ .op = WF_RING_OP_FUTEX_WAIT }));
	assert_int_equal(call_push_wait(&c), 0);
	usleep(2000);
	assert_int_equal(c.nr_done, 0);
	while (wf_sys(SYS_futex, &c.word, FUTEX_WAKE, 1) == 0)
		usleep(100);
	assert_int_equal(call_result(&c), 0);
}

/* A cancellation of one request must not end the next. */
void next_request_is_not_ended(void **state)
{
	struct call first, next;

	for (int i = 0; i < 2000; i++) {
		int result;

		assert_int_equal(call_push_wait(&first), 0);
		if (i % 3 == 0)
			usleep(50);
		assert_int_equal(call_end(&first), -EINTR);
		assert_int_equal(call_push_wait(&next), 0);
		for (int n = i % 7; n > 0; n--)
			sched_yield();
		assert_int_equal(next.nr_done, 0);
		call_wake(&next);
		result = call_result(&next);
		assert_true(result == 0 || result == -EAGAIN);
	}
}

void hit_needs_no_report(void **state)
{
	uint64_t nr_completions = wf_counters.completions;
	uint64_t nr_at_once = wf_counters.served_at_once;
	struct call c;

	for (int i = 0; i < 50; i++) {
		call_push_hit(&c);
		usleep(i * 10);
		assert_int_equal(c.nr_done, 0);
		wf_worker_check(NULL, &c.r);
		assert_int_equal(c.nr_done, 1);
		assert_int_equal(c.r.result, -EAGAIN);
	}
	assert_int_equal(wf_counters.completions, nr_completions);
	assert_int_equal(wf_counters.served_at_once, nr_at_once + 50);
}

void wait_is_reported(void **state)
{
	bool is_process = wf_options.io == WF_IO_PROCESS;
	uint64_t nr_completions = wf_counters.completions;
	uint64_t nr_at_once = wf_counters.served_at_once;
	struct call c;

	assert_int_equal(call_push_wait(&c), 0);
	assert_int_equal(call_server(&c)->status, WF_WORKER_WAIT);
	assert_int_equal(call_server(&c)->is_process, is_process);
	call_wake(&c);
	call_result(&c);
	assert_int_equal(wf_counters.completions, nr_completions + is_process);
	assert_int_equal(wf_counters.served_at_once, nr_at_once);
}

/*
 * src/io/server.c: requests that are carried out, ended early, refused, on
 * kernel threads that libc has made.
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
#include <unistd.h>

#include "io/call.h"
#include "io/ring.h"
#include "io/server.h"
#include "io/watch.h"
#include "libc/tcb.h"
#include "os/kthread.h"
#include "os/sys.h"
#include "sched/carrier.h"

/* --- fakes --------------------------------------------------------------- */

__thread struct wf_thread *wf_self;
uint32_t wf_carrier_setxid_generation = 5;
static struct wf_request *_Atomic served;
static _Atomic int served_result;
static bool is_refusing;

/* What the assembly with wf_arch_sigreturn refers to besides. */
void wf_thread_main(void);
void wf_thread_main(void)
{
	abort();
}

void wf_frame_resume(void);
void wf_frame_resume(void)
{
	abort();
}

void wf_carrier_clone_lock(void)
{
}

void wf_carrier_clone_unlock(void)
{
}

bool wf_watch_serves(const struct wf_request *r)
{
	return r->op == IORING_OP_RECV;
}

void wf_watch_served(struct wf_request *r, int result)
{
	served_result = result;
	served = r;
}

void wf_request_complete(struct wf_thread *me, struct wf_request *r, int result)
{
	assert_null(me);
	r->result = result;
	atomic_fetch_add(r->nr_done, 1);
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
			uintptr_t tp)
{
	pthread_t thread;

	if (is_refusing)
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

void wf_os_set_signal_mask(uint64_t mask)
{
	wf_sys(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, 8);
}

uint64_t wf_os_get_signal_mask(void)
{
	uint64_t mask = 0;

	wf_sys(SYS_rt_sigprocmask, SIG_SETMASK, NULL, &mask, 8);
	return mask;
}

int wf_os_tgkill(int tid, int sig)
{
	return (int)wf_sys(SYS_tgkill, wf_os_getpid(), tid, sig);
}

/* --- requests ------------------------------------------------------------ */

struct call {
	struct wf_request r;
	_Atomic uint32_t nr_done;
	_Atomic uint32_t word;
};

static int push_wait(struct call *c)
{
	memset(c, 0, sizeof(*c));
	c->r.op = WF_RING_OP_FUTEX_WAIT;
	c->r.kept_fd = -1;
	c->r.nr_done = &c->nr_done;
	c->r.addr = (uintptr_t)&c->word;
	c->r.addr3 = FUTEX_BITSET_MATCH_ANY;
	return wf_server_push(&c->r);
}

static int result_of(struct call *c)
{
	while (c->nr_done == 0)
		usleep(100);
	return c->r.result;
}

/* As wf_request_run asks, again and again. */
static int end(struct call *c)
{
	while (c->nr_done == 0) {
		wf_server_cancel(&c->r);
		sched_yield();
	}
	return c->r.result;
}

/* By the word, so that it does not matter whether the wait has begun. */
static void wake(struct call *c)
{
	c->word = 1;
	wf_sys(SYS_futex, &c->word, FUTEX_WAKE, 1);
}

/* --- tests --------------------------------------------------------------- */

static void waits_are_served(void **state)
{
	struct call c;

	assert_true(wf_server_serves(
		&(struct wf_request){ .op = WF_RING_OP_FUTEX_WAIT }));
	assert_int_equal(push_wait(&c), 0);
	usleep(2000);
	assert_int_equal(c.nr_done, 0);
	while (wf_sys(SYS_futex, &c.word, FUTEX_WAKE, 1) == 0)
		usleep(100);
	assert_int_equal(result_of(&c), 0);
}

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
	assert_true(wf_server_serves(&c.r));
	assert_int_equal(wf_server_push(&c.r), 0);
	assert_int_equal(result_of(&c), 0);
	assert_true(wait.ns >= a_while.tv_nsec);
	wait.nr = SYS_close;
	wait.args[0] = -1;
	c.nr_done = 0;
	assert_int_equal(wf_server_push(&c.r), 0);
	assert_int_equal(result_of(&c), -EBADF);
}

static void servers_are_used_again(void **state)
{
	struct call c;
	uint32_t nr;

	assert_int_equal(push_wait(&c), 0);
	assert_int_equal(end(&c), -EINTR);
	nr = wf_server_count();
	for (int i = 0; i < 100; i++) {
		assert_int_equal(push_wait(&c), 0);
		wake(&c);
		assert_true(result_of(&c) == 0 || result_of(&c) == -EAGAIN);
	}
	assert_int_equal(wf_server_count(), nr);
}

/* What is asked of one request does not end the next. */
static void next_request_is_not_ended(void **state)
{
	struct call first, next;

	for (int i = 0; i < 2000; i++) {
		int result;

		assert_int_equal(push_wait(&first), 0);
		if (i % 3 == 0)
			usleep(50);
		assert_int_equal(end(&first), -EINTR);
		assert_int_equal(push_wait(&next), 0);
		for (int n = i % 7; n > 0; n--)
			sched_yield();
		assert_int_equal(next.nr_done, 0);
		wake(&next);
		result = result_of(&next);
		assert_true(result == 0 || result == -EAGAIN);
	}
}

static void calls_that_fail(void **state)
{
	struct sockaddr nowhere = { .sa_family = AF_UNIX };
	struct call c = { 0 };

	c.r.op = IORING_OP_CONNECT;
	c.r.fd = -1;
	c.r.kept_fd = -1;
	c.r.addr = (uintptr_t)&nowhere;
	c.r.off = sizeof(nowhere);
	c.r.nr_done = &c.nr_done;
	assert_true(wf_server_serves(&c.r));
	assert_int_equal(wf_server_push(&c.r), 0);
	assert_int_equal(result_of(&c), -EBADF);
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
	r.kept_fd = ends[0];
	assert_int_equal(wf_server_push(&r), 0);
	assert_int_equal(write(ends[1], "def", 3), 3);
	while (served == NULL)
		usleep(100);
	assert_ptr_equal(served, &r);
	assert_int_equal(served_result, 3);
	assert_memory_equal(data, "abcdef", 6);
}

static void what_was_not_handed_over(void **state)
{
	struct wf_request r = { .op = IORING_OP_ACCEPT };

	wf_server_cancel(&r);
	assert_int_equal(r.is_done, false);
}

static void there_are_enough(void **state)
{
	enum { MOST = 1000 };
	static struct call calls[MOST], more;
	int nr = 0;

	while (nr < MOST && push_wait(&calls[nr]) == 0)
		nr++;
	assert_in_range(nr, 1, MOST - 1);
	assert_int_equal(push_wait(&more), -ENOSYS);
	assert_false(wf_server_is_free());
	wake(&calls[nr / 2]);
	result_of(&calls[nr / 2]);
	assert_true(wf_server_is_free());
	assert_int_equal(push_wait(&more), 0);
	assert_int_equal(end(&more), -EINTR);
	/* The last is kept for who runs for ever. */
	assert_int_equal(wf_server_count(), nr + 1);
	for (int i = 0; i < nr; i++) {
		if (i != nr / 2)
			assert_int_equal(end(&calls[i]), -EINTR);
	}
}

static _Atomic int nr_running;

static void run_for_ever(void *arg)
{
	_Atomic uint32_t *seen = wf_server_seen(wf_self);

	assert_non_null(seen);
	assert_int_equal(*seen, 5);
	nr_running++;
	for (;;)
		pause();
}

static void one_runs_for_ever(void **state)
{
	_Atomic uint32_t *seen;
	struct wf_thread nobody;

	is_refusing = true;
	assert_int_equal(wf_server_start_own(run_for_ever), -EAGAIN);
	is_refusing = false;
	assert_int_equal(wf_server_start_own(run_for_ever), 0);
	while (nr_running == 0)
		usleep(100);
	assert_int_equal(wf_server_count(), 1);
	assert_int_equal(wf_server_at(0, &seen), start.tid);
	assert_int_equal(*seen, 5);
	assert_null(wf_server_seen(&nobody));
}

static void none_can_be_made(void **state)
{
	struct call c;

	is_refusing = true;
	for (int i = 0; i < 1000; i++)
		assert_int_equal(push_wait(&c), -ENOSYS);
	is_refusing = false;
	waits_are_served(state);
	assert_int_equal(wf_server_count(), 2);
}

static void forked_child_has_none(void **state)
{
	wf_server_fork_child();
	assert_int_equal(wf_server_count(), 0);
	waits_are_served(state);
	assert_int_equal(wf_server_count(), 1);
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
		cmocka_unit_test(what_was_not_handed_over),
		cmocka_unit_test(there_are_enough),
		cmocka_unit_test(forked_child_has_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

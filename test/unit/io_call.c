/* SPDX-License-Identifier: MIT */
/* src/io/backend/call.c: which calls a worker makes, and what ends them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <unistd.h>

#include "io/backend/call.h"
#include "io/backend/request.h"
#include "io/file/descriptor.h"
#include "sched/thread.h"
#include "wait/ufutex.h"

enum { FD = 41, QUICK_NS = 1000, SLOW_NS = 1000 * 1000 };

/* --- fakes --------------------------------------------------------------- */

static struct wf_thread me;
__thread struct wf_thread *wf_self;

/* The worker's results, in order; the last one is repeated. */
static const int *results;
static int64_t worker_ns;
static bool is_handled; /* does a handler run meanwhile? */
static int nr_served;

int wf_request_run(struct wf_request *r, int64_t deadline_ns)
{
	struct wf_call *c = (struct wf_call *)r->addr;

	assert_int_equal(r->op, WF_REQUEST_OP_CALL);
	assert_true(r->avoids_ring);
	c->ns = worker_ns;
	nr_served++;
	if (is_handled)
		me.nr_handlers++;
	return *results < 0 && results[1] != 0 ? *results++ : *results;
}

static void reset(const int *script)
{
	wf_self = &me;
	results = script;
	worker_ns = QUICK_NS;
	is_handled = false;
	nr_served = 0;
	wf_descriptor_forget(FD);
}

/* --- tests --------------------------------------------------------------- */

static long run(enum wf_call_kind kind)
{
	return wf_call_run(WF_CALL(SYS_getpid, 0), kind, WF_FOREVER);
}

static void started_again(void **state)
{
	static const int script[] = { -ERESTART, -ERESTART, 5, 5 };

	reset(script);
	assert_int_equal(run(WF_CALL_RESTARTS), 5);
	assert_int_equal(nr_served, 3);
	reset(script);
	is_handled = true;
	assert_int_equal(run(WF_CALL_RESTARTS), 5);
}

/* A call that restarts is made again after any interruption. */
static void ended_by_any_handler(void **state)
{
	static const int script[] = { -ERESTART, 5, 5 };

	reset(script);
	assert_int_equal(run(WF_CALL_ENDS_BY_SIGNAL), 5);
	reset(script);
	is_handled = true;
	assert_int_equal(run(WF_CALL_ENDS_BY_SIGNAL), -EINTR);
	assert_int_equal(nr_served, 1);
}

/* If a worker's call raised a signal, the caller makes the call again. */
static void made_again_for_its_signal(void **state)
{
	static const int pipe_is_closed[] = { -EPIPE, 0 };
	static const int too_big[] = { -EFBIG, 0 };
	static const int other[] = { -EIO, 0 };

	reset(pipe_is_closed);
	assert_int_equal(run(WF_CALL_RESTARTS), getpid());
	reset(too_big);
	assert_int_equal(run(WF_CALL_RESTARTS), getpid());
	reset(other);
	assert_int_equal(run(WF_CALL_RESTARTS), -EIO);
}

static long on_descriptor(bool is_slow)
{
	return wf_call_on(FD, WF_CALL(SYS_getpid, 0), is_slow);
}

/* The worker returns 7; the thread itself returns its process id. */
static const int seven[] = { 7, 7 };

static void as_it_is_taken_for(void **state)
{
	reset(seven);
	assert_int_equal(on_descriptor(false), getpid());
	reset(seven);
	assert_int_equal(on_descriptor(true), 7);
}

static void by_how_long_the_last_took(void **state)
{
	reset(seven);
	worker_ns = SLOW_NS;
	assert_int_equal(on_descriptor(true), 7);
	assert_int_equal(on_descriptor(false), 7);
	worker_ns = QUICK_NS;
	assert_int_equal(on_descriptor(false), 7);
	assert_int_equal(on_descriptor(true), getpid());
	wf_descriptor_forget(FD);
	assert_int_equal(on_descriptor(true), 7);
}

static void slow_call_of_the_thread(void **state)
{
	struct timespec a_while = { 0, SLOW_NS };

	reset(seven);
	assert_int_equal(wf_call_on(FD,
				    WF_CALL(SYS_nanosleep, (long)&a_while, 0),
				    false),
			 0);
	assert_int_equal(on_descriptor(false), 7);
}

/* Calls on a quick descriptor are timed only if they cross a kernel tick. */
static void slow_call_on_a_quick_one(void **state)
{
	struct timespec ticks = { 0, 30 * SLOW_NS }, a_while = { 0, SLOW_NS };

	reset(seven);
	wf_descriptor_set_slow(FD, false);
	assert_true(wf_descriptor_is_surely_quick(FD));
	assert_int_equal(wf_call_on(FD, WF_CALL(SYS_nanosleep, (long)&ticks, 0),
				    false),
			 0);
	assert_false(wf_descriptor_is_surely_quick(FD));
	assert_false(wf_descriptor_is_slow(FD, true));
	assert_int_equal(wf_call_on(FD,
				    WF_CALL(SYS_nanosleep, (long)&a_while, 0),
				    false),
			 0);
	assert_int_equal(on_descriptor(false), 7);
}

/* A failed call does not change what is known of the descriptor. */
static void after_a_failure(void **state)
{
	static const int fails[] = { -ENOSYS, 0 };

	reset(fails);
	worker_ns = SLOW_NS;
	assert_int_equal(on_descriptor(true), -ENOSYS);
	assert_int_equal(on_descriptor(false), getpid());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(started_again),
		cmocka_unit_test(ended_by_any_handler),
		cmocka_unit_test(made_again_for_its_signal),
		cmocka_unit_test(as_it_is_taken_for),
		cmocka_unit_test(by_how_long_the_last_took),
		cmocka_unit_test(slow_call_of_the_thread),
		cmocka_unit_test(slow_call_on_a_quick_one),
		cmocka_unit_test(after_a_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * Each way out of a call that waits: how a thread leaves it, and which state
 * the objects must have afterwards.
 *
 *     static const struct way_wait take = {
 *             .prepare = make_semaphore,
 *             .wait = wait_for_semaphore,
 *             .check = is_semaphore_whole,
 *     };
 *     leave_by_all_ways(&take);
 *
 * The thread runs wait(), which does not return. It leaves by a jump out of a
 * handler, by its end, or by a cancellation. after() then runs in the thread,
 * and check() in the thread that started it.
 */
#ifndef WAYS_OUT_H
#define WAYS_OUT_H

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "waiting.h"
#include "ways_out_bare.h"

enum way {
	BY_SIGLONGJMP,
	BY_LONGJMP,
	BY__LONGJMP,
	BY_JUMP_FROM_ALTSTACK,
	BY_JUMP_AFTER_A_WAIT,
	BY_PTHREAD_EXIT,
	BY_FORK_AND_JUMP, /* in parent and child */
	BY_FORK_AND_WAIT, /* the child continues to wait, and jumps later */
	/* not in leave_by_all_ways: libc undoes nothing then */
	BY_SETCONTEXT,
	BY_ASYNC_CANCEL,
	BY_ASYNC_SET_IN_HANDLER,
	BY_CANCEL, /* from here on for cancellation points only */
	BY_CANCEL_WITHOUT_TABLES,
	NR_WAYS,
};

static const char *const way_names[NR_WAYS] = {
	"siglongjmp",
	"longjmp",
	"_longjmp",
	"siglongjmp from an alternate stack",
	"siglongjmp from a handler that has waited",
	"pthread_exit",
	"fork and siglongjmp",
	"fork, and the child waits on",
	"setcontext",
	"asynchronous cancellation",
	"cancellation that a handler has made asynchronous",
	"cancellation",
	"cancellation without unwind tables",
};

struct way_wait {
	void (*prepare)(void);
	void (*wait)(void);
	void (*after)(void); /* runs in the thread, or NULL */
	void (*check)(void);
	bool is_no_cancel_point;
	bool is_no_fork;	/* the child's object is its parent's */
	bool is_no_childs_wait; /* a child's wait fails natively */
	bool is_never_async;	/* asynchronous cancellation fails natively */
	bool changes_mask;	/* the call changes the mask during the wait */
};

static struct {
	enum way way;
	const struct way_wait *wait;
	sigjmp_buf env;
	ucontext_t context;
	volatile int nr_contexts; /* how often the context was resumed */
	sigset_t mask;		  /* the thread's mask before the wait */
} ways;

static void way_check_mask(void)
{
	sigset_t mask;

	if (ways.wait->changes_mask &&
	    (ways.way == BY_LONGJMP || ways.way == BY__LONGJMP))
		return;
	CHECK_EQ(pthread_sigmask(SIG_SETMASK, NULL, &mask), 0);
	/*
	 * A jump that does not restore the mask leaves the handler's signal
	 * blocked.
	 */
	for (int sig = 1; sig < SIGRTMIN; sig++) {
		if (sig != SIGUSR1)
			CHECK_EQ(sigismember(&mask, sig),
				 sigismember(&ways.mask, sig));
	}
}

static void way_after(void *arg)
{
	if (ways.wait->after != NULL)
		ways.wait->after();
}

static void way_end_child(int sig, siginfo_t *info, void *context)
{
	ualarm(0, 0);
	siglongjmp(ways.env, 2);
}

/*
 * The child of a handler's fork must have the object in its parent's state.
 * Returns true in a child that has to continue the wait.
 */
static bool way_fork(void)
{
	pid_t child = fork();
	int status = -1;

	CHECK(child >= 0);
	if (child == 0 && ways.way == BY_FORK_AND_WAIT) {
		handle(SIGALRM, way_end_child, SA_NODEFER);
		ualarm(10000, 10000);
		return true;
	}
	if (child == 0)
		siglongjmp(ways.env, 2);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	return false;
}

static void way_handler(int sig, siginfo_t *info, void *context)
{
	switch (ways.way) {
	case BY_LONGJMP:
		longjmp(ways.env, 1);
	case BY__LONGJMP:
		_longjmp(ways.env, 1);
	case BY_SETCONTEXT:
		setcontext(&ways.context);
		break;
	case BY_PTHREAD_EXIT:
		pthread_exit(PTHREAD_CANCELED);
	case BY_FORK_AND_JUMP:
	case BY_FORK_AND_WAIT:
		if (way_fork())
			return;
		break;
	case BY_ASYNC_SET_IN_HANDLER:
		pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
		nr_handled++;
		return;
	case BY_JUMP_AFTER_A_WAIT:
		usleep(1000);
		sched_yield();
		break;
	default:
		break;
	}
	siglongjmp(ways.env, 1);
}

static void way_use_altstack(void)
{
	stack_t stack = { .ss_size = 64 << 10 };

	stack.ss_sp = malloc(stack.ss_size);
	CHECK(stack.ss_sp != NULL);
	CHECK_EQ(sigaltstack(&stack, NULL), 0);
}

static void way_wait_in(void)
{
	int type;

	if (ways.way == BY_ASYNC_CANCEL)
		CHECK_EQ(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS,
					       &type),
			 0);
	is_ready = 1;
	do {
		errno = 0;
		if (ways.way == BY_CANCEL_WITHOUT_TABLES)
			bare_call(ways.wait->wait);
		else
			ways.wait->wait();
	} while (errno == EINTR && (ways.way == BY_FORK_AND_WAIT ||
				    ways.way == BY_ASYNC_SET_IN_HANDLER));
	CHECK(!"the wait is for ever");
}

/* Overwrites the stack that the wait used, then jumps. */
static __attribute__((noinline)) void way_jump_over(volatile char *above)
{
	volatile char bytes[8192];
	static jmp_buf env;

	memset((char *)bytes, 0x55, sizeof(bytes));
	if (above == NULL) {
		if (setjmp(env) == 0)
			way_jump_over(bytes);
	} else {
		CHECK_EQ(above[0], bytes[0]);
		longjmp(env, 1);
	}
}

static void *way_thread(void *arg)
{
	int jumped;

	if (ways.way == BY_JUMP_FROM_ALTSTACK)
		way_use_altstack();
	CHECK_EQ(pthread_sigmask(SIG_SETMASK, NULL, &ways.mask), 0);
	pthread_cleanup_push(way_after, NULL);
	/* Only those ways restore a mask that use one. */
	jumped = sigsetjmp(ways.env,
			   ways.way != BY_LONGJMP && ways.way != BY__LONGJMP);
	if (ways.way == BY_SETCONTEXT) {
		ways.nr_contexts = 0;
		CHECK_EQ(getcontext(&ways.context), 0);
		jumped = ways.nr_contexts++;
	}
	if (jumped == 0)
		way_wait_in();
	if (ways.way == BY_SETCONTEXT)
		way_jump_over(NULL);
	way_check_mask();
	pthread_cleanup_pop(1);
	if (jumped == 2)
		_exit(0);
	return PTHREAD_CANCELED;
}

static void leave_by(enum way way, const struct way_wait *wait)
{
	pthread_t thread;

	fprintf(stderr, "%s\n", way_names[way]);
	ways.way = way;
	ways.wait = wait;
	wait->prepare();
	handle(SIGUSR1, way_handler,
	       way == BY_JUMP_FROM_ALTSTACK ? SA_ONSTACK : 0);
	is_ready = 0;
	thread = thread_start(way_thread, NULL);
	let_it_wait(&is_ready);
	if (way == BY_ASYNC_SET_IN_HANDLER) {
		nr_handled = 0;
		CHECK_EQ(pthread_kill(thread, SIGUSR1), 0);
		await_count(&nr_handled, 1);
	}
	if (way >= BY_ASYNC_CANCEL)
		CHECK_EQ(pthread_cancel(thread), 0);
	else
		CHECK_EQ(pthread_kill(thread, SIGUSR1), 0);
	CHECK(thread_join(thread) == PTHREAD_CANCELED);
	wait->check();
}

static bool way_fits(enum way way, const struct way_wait *wait)
{
	switch (way) {
	case BY_FORK_AND_JUMP:
		return !wait->is_no_fork;
	case BY_FORK_AND_WAIT:
		return !wait->is_no_fork && !wait->is_no_childs_wait;
	case BY_ASYNC_CANCEL:
	case BY_ASYNC_SET_IN_HANDLER:
		return !wait->is_never_async;
	case BY_CANCEL:
	case BY_CANCEL_WITHOUT_TABLES:
		return !wait->is_no_cancel_point;
	case BY_SETCONTEXT:
		return false;
	default:
		return true;
	}
}

static inline void leave_by_all_ways(const struct way_wait *wait)
{
	for (int way = 0; way < NR_WAYS; way++) {
		if (way_fits((enum way)way, wait))
			leave_by((enum way)way, wait);
	}
}

#endif

/* SPDX-License-Identifier: MIT */
/* User contexts: coroutines in threads, and their signal masks. */
#include <errno.h>
#include <fenv.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <ucontext.h>
#include <unistd.h>

#include "check.h"
#include "child.h"
#include "threading.h"

enum { NR_THREADS = 6, NR_ROUNDS = 300, STACK_BYTES = 128 * 1024 };

struct coroutine {
	ucontext_t self, caller;
	char *stack;
	int nr_steps;
	bool is_over;
};

static _Atomic int nr_handled;

static void note(int sig)
{
	(void)sig;
	nr_handled++;
}

static bool is_blocked(int sig)
{
	sigset_t set;

	CHECK_EQ(pthread_sigmask(SIG_BLOCK, NULL, &set), 0);
	return sigismember(&set, sig) == 1;
}

static void change(int how, int sig)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, sig);
	CHECK_EQ(pthread_sigmask(how, &set, NULL), 0);
}

static void make(struct coroutine *c, ucontext_t *link)
{
	c->stack = malloc(STACK_BYTES);
	c->nr_steps = 0;
	c->is_over = false;
	CHECK(c->stack != NULL);
	CHECK_EQ(getcontext(&c->self), 0);
	c->self.uc_stack.ss_sp = c->stack;
	c->self.uc_stack.ss_size = STACK_BYTES;
	c->self.uc_link = link;
}

/* makecontext passes ints, so portable programs split a pointer into two. */
static struct coroutine *pointer_of(unsigned int high, unsigned int low)
{
	return (struct coroutine *)((uintptr_t)high << 32 | low);
}

static void pass(struct coroutine *c, void (*fn)(unsigned int, unsigned int))
{
	uintptr_t p = (uintptr_t)c;

	makecontext(&c->self, (void (*)(void))fn, 2, (unsigned int)(p >> 32),
		    (unsigned int)p);
}

/* --- coroutines ----------------------------------------------------------- */

static void count_steps(unsigned int high, unsigned int low)
{
	struct coroutine *c = pointer_of(high, low);
	volatile double x = 1;

	for (int i = 0; i < NR_ROUNDS; i++) {
		for (int k = 0; k < 500; k++)
			x = x * 1.0000001 + 1;
		sched_yield();
		c->nr_steps++;
		CHECK_EQ(swapcontext(&c->self, &c->caller), 0);
	}
	c->is_over = true;
}

static void *run_coroutines(void *arg)
{
	struct coroutine c[2];

	for (int i = 0; i < 2; i++) {
		make(&c[i], &c[i].caller);
		pass(&c[i], count_steps);
	}
	for (int round = 1; round <= NR_ROUNDS; round++) {
		for (int i = 0; i < 2; i++) {
			errno = round;
			CHECK_EQ(swapcontext(&c[i].caller, &c[i].self), 0);
			CHECK_EQ(errno, round);
			CHECK_EQ(c[i].nr_steps, round);
		}
	}
	for (int i = 0; i < 2; i++) {
		CHECK(!c[i].is_over);
		CHECK_EQ(swapcontext(&c[i].caller, &c[i].self), 0);
		CHECK(c[i].is_over);
		free(c[i].stack);
	}
	return arg;
}

TEST(coroutines_in_threads)
{
	pthread_t threads[NR_THREADS];

	threads_start(threads, NR_THREADS, run_coroutines, NULL);
	threads_join(threads, NR_THREADS);
	run_coroutines(NULL);
}

static long sums[2];

static void add_many(int a, int b, int c, int d, int e, int f, int g, int h,
		     int i)
{
	sums[0] = a + 10 * b + 100 * c + 1000 * d + 10000 * e;
	sums[1] = f + 10 * g + 100 * h + 1000 * i;
}

static void *run_many_arguments(void *arg)
{
	struct coroutine c;

	make(&c, &c.caller);
	makecontext(&c.self, (void (*)(void))add_many, 9, 1, 2, 3, 4, 5, 6, 7,
		    8, 9);
	CHECK_EQ(swapcontext(&c.caller, &c.self), 0);
	CHECK_EQ(sums[0], 54321);
	CHECK_EQ(sums[1], 9876);
	free(c.stack);
	return arg;
}

TEST(arguments_on_the_stack)
{
	thread_join(thread_start(run_many_arguments, NULL));
	run_many_arguments(NULL);
}

static void *return_twice(void *arg)
{
	volatile int nr = 0;
	ucontext_t here;

	CHECK_EQ(getcontext(&here), 0);
	if (++nr < 4)
		setcontext(&here);
	CHECK_EQ(nr, 4);
	return arg;
}

TEST(setcontext_goes_back)
{
	thread_join(thread_start(return_twice, NULL));
	return_twice(NULL);
}

static void end_here(void)
{
}

static void run_to_the_end(void)
{
	struct coroutine c;

	thread_join(thread_start(return_twice, NULL));
	make(&c, NULL);
	makecontext(&c.self, end_here, 0);
	setcontext(&c.self);
	_exit(1);
}

TEST(no_link_ends_the_process)
{
	CHECK_EQ(child_exit_status(run_to_the_end), 0);
}

static void change_rounding(unsigned int high, unsigned int low)
{
	struct coroutine *c = pointer_of(high, low);

	fesetround(FE_UPWARD);
	swapcontext(&c->self, &c->caller);
	c->is_over = fegetround() == FE_UPWARD;
}

static void *check_rounding(void *arg)
{
	struct coroutine c;

	make(&c, &c.caller);
	pass(&c, change_rounding);
	CHECK_EQ(swapcontext(&c.caller, &c.self), 0);
	CHECK_EQ(fegetround(), FE_TONEAREST);
	CHECK_EQ(swapcontext(&c.caller, &c.self), 0);
	CHECK(c.is_over);
	CHECK_EQ(fegetround(), FE_TONEAREST);
	free(c.stack);
	return arg;
}

TEST(rounding_mode_is_the_contexts)
{
	thread_join(thread_start(check_rounding, NULL));
}

/* --- masks ---------------------------------------------------------------- */

static void check_inside(unsigned int high, unsigned int low)
{
	struct coroutine *c = pointer_of(high, low);

	/* The context begins with the mask of the time of getcontext. */
	CHECK(is_blocked(SIGUSR1));
	CHECK(!is_blocked(SIGUSR2));
	sched_yield();
	change(SIG_BLOCK, SIGUSR2);
	c->nr_steps++;
	CHECK_EQ(swapcontext(&c->self, &c->caller), 0);
	CHECK(is_blocked(SIGUSR2));
	c->nr_steps++;
}

static void *check_masks(void *arg)
{
	struct coroutine c;

	change(SIG_BLOCK, SIGUSR1);
	make(&c, &c.caller);
	pass(&c, check_inside);
	change(SIG_UNBLOCK, SIGUSR1);
	CHECK_EQ(swapcontext(&c.caller, &c.self), 0);
	CHECK_EQ(c.nr_steps, 1);
	CHECK(!is_blocked(SIGUSR1));
	CHECK(!is_blocked(SIGUSR2));
	/*
	 * setcontext has changed the mask in effect, and not only the mask that
	 * is reported: the signals are delivered.
	 */
	nr_handled = 0;
	CHECK_EQ(raise(SIGUSR2), 0);
	CHECK_EQ(nr_handled, 1);
	CHECK_EQ(swapcontext(&c.caller, &c.self), 0);
	CHECK_EQ(c.nr_steps, 2);
	CHECK(!is_blocked(SIGUSR2));
	sched_yield();
	CHECK(!is_blocked(SIGUSR2));
	free(c.stack);
	return arg;
}

TEST(masks_are_the_contexts)
{
	signal(SIGUSR2, note);
	thread_join(thread_start(check_masks, NULL));
	check_masks(NULL);
}

/*
 * A context's mask holds signals back until another context's mask opens them.
 */
static void raise_blocked(unsigned int high, unsigned int low)
{
	struct coroutine *c = pointer_of(high, low);

	CHECK_EQ(pthread_kill(pthread_self(), SIGUSR1), 0);
	CHECK_EQ(nr_handled, 0);
	c->nr_steps++;
}

static void *check_delivery(void *arg)
{
	struct coroutine c;

	change(SIG_BLOCK, SIGUSR1);
	make(&c, &c.caller);
	pass(&c, raise_blocked);
	change(SIG_UNBLOCK, SIGUSR1);
	CHECK_EQ(swapcontext(&c.caller, &c.self), 0);
	CHECK_EQ(c.nr_steps, 1);
	CHECK_EQ(nr_handled, 1);
	free(c.stack);
	return arg;
}

TEST(opening_by_a_context_delivers)
{
	signal(SIGUSR1, note);
	thread_join(thread_start(check_delivery, NULL));
}

static ucontext_t out_of_handler;
static volatile int nr_times;

static void leave(int sig)
{
	CHECK(is_blocked(sig));
	setcontext(&out_of_handler);
}

static void *leave_handlers(void *arg)
{
	nr_times = 0;
	CHECK_EQ(getcontext(&out_of_handler), 0);
	CHECK(!is_blocked(SIGUSR1));
	if (nr_times++ < 20)
		raise(SIGUSR1);
	CHECK_EQ(nr_times, 21);
	return arg;
}

TEST(setcontext_out_of_a_handler)
{
	signal(SIGUSR1, leave);
	thread_join(thread_start(leave_handlers, NULL));
	leave_handlers(NULL);
}

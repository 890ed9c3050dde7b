/* SPDX-License-Identifier: MIT */
/* Stacks in use: a stack that is nearly full, overflow, thousands at a time. */
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "check.h"
#include "child.h"
#include "threading.h"

#define STACK_BYTES (1 << 20)
#define FRAME_BYTES 1024

static _Atomic size_t bytes_wanted;

__attribute__((noinline)) static size_t descend(size_t bytes)
{
	volatile char frame[FRAME_BYTES];

	frame[0] = 1;
	frame[FRAME_BYTES - 1] = 1;
	if (bytes > FRAME_BYTES)
		return descend(bytes - FRAME_BYTES) + (size_t)frame[0];
	return (size_t)frame[FRAME_BYTES - 1];
}

static void *descend_wanted(void *arg)
{
	CHECK(descend(bytes_wanted) > 0);
	return arg;
}

static pthread_t start_small(void *(*f)(void *))
{
	pthread_attr_t attr;
	pthread_t t;

	CHECK_EQ(pthread_attr_init(&attr), 0);
	CHECK_EQ(pthread_attr_setstacksize(&attr, STACK_BYTES), 0);
	CHECK_EQ(pthread_create(&t, &attr, f, NULL), 0);
	return t;
}

/* Frames are a little larger than the size that is asked for. */
TEST(nearly_all_of_it)
{
	bytes_wanted = STACK_BYTES * 3 / 4;
	for (int i = 0; i < 20; i++)
		thread_join(start_small(descend_wanted));
}

TEST(nearly_all_of_many)
{
	pthread_t threads[50];

	bytes_wanted = STACK_BYTES * 3 / 4;
	for (int i = 0; i < 50; i++)
		threads[i] = start_small(descend_wanted);
	threads_join(threads, 50);
}

static void overflow(void)
{
	bytes_wanted = STACK_BYTES * 4;
	thread_join(start_small(descend_wanted));
}

TEST(overflow_is_a_fault)
{
	CHECK_EQ(child_signal(overflow), SIGSEGV);
}

__attribute__((noinline)) static size_t descend_below(uintptr_t low)
{
	volatile char frame[FRAME_BYTES / 4];

	frame[0] = 1;
	if ((uintptr_t)frame > low)
		return descend_below(low) + (size_t)frame[0];
	return (size_t)frame[0];
}

static void *use_as_much_as_asked(void *arg)
{
	char here;

	CHECK(descend_below((uintptr_t)&here - STACK_BYTES) > 0);
	return arg;
}

static void overflow_by_little(void)
{
	thread_join(start_small(use_as_much_as_asked));
}

/* The extra space that libc needs is not usable by the program. */
TEST(no_more_than_was_asked_for)
{
	CHECK_EQ(child_signal(overflow_by_little), SIGSEGV);
}

static void overflow_of_default(void)
{
	bytes_wanted = (size_t)1 << 30;
	thread_join(thread_start(descend_wanted, NULL));
}

TEST(overflow_of_default_stack)
{
	CHECK_EQ(child_signal(overflow_of_default), SIGSEGV);
}

static void overflow_of_main(void)
{
	bytes_wanted = 10000;
	thread_join(thread_start(descend_wanted, NULL));
	bytes_wanted = (size_t)1 << 30;
	descend_wanted(NULL);
}

TEST(overflow_of_main_stack)
{
	struct rlimit limit;

	CHECK_EQ(getrlimit(RLIMIT_STACK, &limit), 0);
	if (limit.rlim_cur > 64 << 20)
		SKIP("the main stack is unlimited");
	CHECK_EQ(child_signal(overflow_of_main), SIGSEGV);
}

/* The program's handler on an alternate stack sees the overflow. */
static void exit_in_handler(int nr)
{
	_Exit(nr == SIGSEGV ? 44 : 45);
}

static void *overflow_on_altstack(void *arg)
{
	stack_t stack = { .ss_size = 64 << 10 };

	stack.ss_sp = malloc(stack.ss_size);
	CHECK_EQ(sigaltstack(&stack, NULL), 0);
	bytes_wanted = (size_t)1 << 30;
	return descend_wanted(arg);
}

static void handle_overflow(void)
{
	struct sigaction action = { .sa_handler = exit_in_handler,
				    .sa_flags = SA_ONSTACK };

	CHECK_EQ(sigaction(SIGSEGV, &action, NULL), 0);
	thread_join(start_small(overflow_on_altstack));
}

TEST(overflow_reaches_handler)
{
	CHECK_EQ(child_exit_status(handle_overflow), 44);
}

#define NR_MANY 2000

static pthread_barrier_t barrier;
static _Atomic int nr_alive;

static void *meet(void *arg)
{
	volatile char area[2000];

	memset((char *)area, 1, sizeof(area));
	nr_alive++;
	pthread_barrier_wait(&barrier);
	CHECK_EQ(nr_alive, NR_MANY);
	pthread_barrier_wait(&barrier);
	CHECK_EQ(area[1999], 1);
	return arg;
}

TEST(two_thousand_at_once)
{
	static pthread_t threads[NR_MANY];

	CHECK_EQ(pthread_barrier_init(&barrier, NULL, NR_MANY + 1), 0);
	for (int round = 0; round < 2; round++) {
		nr_alive = 0;
		for (int i = 0; i < NR_MANY; i++)
			threads[i] = start_small(meet);
		pthread_barrier_wait(&barrier);
		CHECK_EQ(nr_alive, NR_MANY);
		pthread_barrier_wait(&barrier);
		threads_join(threads, NR_MANY);
	}
}

TEST(ten_thousand_in_turn)
{
	bytes_wanted = 2000;
	for (int i = 0; i < 100; i++) {
		pthread_t threads[100];

		threads_start(threads, 100, descend_wanted, NULL);
		threads_join(threads, 100);
	}
}

/* --- bounds that pthread_getattr_np returns ------------------------------- */

struct told {
	char *low;
	size_t bytes;
	char *frame; /* an address in the thread's frame */
};

static void *note_frame(void *arg)
{
	struct told *told = arg;

	told->frame = __builtin_frame_address(0);
	return arg;
}

static void ask(pthread_t thread, struct told *told)
{
	pthread_attr_t attr;
	void *low;

	CHECK_EQ(pthread_getattr_np(thread, &attr), 0);
	CHECK_EQ(pthread_attr_getstack(&attr, &low, &told->bytes), 0);
	told->low = low;
	CHECK_EQ(pthread_attr_destroy(&attr), 0);
}

/*
 * Asks for the bounds before threads begin, while others end, and from inside.
 */
TEST(bounds_read_by_other_threads)
{
	enum { NR = 200 };
	static struct told told[NR];
	pthread_t threads[NR];

	for (int i = 0; i < NR; i++)
		threads[i] = thread_start(note_frame, &told[i]);
	for (int i = 0; i < NR; i += 2)
		ask(threads[i], &told[i]);
	for (int i = 1; i < NR; i += 2) {
		thread_join(threads[i]);
		ask(threads[i - 1], &told[i]);
		thread_join(threads[i - 1]);
		CHECK(told[i].low == told[i - 1].low);
	}
	for (int i = 0; i < NR; i += 2) {
		CHECK(told[i].frame >= told[i].low);
		CHECK(told[i].frame < told[i].low + told[i].bytes);
	}
}

/* --- stacks are not shared ------------------------------------------------ */

enum { NR_HOLDERS = 150 };

/* Fills a part of its stack with a value that no other thread uses. */
static void *hold(void *arg)
{
	volatile intptr_t area[400];

	for (int i = 0; i < 400; i++)
		area[i] = (intptr_t)arg;
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 400; i++)
		CHECK_EQ(area[i], (intptr_t)arg);
	return arg;
}

static void hold_all(void)
{
	pthread_t threads[NR_HOLDERS];

	CHECK_EQ(pthread_barrier_init(&barrier, NULL, NR_HOLDERS), 0);
	threads_start_numbered(threads, NR_HOLDERS, hold);
	threads_join(threads, NR_HOLDERS);
}

static void join_many(void)
{
	pthread_t threads[NR_HOLDERS];

	threads_start(threads, NR_HOLDERS, thread_nothing, NULL);
	threads_join(threads, NR_HOLDERS);
}

/* Threads one after the other, then many at once. */
TEST(in_turn_then_at_once)
{
	for (int round = 0; round < 5; round++) {
		join_many();
		hold_all();
	}
}

static _Atomic bool is_over;

static void *churn(void *arg)
{
	while (!is_over)
		join_many();
	return arg;
}

static void *fork_and_hold(void *arg)
{
	for (int i = 0; i < 5; i++) {
		join_many();
		CHECK_EQ(child_exit_status(hold_all), 0);
	}
	return arg;
}

/* Forks in a thread that began after others ended, while more of them end. */
TEST(in_a_fork_child)
{
	pthread_t churners[2], forker;

	threads_start(churners, 2, churn, NULL);
	join_many();
	forker = thread_start(fork_and_hold, NULL);
	thread_join(forker);
	is_over = true;
	threads_join(churners, 2);
}

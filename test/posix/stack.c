/* Stacks in use: nearly all of one, overflow, thousands at a time. */
#include <signal.h>
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

/* Frames are a little larger than what they ask for. */
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

/* The program's own handler on its own stack sees the overflow. */
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

/* SPDX-License-Identifier: MIT */
/*
 * Code on threads' stacks, which C's nested functions need. The program asks
 * for executable stacks, or loads a library that asks.
 */
#include <link.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>

#include "modules.h"
#include "threading.h"

enum { NR_THREADS = 5, ANSWER = 42 };

typedef int (*code_fn)(void);

static pthread_barrier_t barrier;
static code_fn code_of_other;

static code_fn put_code(void *to)
{
	/* mov $42,%eax; ret */
	static const unsigned char bytes[] = { 0xb8, ANSWER, 0, 0, 0, 0xc3 };
	code_fn code;

	memcpy(to, bytes, sizeof(bytes));
	/* The compiler does not see that the bytes are executed. */
	__asm__ volatile("" : : "r"(to) : "memory");
	memcpy(&code, &to, sizeof(code));
	return code;
}

static void execute_own(void)
{
	unsigned char bytes[16];

	CHECK_EQ(put_code(bytes)(), ANSWER);
}

static int has_code_on_stacks(struct dl_phdr_info *info, size_t size, void *arg)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type == PT_GNU_STACK)
			return (info->dlpi_phdr[i].p_flags & PF_X) != 0 ? 1 : 2;
	}
	return 2;
}

/* dl_iterate_phdr reports the program first, so only it is checked. */
static bool asks_for_it(void)
{
	return dl_iterate_phdr(has_code_on_stacks, NULL) == 1;
}

static void ask_for_it(void)
{
	if (!asks_for_it() && module_try_open("plugins/stack_code.so") == NULL)
		SKIP("libc loads no such library");
}

static void *wait_then_execute(void *arg)
{
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	execute_own();
	return arg;
}

TEST(older_threads)
{
	pthread_t threads[NR_THREADS];

	CHECK_EQ(pthread_barrier_init(&barrier, NULL, NR_THREADS + 1), 0);
	threads_start(threads, NR_THREADS, wait_then_execute, NULL);
	pthread_barrier_wait(&barrier);
	ask_for_it();
	execute_own();
	pthread_barrier_wait(&barrier);
	threads_join(threads, NR_THREADS);
}

static void *execute(void *arg)
{
	execute_own();
	return arg;
}

TEST(younger_threads)
{
	pthread_t threads[NR_THREADS];

	ask_for_it();
	for (int i = 0; i < 100; i++) {
		threads_start(threads, NR_THREADS, execute, NULL);
		threads_join(threads, NR_THREADS);
	}
}

static void *lend(void *arg)
{
	unsigned char bytes[16];

	code_of_other = put_code(bytes);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	return arg;
}

TEST(stack_of_another)
{
	pthread_t thread;

	CHECK_EQ(pthread_barrier_init(&barrier, NULL, 2), 0);
	have_threads();
	ask_for_it();
	thread = thread_start(lend, NULL);
	pthread_barrier_wait(&barrier);
	CHECK_EQ(code_of_other(), ANSWER);
	pthread_barrier_wait(&barrier);
	thread_join(thread);
}

static void *execute_undisturbed(void *arg)
{
	sigset_t all;

	sigfillset(&all);
	CHECK_EQ(pthread_sigmask(SIG_BLOCK, &all, NULL), 0);
	execute_own();
	return arg;
}

TEST(all_signals_blocked)
{
	if (!asks_for_it())
		SKIP("the program does not ask for it");
	thread_join(thread_start(execute_undisturbed, NULL));
}

static volatile sig_atomic_t nr_faults;
static sigjmp_buf before;

static void on_fault(int sig)
{
	nr_faults++;
	siglongjmp(before, sig);
}

static void execute_refused(void *at)
{
	CHECK(signal(SIGSEGV, on_fault) != SIG_ERR);
	if (sigsetjmp(before, 1) == 0)
		put_code(at)();
	CHECK_EQ(nr_faults, 1);
}

static void *execute_static(void *arg)
{
	static unsigned char bytes[16];

	execute_refused(bytes);
	return arg;
}

TEST(no_code_elsewhere)
{
	ask_for_it();
	thread_join(thread_start(execute_static, NULL));
}

static void *execute_unasked(void *arg)
{
	unsigned char bytes[16];

	execute_refused(bytes);
	return arg;
}

TEST(no_code_unasked)
{
	if (asks_for_it())
		SKIP("the program asks for it");
	thread_join(thread_start(execute_unasked, NULL));
}

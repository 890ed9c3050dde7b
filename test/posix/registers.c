/* SPDX-License-Identifier: MIT */
/*
 * Registers and flags that a thread changes without a call. Each thread keeps
 * its own, whatever it does, and a new thread has its creator's.
 */
#include <fenv.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "child.h"
#include "signalling.h"
#include "threading.h"

enum { NR_THREADS = 12, NR_ROUNDS = 200, HWCAP2_FSGSBASE = 2 };
/* Each yield may take as long as the slices of all computing threads. */
enum { NR_YIELDS_BESIDE_COMPUTING = 20 };

/* --- the registers ------------------------------------------------------- */

static uint64_t gs_base(void)
{
	uint64_t base;

	__asm__ volatile("rdgsbase %0" : "=r"(base));
	return base;
}

static void set_gs_base(uint64_t base)
{
	__asm__ volatile("wrgsbase %0" : : "r"(base) : "memory");
}

/* Returns bit 18 of rflags. */
static uint64_t alignment_check(void)
{
	uint64_t flags;

	__asm__ volatile("pushfq; popq %0" : "=r"(flags));
	return flags >> 18 & 1;
}

static uint32_t mxcsr(void)
{
	uint32_t word;

	__asm__ volatile("stmxcsr %0" : "=m"(word));
	return word;
}

static void set_mxcsr(uint32_t word)
{
	__asm__ volatile("ldmxcsr %0" : : "m"(word));
}

static uint16_t x87_control(void)
{
	uint16_t word;

	__asm__ volatile("fnstcw %0" : "=m"(word));
	return word;
}

static void set_x87_control(uint16_t word)
{
	__asm__ volatile("fldcw %0" : : "m"(word));
}

static void need_gs(void)
{
	if ((getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE) == 0)
		SKIP("there is no wrgsbase");
}

/* --- gs base ------------------------------------------------------------- */

static struct block {
	uint64_t number;
} blocks[NR_THREADS];

static uint64_t number_by_gs(void)
{
	uint64_t number;

	__asm__ volatile("movq %%gs:0, %0" : "=r"(number));
	return number;
}

static void use_block(intptr_t n)
{
	blocks[n].number = (uint64_t)n + 1;
	set_gs_base((uint64_t)&blocks[n]);
}

static void *yield_often(void *arg)
{
	intptr_t n = (intptr_t)arg;

	use_block(n);
	for (int i = 0; i < NR_ROUNDS; i++) {
		sched_yield();
		CHECK_EQ(number_by_gs(), n + 1);
	}
	return NULL;
}

TEST(gs_base_of_threads_that_yield)
{
	pthread_t threads[NR_THREADS];

	need_gs();
	threads_start_numbered(threads, NR_THREADS, yield_often);
	threads_join(threads, NR_THREADS);
	CHECK_EQ(gs_base(), 0);
}

static atomic_int nr_computing;

static void *compute(void *arg)
{
	intptr_t n = (intptr_t)arg;

	use_block(n);
	atomic_fetch_add(&nr_computing, 1);
	/*
	 * Preemption alone can let the other threads begin: this makes no call.
	 */
	while (atomic_load(&nr_computing) < NR_THREADS)
		CHECK_EQ(number_by_gs(), n + 1);
	for (int i = 0; i < 3000000; i++)
		CHECK_EQ(number_by_gs(), n + 1);
	return NULL;
}

TEST(gs_base_of_threads_that_compute)
{
	pthread_t threads[NR_THREADS];

	need_gs();
	threads_start_numbered(threads, NR_THREADS, compute);
	threads_join(threads, NR_THREADS);
}

static sem_t turns[2];
static int pipe_ends[2];

static void *wait_in_turn(void *arg)
{
	intptr_t n = (intptr_t)arg;
	char byte = 0;

	use_block(n);
	for (int i = 0; i < NR_ROUNDS; i++) {
		CHECK_EQ(sem_wait(&turns[n]), 0);
		CHECK_EQ(number_by_gs(), n + 1);
		if (n == 0)
			CHECK_EQ(write(pipe_ends[1], &byte, 1), 1);
		else
			CHECK_EQ(read(pipe_ends[0], &byte, 1), 1);
		CHECK_EQ(number_by_gs(), n + 1);
		CHECK_EQ(sem_post(&turns[1 - n]), 0);
	}
	return NULL;
}

TEST(gs_base_of_threads_that_wait)
{
	pthread_t threads[2];

	need_gs();
	CHECK_EQ(pipe(pipe_ends), 0);
	CHECK_EQ(sem_init(&turns[0], 0, 1), 0);
	CHECK_EQ(sem_init(&turns[1], 0, 0), 0);
	threads_start_numbered(threads, 2, wait_in_turn);
	threads_join(threads, 2);
}

static void *tell_gs_base(void *arg)
{
	return (void *)gs_base();
}

static void *create_with_own(void *arg)
{
	set_gs_base(0x12340);
	CHECK(thread_join(thread_start(tell_gs_base, NULL)) == (void *)0x12340);
	set_gs_base(0);
	CHECK(thread_join(thread_start(tell_gs_base, NULL)) == NULL);
	return NULL;
}

TEST(gs_base_is_the_creators)
{
	pthread_t threads[NR_THREADS];

	need_gs();
	set_gs_base(0x45670); /* set before the first thread exists */
	CHECK(thread_join(thread_start(tell_gs_base, NULL)) == (void *)0x45670);
	threads_start(threads, NR_THREADS, create_with_own, NULL);
	threads_join(threads, NR_THREADS);
	CHECK_EQ(gs_base(), 0x45670);
}

static _Atomic uint64_t seen_by_handler;

static void on_signal(int sig, siginfo_t *info, void *ucontext)
{
	atomic_store(&seen_by_handler, gs_base());
	set_gs_base(0x777770); /* remains, as no code restores it */
	sched_yield();
}

static void *be_interrupted(void *arg)
{
	set_gs_base(0x111110);
	CHECK_EQ(pthread_kill(pthread_self(), SIGUSR1), 0);
	CHECK_EQ(atomic_load(&seen_by_handler), 0x111110);
	sched_yield();
	CHECK_EQ(gs_base(), 0x777770);
	return NULL;
}

TEST(gs_base_in_handlers)
{
	need_gs();
	handle(SIGUSR1, on_signal, 0);
	thread_join(thread_start(be_interrupted, NULL));
}

static void *fork_with_own(void *arg)
{
	pid_t pid;

	set_gs_base(0x222220);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		bool is_kept = gs_base() == 0x222220;

		thread_join(thread_start(yield_often, NULL));
		_exit(is_kept && gs_base() == 0x222220 ? 0 : 1);
	}
	CHECK_EQ(child_wait(pid), 0);
	CHECK_EQ(gs_base(), 0x222220);
	return NULL;
}

TEST(gs_base_in_a_fork_child)
{
	need_gs();
	thread_join(thread_start(fork_with_own, NULL));
}

/* --- floating point ------------------------------------------------------ */

/* Sets flush-to-zero, and the sticky flag of an inexact result. */
static uint32_t nth_mxcsr(intptr_t n)
{
	return 0x1f80U | (n % 2 != 0 ? 0x8000U : 0) | (n % 3 == 0 ? 0x20U : 0);
}

static uint16_t nth_x87(intptr_t n)
{
	return n % 2 != 0 ? 0x37f : 0x77f; /* rounds to nearest or down */
}

static void *keep_control_words(void *arg)
{
	intptr_t n = (intptr_t)arg;

	set_mxcsr(nth_mxcsr(n));
	set_x87_control(nth_x87(n));
	for (int i = 0; i < NR_YIELDS_BESIDE_COMPUTING; i++) {
		sched_yield();
		CHECK_EQ(mxcsr(), nth_mxcsr(n));
		CHECK_EQ(x87_control(), nth_x87(n));
	}
	atomic_fetch_add(&nr_computing, 1);
	while (atomic_load(&nr_computing) < NR_THREADS) {
		CHECK_EQ(mxcsr(), nth_mxcsr(n));
		CHECK_EQ(x87_control(), nth_x87(n));
	}
	return NULL;
}

TEST(control_words)
{
	pthread_t threads[NR_THREADS];

	threads_start_numbered(threads, NR_THREADS, keep_control_words);
	threads_join(threads, NR_THREADS);
}

/* A computing thread is preempted, so its whole state is in a signal frame. */
static void *keep_status(void *arg)
{
	intptr_t n = (intptr_t)arg;

	feclearexcept(FE_ALL_EXCEPT);
	if (n % 2 != 0)
		__asm__ volatile("fld1; fldz; fdivrp; fstp %%st(0)" : : : "st");
	atomic_fetch_add(&nr_computing, 1);
	for (;;) {
		bool is_last = atomic_load(&nr_computing) >= NR_THREADS;
		uint16_t status;

		__asm__ volatile("fnstsw %0" : "=m"(status));
		CHECK_EQ((status & FE_DIVBYZERO) != 0, n % 2 != 0);
		if (is_last)
			return NULL;
	}
}

TEST(x87_status_of_threads_that_compute)
{
	pthread_t threads[NR_THREADS];

	threads_start_numbered(threads, NR_THREADS, keep_status);
	threads_join(threads, NR_THREADS);
}

/* --- flags --------------------------------------------------------------- */

static void *keep_alignment_check(void *arg)
{
	intptr_t n = (intptr_t)arg;

	if (n % 2 != 0)
		__asm__ volatile("pushfq; orq $0x40000, (%%rsp); popfq"
				 :
				 :
				 : "cc", "memory");
	atomic_fetch_add(&nr_computing, 1);
	for (;;) {
		bool is_last = atomic_load(&nr_computing) >= NR_THREADS;
		bool is_kept = alignment_check() == (uint64_t)n % 2;

		if (is_last || !is_kept) {
			__asm__ volatile("pushfq; andq $~0x40000, (%%rsp); "
					 "popfq"
					 :
					 :
					 : "cc", "memory");
			CHECK(is_kept);
			return NULL;
		}
	}
}

TEST(alignment_check_of_threads_that_compute)
{
	pthread_t threads[NR_THREADS];

	threads_start_numbered(threads, NR_THREADS, keep_alignment_check);
	threads_join(threads, NR_THREADS);
}

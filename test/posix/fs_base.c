/* SPDX-License-Identifier: MIT */
/*
 * A thread that computes on an fs base of its own, as emulators do. It loads
 * the base, calls no libc function, and loads libc's base again. Meanwhile it
 * is preempted, and signal handlers run on the foreign base.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "check.h"
#include "signalling.h"
#include "threading.h"

enum { NR_THREADS = 4, NR_SIGNALS = 40, NR_ALARMS = 20, HWCAP2_FSGSBASE = 2 };
enum { ARCH_SET_FS = 0x1002 };

/* The memory to which a thread's foreign base points. */
static struct block {
	uint64_t number;
	uint64_t others[15];
} blocks[NR_THREADS];

static atomic_int nr_computing;
static atomic_bool is_over;
static atomic_long nr_handled, nr_wrong;

/* One asm statement: the compiler must not use thread-local data in between. */
static inline uint64_t fs_base(void)
{
	uint64_t base;

	__asm__ volatile("rdfsbase %0" : "=r"(base));
	return base;
}

static inline void set_fs_base(uint64_t base)
{
	__asm__ volatile("wrfsbase %0" : : "r"(base) : "memory");
}

static inline uint64_t number_by_fs(void)
{
	uint64_t number;

	__asm__ volatile("movq %%fs:0, %0" : "=r"(number));
	return number;
}

static inline void set_by_call(uint64_t base)
{
	long r = SYS_arch_prctl;

	__asm__ volatile("syscall"
			 : "+a"(r)
			 : "D"(ARCH_SET_FS), "S"(base)
			 : "rcx", "r11", "memory");
}

static void need_fs(void)
{
	if ((getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE) == 0)
		SKIP("there is no wrfsbase");
}

/* --- preemption ---------------------------------------------------------- */

static void *compute(void *arg)
{
	intptr_t n = (intptr_t)arg;
	uint64_t own = fs_base(), base = (uint64_t)&blocks[n];
	long wrong = 0;

	blocks[n].number = (uint64_t)n + 1;
	if (n % 2 == 0)
		set_fs_base(base);
	else
		set_by_call(base);
	atomic_fetch_add(&nr_computing, 1);
	/* The other threads can begin only if this thread is preempted. */
	while (atomic_load(&nr_computing) < NR_THREADS)
		wrong += number_by_fs() != (uint64_t)n + 1;
	for (int i = 0; i < 3000000; i++)
		wrong += number_by_fs() != (uint64_t)n + 1;
	wrong += fs_base() != base;
	set_fs_base(own);
	CHECK_EQ(wrong, 0);
	sched_yield();
	return NULL;
}

TEST(preempted)
{
	pthread_t threads[NR_THREADS];

	need_fs();
	threads_start_numbered(threads, NR_THREADS, compute);
	threads_join(threads, NR_THREADS);
}

/* --- signals ------------------------------------------------------------- */

/* A handler runs on the base of the code that it interrupts. */
static void on_signal(int sig, siginfo_t *info, void *ucontext)
{
	uint64_t base = fs_base();

	if (base < (uint64_t)blocks || base >= (uint64_t)&blocks[NR_THREADS])
		atomic_fetch_add(&nr_wrong, 1);
	if (((ucontext_t *)ucontext)->uc_link != NULL)
		atomic_fetch_add(&nr_wrong, 1);
	atomic_fetch_add(&nr_handled, 1);
}

static void *compute_until_over(void *arg)
{
	intptr_t n = (intptr_t)arg;
	uint64_t own = fs_base();
	long wrong = 0;

	blocks[n].number = (uint64_t)n + 1;
	set_fs_base((uint64_t)&blocks[n]);
	atomic_fetch_add(&nr_computing, 1);
	while (!atomic_load(&is_over))
		wrong += number_by_fs() != (uint64_t)n + 1;
	set_fs_base(own);
	CHECK_EQ(wrong, 0);
	return NULL;
}

static void signal_and_wait(pthread_t *threads, int nr)
{
	while (atomic_load(&nr_computing) < nr)
		sched_yield();
	for (long i = 0; i < NR_SIGNALS; i++) {
		CHECK_EQ(pthread_kill(threads[i % nr], SIGUSR1), 0);
		while (atomic_load(&nr_handled) <= i)
			sched_yield();
	}
	atomic_store(&is_over, true);
	threads_join(threads, nr);
	CHECK_EQ(atomic_load(&nr_wrong), 0);
	CHECK_EQ(atomic_load(&nr_handled), NR_SIGNALS);
}

TEST(handlers_of_a_directed_signal)
{
	pthread_t threads[NR_THREADS];

	need_fs();
	handle(SIGUSR1, on_signal, SA_RESTART);
	threads_start_numbered(threads, NR_THREADS, compute_until_over);
	signal_and_wait(threads, NR_THREADS);
}

static char stacks[NR_THREADS][64 * 1024];

static void *compute_with_altstack(void *arg)
{
	stack_t ss = { .ss_sp = stacks[(intptr_t)arg],
		       .ss_size = sizeof(stacks[0]) };

	CHECK_EQ(sigaltstack(&ss, NULL), 0);
	return compute_until_over(arg);
}

TEST(handlers_on_an_alternate_stack)
{
	pthread_t threads[NR_THREADS];

	need_fs();
	handle(SIGUSR1, on_signal, SA_ONSTACK);
	threads_start_numbered(threads, NR_THREADS, compute_with_altstack);
	signal_and_wait(threads, NR_THREADS);
}

/* Timers signal the process, so any thread may handle SIGALRM. */
static void on_alarm(int sig, siginfo_t *info, void *ucontext)
{
	atomic_fetch_add(&nr_handled, 1);
}

TEST(signals_to_the_process)
{
	struct itimerval often = { { 0, 2000 }, { 0, 2000 } }, none = { 0 };
	pthread_t threads[NR_THREADS];

	need_fs();
	handle(SIGALRM, on_alarm, SA_RESTART);
	threads_start_numbered(threads, NR_THREADS, compute_until_over);
	CHECK_EQ(setitimer(ITIMER_REAL, &often, NULL), 0);
	while (atomic_load(&nr_handled) < NR_ALARMS)
		sched_yield();
	CHECK_EQ(setitimer(ITIMER_REAL, &none, NULL), 0);
	atomic_store(&is_over, true);
	threads_join(threads, NR_THREADS);
}

static uint64_t own_base;

/* Like an emulator's handler that calls libc: it restores libc's base first. */
static void go_home(int sig, siginfo_t *info, void *ucontext)
{
	set_fs_base(own_base);
	sched_yield();
	atomic_fetch_add(&nr_handled, 1);
}

static void *compute_until_home(void *arg)
{
	own_base = fs_base();
	/*
	 * The compiler checks the canary before and after, so the foreign block
	 * needs it.
	 */
	__asm__ volatile("movq %%fs:40, %0" : "=r"(blocks[0].others[4]));
	set_fs_base((uint64_t)&blocks[0]);
	atomic_fetch_add(&nr_computing, 1);
	while (fs_base() != own_base)
		;
	CHECK_EQ(atomic_load(&nr_handled), 1);
	return NULL;
}

/* weft must not undo a handler's change of the base. */
TEST(handler_that_changes_it)
{
	pthread_t thread;

	need_fs();
	handle(SIGUSR1, go_home, 0);
	thread = thread_start(compute_until_home, NULL);
	while (atomic_load(&nr_computing) == 0)
		sched_yield();
	CHECK_EQ(pthread_kill(thread, SIGUSR1), 0);
	thread_join(thread);
}

/* SPDX-License-Identifier: MIT */
/* Thread attributes: each attribute can be set, and new threads have it. */
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "check.h"
#include "cpus.h"
#include "threading.h"

#define STACK_BYTES (256 * 1024)

static pthread_attr_t attr;

static void init(void)
{
	CHECK_EQ(pthread_attr_init(&attr), 0);
}

static pthread_t start_with(void *(*f)(void *), void *arg)
{
	pthread_t t;

	CHECK_EQ(pthread_create(&t, &attr, f, arg), 0);
	return t;
}

struct bounds {
	char *base;
	size_t size;
	size_t guard;
};

static struct bounds bounds_of(pthread_t t)
{
	struct bounds b;
	pthread_attr_t a;
	void *base;

	CHECK_EQ(pthread_getattr_np(t, &a), 0);
	CHECK_EQ(pthread_attr_getstack(&a, &base, &b.size), 0);
	CHECK_EQ(pthread_attr_getguardsize(&a, &b.guard), 0);
	CHECK_EQ(pthread_attr_destroy(&a), 0);
	b.base = (char *)base;
	return b;
}

static void check_contains(struct bounds b, void *address)
{
	CHECK((char *)address >= b.base);
	CHECK((char *)address < b.base + b.size);
}

TEST(defaults)
{
	struct rlimit limit;
	size_t size, guard;
	int value;

	init();
	CHECK_EQ(pthread_attr_getdetachstate(&attr, &value), 0);
	CHECK_EQ(value, PTHREAD_CREATE_JOINABLE);
	CHECK_EQ(pthread_attr_getscope(&attr, &value), 0);
	CHECK_EQ(value, PTHREAD_SCOPE_SYSTEM);
	CHECK_EQ(pthread_attr_getinheritsched(&attr, &value), 0);
	CHECK_EQ(value, PTHREAD_INHERIT_SCHED);
	CHECK_EQ(pthread_attr_getschedpolicy(&attr, &value), 0);
	CHECK_EQ(value, SCHED_OTHER);
	CHECK_EQ(pthread_attr_getguardsize(&attr, &guard), 0);
	CHECK_EQ(guard, sysconf(_SC_PAGESIZE));
	CHECK_EQ(pthread_attr_getstacksize(&attr, &size), 0);
	CHECK_EQ(getrlimit(RLIMIT_STACK, &limit), 0);
	if (limit.rlim_cur != RLIM_INFINITY)
		CHECK_EQ(size, limit.rlim_cur);
}

TEST(refused_values)
{
	init();
	CHECK_EQ(pthread_attr_setdetachstate(&attr, 99), EINVAL);
	CHECK_EQ(pthread_attr_setscope(&attr, 99), EINVAL);
	CHECK_EQ(pthread_attr_setinheritsched(&attr, 99), EINVAL);
	CHECK_EQ(pthread_attr_setschedpolicy(&attr, 99), EINVAL);
	CHECK_EQ(pthread_attr_setstacksize(&attr, PTHREAD_STACK_MIN - 1),
		 EINVAL);
	CHECK_EQ(pthread_attr_setscope(&attr, PTHREAD_SCOPE_PROCESS), ENOTSUP);
}

static void *report_bounds(void *arg)
{
	struct bounds *b = arg;
	int local = 0;

	*b = bounds_of(pthread_self());
	check_contains(*b, &local);
	return NULL;
}

TEST(stack_size)
{
	static const size_t sizes[] = { 64 << 10, 256 << 10, 1 << 20, 8 << 20 };

	for (int i = 0; i < 4; i++) {
		struct bounds b;

		init();
		CHECK_EQ(pthread_attr_setstacksize(&attr, sizes[i]), 0);
		thread_join(start_with(report_bounds, &b));
		CHECK(b.size >= sizes[i] * 9 / 10);
		CHECK(b.size <= sizes[i] + (64 << 10));
	}
}

/* Uses nearly all of the stack that the attribute asked for. */
static void *use_most(void *arg)
{
	size_t size = (size_t)(uintptr_t)arg * 8 / 10;
	volatile char *area = __builtin_alloca(size);

	for (size_t i = 0; i < size; i += 512)
		area[i] = (char)i;
	sched_yield();
	for (size_t i = 0; i < size; i += 512)
		CHECK_EQ(area[i], (char)i);
	return NULL;
}

TEST(stack_is_usable)
{
	for (uintptr_t size = 128 << 10; size <= 32 << 20; size *= 4) {
		init();
		CHECK_EQ(pthread_attr_setstacksize(&attr, size), 0);
		thread_join(start_with(use_most, (void *)size));
	}
}

TEST(guard_size)
{
	struct bounds b;

	init();
	CHECK_EQ(pthread_attr_setguardsize(&attr, 0), 0);
	thread_join(start_with(report_bounds, &b));
	CHECK_EQ(pthread_attr_setguardsize(&attr, 64 << 10), 0);
	thread_join(start_with(report_bounds, &b));
	CHECK(b.guard >= 64 << 10);
}

struct own_stack {
	char *base;
	size_t size;
	char *seen;
};

static void *run_on_own_stack(void *arg)
{
	struct own_stack *s = arg;
	struct bounds b = bounds_of(pthread_self());
	char local = 0;

	s->seen = &local;
	CHECK(b.base == s->base);
	CHECK_EQ(b.size, s->size);
	return arg;
}

static void check_own_stack(struct own_stack *s)
{
	init();
	CHECK_EQ(pthread_attr_setstack(&attr, s->base, s->size), 0);
	CHECK(thread_join(start_with(run_on_own_stack, s)) == s);
	CHECK(s->seen >= s->base && s->seen < s->base + s->size);
}

/* The guard takes address space only, so a huge one costs no memory. */
TEST(guard_of_a_tebibyte)
{
	init();
	CHECK_EQ(pthread_attr_setguardsize(&attr, (size_t)1 << 40), 0);
	thread_join(start_with(thread_nothing, NULL));
	CHECK_EQ(pthread_attr_setguardsize(&attr, SIZE_MAX), 0);
	CHECK_EQ(pthread_create(&(pthread_t){ 0 }, &attr, thread_nothing, NULL),
		 EINVAL);
}

/* Guard sizes with which the sum of stack, guard and libc's part overflows. */
TEST(guards_of_all_memory)
{
	size_t stack;

	init();
	CHECK_EQ(pthread_attr_getstacksize(&attr, &stack), 0);
	for (size_t pages = 0; pages < 64; pages++) {
		int err;

		CHECK_EQ(pthread_attr_setguardsize(&attr,
						   -stack - pages * 4096),
			 0);
		err = pthread_create(&(pthread_t){ 0 }, &attr, thread_nothing,
				     NULL);
		CHECK(err == EINVAL || err == EAGAIN);
	}
}

TEST(own_stack)
{
	struct own_stack s = { .size = STACK_BYTES };

	s.base = mmap(NULL, s.size, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(s.base != MAP_FAILED);
	for (int i = 0; i < 100; i++)
		check_own_stack(&s);
	CHECK_EQ(munmap(s.base, s.size), 0);
}

/*
 * malloc aligns less than pages, so this stack has the least alignment allowed.
 */
TEST(own_stack_of_malloc)
{
	struct own_stack s = { .size = STACK_BYTES };

	CHECK_EQ(posix_memalign((void **)&s.base, 4096, s.size), 0);
	check_own_stack(&s);
	memset(s.base, 0xee, s.size);
	check_own_stack(&s);
	free(s.base);
}

/* A stack of the smallest size still has room for a little work. */
static void *little_work(void *arg)
{
	volatile char area[4096];

	memset((char *)area, 1, sizeof(area));
	sched_yield();
	CHECK_EQ(area[sizeof(area) - 1], 1);
	return arg;
}

static sigjmp_buf fault_env;

static void leave_fault(int sig)
{
	siglongjmp(fault_env, 1);
}

/* pthread_create writes to the stack, so the fault is its caller's. */
TEST(own_stack_without_access)
{
	pthread_t thread;
	void *stack = mmap(NULL, STACK_BYTES, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(stack != MAP_FAILED);
	CHECK(signal(SIGSEGV, leave_fault) != SIG_ERR);
	init();
	CHECK_EQ(pthread_attr_setstack(&attr, stack, STACK_BYTES), 0);
	if (sigsetjmp(fault_env, 1) == 0) {
		pthread_create(&thread, &attr, thread_nothing, NULL);
		CHECK(!"a stack without access");
	}
}

TEST(smallest_stacks)
{
	size_t min = (size_t)sysconf(_SC_THREAD_STACK_MIN);
	pthread_t threads[100];

	init();
	CHECK_EQ(pthread_attr_setstacksize(&attr, min), 0);
	for (int i = 0; i < 100; i++)
		threads[i] = start_with(little_work, NULL);
	threads_join(threads, 100);
}

TEST(bounds_of_main)
{
	struct bounds b = bounds_of(pthread_self());
	int local = 0;

	check_contains(b, &local);
	CHECK(b.size >= 64 << 10);
	thread_join(start_with(use_most, (void *)(uintptr_t)1000));
	b = bounds_of(pthread_self());
	check_contains(b, &local);
}

static pthread_t main_thread;

static void *look_at_main(void *arg)
{
	check_contains(bounds_of(main_thread), arg);
	return NULL;
}

TEST(bounds_of_another)
{
	pthread_attr_t a;
	int local = 0;

	main_thread = pthread_self();
	init();
	thread_join(start_with(look_at_main, &local));
	CHECK_EQ(pthread_getattr_np(main_thread, &a), 0);
	CHECK_EQ(pthread_attr_destroy(&a), 0);
}

/* Stacks of threads that exist at the same time must not overlap. */
static pthread_barrier_t barrier;

static void *report_and_meet(void *arg)
{
	report_bounds(arg);
	pthread_barrier_wait(&barrier);
	return NULL;
}

TEST(stacks_are_disjoint)
{
	struct bounds b[64];
	pthread_t threads[64];

	init();
	CHECK_EQ(pthread_barrier_init(&barrier, NULL, 65), 0);
	for (int i = 0; i < 64; i++)
		threads[i] = start_with(report_and_meet, &b[i]);
	pthread_barrier_wait(&barrier);
	threads_join(threads, 64);
	for (int i = 0; i < 64; i++)
		for (int j = 0; j < i; j++)
			CHECK(b[i].base + b[i].size <= b[j].base ||
			      b[j].base + b[j].size <= b[i].base);
}

static _Atomic int has_run;

static void *run(void *arg)
{
	has_run = 1;
	return arg;
}

TEST(created_detached)
{
	pthread_attr_t a;
	pthread_t t;
	int state;

	init();
	CHECK_EQ(pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED),
		 0);
	t = start_with(run, NULL);
	while (!has_run)
		sched_yield();
	(void)t;
	CHECK_EQ(pthread_getattr_np(pthread_self(), &a), 0);
	CHECK_EQ(pthread_attr_getdetachstate(&a, &state), 0);
	CHECK_EQ(state, PTHREAD_CREATE_JOINABLE);
}

TEST(system_scope_works)
{
	init();
	CHECK_EQ(pthread_attr_setscope(&attr, PTHREAD_SCOPE_SYSTEM), 0);
	for (int i = 0; i < 20; i++)
		CHECK(thread_join(start_with(run, &attr)) == &attr);
	CHECK_EQ(has_run, 1);
}

TEST(default_attributes)
{
	pthread_attr_t a;
	struct bounds b;
	size_t size;

	init();
	/*
	 * The bounds set by one thread's attributes must not reach the next
	 * thread.
	 */
	thread_join(thread_start(report_bounds, &b));
	CHECK_EQ(pthread_attr_setstacksize(&attr, 512 << 10), 0);
	CHECK_EQ(pthread_setattr_default_np(&attr), 0);
	CHECK_EQ(pthread_getattr_default_np(&a), 0);
	CHECK_EQ(pthread_attr_getstacksize(&a, &size), 0);
	CHECK_EQ(size, 512 << 10);
	thread_join(thread_start(report_bounds, &b));
	CHECK(b.size <= (512 << 10) + (64 << 10));
}

static void *count_cpus(void *arg)
{
	cpu_set_t set;

	CHECK_EQ(pthread_getaffinity_np(pthread_self(), sizeof(set), &set), 0);
	*(int *)arg = CPU_COUNT(&set);
	return arg;
}

TEST(default_affinity)
{
	const cpu_set_t one = set_of_cpu(first_cpu());
	int before, with, after;
	pthread_attr_t plain;

	init();
	CHECK_EQ(pthread_attr_init(&plain), 0);
	thread_join(thread_start(count_cpus, &before));
	CHECK_EQ(pthread_attr_setaffinity_np(&attr, sizeof(one), &one), 0);
	CHECK_EQ(pthread_setattr_default_np(&attr), 0);
	for (int i = 0; i < 3; i++) {
		thread_join(thread_start(count_cpus, &with));
		CHECK_EQ(with, 1);
	}
	CHECK_EQ(pthread_setattr_default_np(&plain), 0);
	thread_join(thread_start(count_cpus, &after));
	CHECK_EQ(after, before);
}

TEST(copy_is_independent)
{
	size_t size;

	init();
	CHECK_EQ(pthread_attr_setstacksize(&attr, 1 << 20), 0);
	CHECK_EQ(pthread_attr_setstacksize(&attr, 2 << 20), 0);
	CHECK_EQ(pthread_attr_getstacksize(&attr, &size), 0);
	CHECK_EQ(size, 2 << 20);
	CHECK_EQ(pthread_attr_destroy(&attr), 0);
}

static _Atomic int nr_handled;

static void handle(int sig)
{
	nr_handled += sig == SIGUSR1;
}

/* Returns whether SIGUSR2 is blocked. */
static void *ask_mask(void *arg)
{
	sigset_t mask;

	CHECK_EQ(pthread_sigmask(SIG_BLOCK, NULL, &mask), 0);
	CHECK_EQ(sigismember(&mask, SIGUSR1), 0);
	return sigismember(&mask, SIGUSR2) ? arg : NULL;
}

/*
 * A new thread that does not block a signal takes it if it is pending for the
 * process.
 */
TEST(signal_mask)
{
	sigset_t mask;

	init();
	CHECK(signal(SIGUSR1, handle) != SIG_ERR);
	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR1);
	CHECK_EQ(pthread_sigmask(SIG_BLOCK, &mask, NULL), 0);
	have_threads();
	CHECK_EQ(kill(getpid(), SIGUSR1), 0);
	for (int i = 0; i < 2; i++) {
		sigemptyset(&mask);
		if (i == 1)
			sigaddset(&mask, SIGUSR2);
		CHECK_EQ(pthread_attr_setsigmask_np(&attr, &mask), 0);
		CHECK(thread_join(start_with(ask_mask, &attr)) ==
		      (i == 1 ? &attr : NULL));
		CHECK_EQ(nr_handled, 1);
	}
}

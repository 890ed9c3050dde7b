/* SPDX-License-Identifier: MIT */
/*
 * State that belongs to a thread and must move with it between carriers:
 * __thread variables, errno, locale, rounding mode, stack protector, jump
 * buffers.
 */
#include <fenv.h>
#include <locale.h>
#include <math.h>
#include <resolv.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "threading.h"

#define NR_THREADS 60

static __thread int small = 5;
static __thread int zero;
static __thread _Alignas(64) char aligned[64] = "aligned";
static __thread char large[40000];
static __thread const char *text = "relocated";
static __thread struct {
	_Alignas(4096) int page;
} paged = { 77 };

/* Yields, sleeps or computes, so the thread may move to another CPU. */
static void disturb(int i)
{
	switch (i % 4) {
	case 0:
		usleep(50);
		break;
	case 1:
		free(malloc((size_t)i * 100 + 1));
		break;
	default:
		sched_yield();
	}
}

static void *use_tls(void *arg)
{
	int me = (int)(intptr_t)arg;

	CHECK_EQ(small, 5);
	CHECK_EQ(zero, 0);
	CHECK_EQ(paged.page, 77);
	CHECK_EQ((uintptr_t)&paged % 4096, 0);
	CHECK_EQ((uintptr_t)aligned % 64, 0);
	CHECK(strcmp(aligned, "aligned") == 0);
	CHECK(strcmp(text, "relocated") == 0);
	for (size_t i = 0; i < sizeof(large); i++)
		CHECK_EQ(large[i], 0);
	for (int i = 0; i < 50; i++) {
		small++;
		zero -= me;
		memset(large, me + i, sizeof(large));
		memset(aligned, me, sizeof(aligned));
		disturb(i);
		CHECK_EQ(small, 6 + i);
		CHECK_EQ(zero, -(i + 1) * me);
		CHECK_EQ(large[0], (char)(me + i));
		CHECK_EQ(large[sizeof(large) - 1], (char)(me + i));
		CHECK_EQ(aligned[63], (char)me);
	}
	paged.page = me;
	text = "changed";
	return NULL;
}

TEST(thread_variables)
{
	pthread_t threads[NR_THREADS];

	/* In the second round the TLS memory is reused. */
	for (int round = 0; round < 2; round++) {
		threads_start_numbered(threads, NR_THREADS, use_tls);
		threads_join(threads, NR_THREADS);
	}
	CHECK_EQ(small, 5);
	CHECK_EQ(zero, 0);
	CHECK_EQ(large[0], 0);
}

static void *address_of_small(void *arg)
{
	(void)arg;
	return &small;
}

TEST(addresses_differ)
{
	CHECK(thread_join(thread_start(address_of_small, NULL)) != &small);
}

static void *use_errno(void *arg)
{
	int me = (int)(intptr_t)arg + 1;
	int *address = &errno;

	CHECK_EQ(errno, 0);
	for (int i = 0; i < 100; i++) {
		errno = me;
		sched_yield();
		CHECK_EQ(errno, me);
		CHECK(address == &errno);
		CHECK_EQ(close(-1), -1);
		CHECK_EQ(errno, EBADF);
		errno = me * 2;
		disturb(i % 2 ? 0 : 2);
		CHECK_EQ(errno, me * 2);
	}
	return NULL;
}

TEST(errno_is_kept)
{
	pthread_t threads[NR_THREADS];

	threads_start_numbered(threads, NR_THREADS, use_errno);
	threads_join(threads, NR_THREADS);
}

/* weft's successful calls leave errno alone, even if they block. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *keep_errno(void *arg)
{
	errno = 1234;
	for (int i = 0; i < 50; i++) {
		CHECK_EQ(pthread_mutex_lock(&mutex), 0);
		sched_yield();
		CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
		thread_join(thread_start(address_of_small, NULL));
		CHECK_EQ(errno, 1234);
	}
	return arg;
}

TEST(errno_untouched_by_success)
{
	pthread_t threads[10];

	threads_start(threads, 10, keep_errno, NULL);
	threads_join(threads, 10);
}

static void *use_locale(void *arg)
{
	bool is_odd = (intptr_t)arg % 2;
	locale_t own = newlocale(LC_ALL_MASK, is_odd ? "C.UTF-8" : "C", NULL);

	CHECK(own != NULL);
	uselocale(own);
	for (int i = 0; i < 50; i++) {
		CHECK_EQ(MB_CUR_MAX, is_odd ? 6 : 1);
		CHECK(uselocale(NULL) == own);
		disturb(i);
	}
	uselocale(LC_GLOBAL_LOCALE);
	freelocale(own);
	return NULL;
}

TEST(locale_is_per_thread)
{
	pthread_t threads[NR_THREADS];

	threads_start_numbered(threads, NR_THREADS, use_locale);
	threads_join(threads, NR_THREADS);
}

static void *use_rounding(void *arg)
{
	static const int modes[] = { FE_TONEAREST, FE_UPWARD, FE_DOWNWARD,
				     FE_TOWARDZERO };
	static const double results[] = { 2, 3, 2, 2 };
	int me = (int)((intptr_t)arg % 4);
	volatile double x = 2.4;

	CHECK_EQ(fegetround(), FE_TONEAREST);
	CHECK_EQ(fesetround(modes[me]), 0);
	for (int i = 0; i < 50; i++) {
		disturb(i);
		CHECK_EQ(fegetround(), modes[me]);
		CHECK(rint(x) == results[me]);
	}
	return NULL;
}

TEST(rounding_mode_is_per_thread)
{
	pthread_t threads[NR_THREADS];

	threads_start_numbered(threads, NR_THREADS, use_rounding);
	threads_join(threads, NR_THREADS);
	CHECK_EQ(fegetround(), FE_TONEAREST);
}

/* A new thread has its creator's rounding mode. */
static void *rounding_of(void *arg)
{
	(void)arg;
	return (void *)(intptr_t)fegetround();
}

TEST(rounding_mode_is_inherited)
{
	CHECK_EQ(fesetround(FE_UPWARD), 0);
	CHECK_EQ((intptr_t)thread_join(thread_start(rounding_of, NULL)),
		 FE_UPWARD);
}

/*
 * The compiler checks the canary when this function returns, maybe on another
 * kernel thread than before.
 */
__attribute__((noinline)) static int protected_call(int depth)
{
	volatile char area[64];

	area[depth] = (char)depth;
	disturb(depth);
	if (depth > 0)
		return protected_call(depth - 1) + area[depth];
	return area[0];
}

static void *use_canary(void *arg)
{
	for (int i = 0; i < 20; i++)
		CHECK_EQ(protected_call(30), 30 * 31 / 2);
	return arg;
}

TEST(stack_protector)
{
	pthread_t threads[20];

	threads_start(threads, 20, use_canary, NULL);
	threads_join(threads, 20);
}

static void (*volatile jump)(struct __jmp_buf_tag *, int) = longjmp;

static void jump_out(jmp_buf env, int depth, int value)
{
	disturb(depth);
	if (depth == 0)
		jump(env, value);
	else
		jump_out(env, depth - 1, value);
}

/* libc mangles pointers in jump buffers with the thread's pointer guard. */
static void *use_jumps(void *arg)
{
	int me = (int)(intptr_t)arg;

	for (volatile int i = 1; i < 40; i++) {
		jmp_buf env;
		int got = setjmp(env);

		if (got == 0)
			jump_out(env, i % 7, i + me);
		CHECK_EQ(got, i + me);
	}
	return NULL;
}

TEST(jumps)
{
	pthread_t threads[NR_THREADS];

	threads_start_numbered(threads, NR_THREADS, use_jumps);
	threads_join(threads, NR_THREADS);
}

static void *print_and_parse(void *arg)
{
	int me = (int)(intptr_t)arg;

	for (int i = 0; i < 50; i++) {
		char line[100];
		double x;
		int a;

		snprintf(line, sizeof(line), "%d %.6f", me * i, me / 7.0);
		disturb(i);
		CHECK_EQ(sscanf(line, "%d %lf", &a, &x), 2);
		CHECK_EQ(a, me * i);
		CHECK(fabs(x - me / 7.0) < 1e-5);
		CHECK(strerror(ENOENT) != NULL);
	}
	return NULL;
}

TEST(stdio_state)
{
	pthread_t threads[NR_THREADS];

	threads_start_numbered(threads, NR_THREADS, print_and_parse);
	threads_join(threads, NR_THREADS);
}

static pthread_key_t key;

static void *leave_traces(void *arg)
{
	int old;

	CHECK_EQ(pthread_setspecific(key, &key), 0);
	CHECK_EQ(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old), 0);
	CHECK_EQ(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old), 0);
	CHECK_EQ(res_init(), 0);
	CHECK(_res.options != 0);
	CHECK(uselocale(arg) == LC_GLOBAL_LOCALE);
	errno = ERANGE;
	small = 6;
	return NULL;
}

static void *find_none(void *arg)
{
	int old;

	CHECK_EQ(errno, 0);
	CHECK_EQ(small, 5);
	CHECK(pthread_getspecific(key) == NULL);
	CHECK(_res.options == 0);
	CHECK(uselocale(NULL) == LC_GLOBAL_LOCALE);
	CHECK_EQ(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old), 0);
	CHECK_EQ(old, PTHREAD_CANCEL_ENABLE);
	CHECK_EQ(pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &old), 0);
	CHECK_EQ(old, PTHREAD_CANCEL_DEFERRED);
	return arg;
}

static void *leave_resolver(void *arg)
{
	CHECK_EQ(res_init(), 0);
	return arg;
}

/* The threads run one after the other in the same memory. */
TEST(nothing_is_left_to_the_next_thread)
{
	void *(*const start[])(void *) = { leave_traces, find_none,
					   leave_resolver, find_none,
					   find_none };
	locale_t locale = newlocale(LC_ALL_MASK, "C", NULL);

	CHECK_EQ(pthread_key_create(&key, NULL), 0);
	for (size_t i = 0; i < 50; i++) {
		pthread_t thread;

		threads_start(&thread, 1, start[i % 5], locale);
		threads_join(&thread, 1);
	}
	freelocale(locale);
}

/* Preemption must save call-clobbered registers, too. */
static void *vectors(void *arg)
{
	double v[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	double scale = 1 + (double)(intptr_t)arg / 1000;

	for (int i = 0; i < 300000; i++)
		for (int j = 0; j < 8; j++)
			v[j] = v[j] * 0.999 + scale;
	for (int j = 0; j < 8; j++)
		CHECK(fabs(v[j] - 1000 * scale) < 0.01);
	return NULL;
}

TEST(vector_registers)
{
	pthread_t threads[40];

	threads_start_numbered(threads, 40, vectors);
	threads_join(threads, 40);
}

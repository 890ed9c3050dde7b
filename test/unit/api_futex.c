/* SPDX-License-Identifier: MIT */
/*
 * src/api/syscall/futex.c returns the kernel's results, for words in weft's
 * table and for words in the kernel.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "api/syscall/futex.h"
#include "base/atomic.h"
#include "fake_wait.h"
#include "io/call/futex.h"
#include "os/clock.h"
#include "sync/inherit.h"
#include "thread/kernel_state.h"

void wf_inherit_note_native(void)
{
	fail();
}

int wf_kernel_state_begin(enum wf_bound_why why)
{
	fail();
	return -EAGAIN;
}

/*
 * There is no ring, so waits without the private flag are plain system calls.
 */
bool wf_io_can_wait_futex(void)
{
	return false;
}

int wf_io_futex_wait(const void *word, uint32_t expected, uint32_t bits,
		     int64_t deadline_ns)
{
	fail();
	return -ENOSYS;
}

#define P FUTEX_PRIVATE_FLAG

static const struct timespec *number(uintptr_t n)
{
	return (const struct timespec *)n;
}

/* Makes the same call in the kernel and returns its result, or -errno. */
static long kernel(uint32_t *addr, int op, uint32_t val,
		   const struct timespec *ts, uint32_t *addr2, uint32_t val3)
{
	long rc = syscall(SYS_futex, addr, op, val, ts, addr2, val3);

	return rc < 0 ? -errno : rc;
}

static void test_errors_are_the_kernels(void **state)
{
	uint32_t words[4] = { 1, 2, 3, 4 };
	uint32_t *odd = (uint32_t *)((char *)words + 1);
	struct timespec zero = { 0 };
	struct timespec bad = { .tv_nsec = 1000000000 };
	struct timespec negative = { .tv_sec = -1 };
	const struct {
		uint32_t *addr;
		int op;
		uint32_t val;
		const struct timespec *ts;
		uint32_t *addr2;
		uint32_t val3;
	} calls[] = {
		{ words, FUTEX_WAIT | P, 2, NULL, NULL, 0 },
		{ words, FUTEX_WAIT | P, 1, &zero, NULL, 0 },
		{ words, FUTEX_WAIT | P, 1, &bad, NULL, 0 },
		{ words, FUTEX_WAIT | P, 1, &negative, NULL, 0 },
		{ odd, FUTEX_WAIT | P, 1, &zero, NULL, 0 },
		{ words, FUTEX_WAIT | P | FUTEX_CLOCK_REALTIME, 1, &zero, NULL,
		  0 },
		{ words, FUTEX_WAIT_BITSET | P, 1, &zero, NULL, 0 },
		{ words, FUTEX_WAIT_BITSET | P, 1, &zero, NULL, 1 },
		{ words, FUTEX_WAIT_BITSET | P | FUTEX_CLOCK_REALTIME, 1, &zero,
		  NULL, 1 },
		{ words, FUTEX_WAIT_BITSET | P, 1, &negative, NULL, 1 },
		{ words, FUTEX_WAKE | P, 1, NULL, NULL, 0 },
		{ odd, FUTEX_WAKE | P, 1, NULL, NULL, 0 },
		{ words, FUTEX_WAKE_BITSET | P, 1, NULL, NULL, 0 },
		{ words, FUTEX_WAKE_BITSET | P, 1, NULL, NULL, 1 },
		{ words, FUTEX_CMP_REQUEUE | P, 1, number(1), words + 1, 7 },
		{ words, FUTEX_CMP_REQUEUE | P, 1, number(1), words + 1, 1 },
		{ words, FUTEX_CMP_REQUEUE | P, -1, number(1), words + 1, 1 },
		{ words, FUTEX_REQUEUE | P, 1, number(1), words + 1, 0 },
		{ words, FUTEX_WAKE | FUTEX_CLOCK_REALTIME, 1, NULL, NULL, 0 },
		{ words, FUTEX_WAKE, 1, NULL, NULL, 0 },
		{ words, 99, 1, NULL, NULL, 0 },
	};

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		long want = kernel(calls[i].addr, calls[i].op, calls[i].val,
				   calls[i].ts, calls[i].addr2, calls[i].val3);
		long got = wf_futex_syscall(calls[i].addr, calls[i].op,
					    calls[i].val, calls[i].ts,
					    calls[i].addr2, calls[i].val3);

		if (got != want)
			fail_msg("call %zu: %ld, the kernel says %ld", i, got,
				 want);
	}
}

static void test_wake_op_computes_as_the_kernel(void **state)
{
	for (int i = 0; i < 20000; i++) {
		uint32_t op = fake_random(8) | (fake_random(4) == 0 ? 8 : 0);
		uint32_t code = FUTEX_OP(op & 7, fake_random(4096),
					 fake_random(7), fake_random(4096));
		uint32_t start = fake_random(2) ? fake_random(4096) :
						  -fake_random(4096);
		uint32_t ours[2] = { 0, start };
		uint32_t theirs[2] = { 0, start };
		long got, want;

		/* the kernel logs too large shifts, so avoid them */
		if (op & 8)
			code = (code & ~(4095u << 12)) | 8u << 28 |
			       fake_random(32) << 12;
		got = wf_futex_syscall(ours, FUTEX_WAKE_OP | P, 1, number(1),
				       ours + 1, code);
		want = kernel(theirs, FUTEX_WAKE_OP | P, 1, number(1),
			      theirs + 1, code);
		if (got != want || ours[1] != theirs[1])
			fail_msg("%#x on %#x: %ld and %#x, not %ld and %#x",
				 code, start, got, ours[1], want, theirs[1]);
	}
}

/* --- waiting and waking ------------------------------------------------- */

struct words {
	_Atomic uint32_t from, to;
	_Atomic int nr_woken;
	int op;
	uint32_t bits;
};

static uint32_t *raw(_Atomic uint32_t *word)
{
	return (uint32_t *)word;
}

static void wait_on_from(void *arg, int nr)
{
	struct words *w = arg;
	long rc;

	do {
		rc = wf_futex_syscall(raw(&w->from), w->op, 0, NULL, NULL,
				      w->bits << nr);
	} while (rc == -EINTR);
	fake_check(rc == 0);
	w->nr_woken++;
}

static long wake(_Atomic uint32_t *word, int op, uint32_t nr, uint32_t bits)
{
	return wf_futex_syscall(raw(word), op, nr, NULL, NULL, bits);
}

static void test_bits(void **state)
{
	struct words w = { .op = FUTEX_WAIT_BITSET | P, .bits = 1 };
	struct fake_crew *crew = fake_start(4, wait_on_from, &w);

	fake_await_waiters(&w.from, 4);
	assert_int_equal(wake(&w.from, FUTEX_WAKE_BITSET | P, 9, 16), 0);
	assert_int_equal(wake(&w.from, FUTEX_WAKE_BITSET | P, 9, 5), 2);
	/* the kernel, too, wakes one for 0 */
	assert_int_equal(wake(&w.from, FUTEX_WAKE | P, 0, 0), 1);
	assert_int_equal(wake(&w.from, FUTEX_WAKE | P, INT_MAX, 0), 1);
	fake_join(crew);
}

static void test_requeue(void **state)
{
	struct words w = { .op = FUTEX_WAIT | P };
	struct fake_crew *crew = fake_start(5, wait_on_from, &w);
	uint32_t *from = raw(&w.from), *to = raw(&w.to);

	fake_await_waiters(&w.from, 5);
	assert_int_equal(wf_futex_syscall(from, FUTEX_CMP_REQUEUE | P, 1,
					  number(2), to, 0),
			 3);
	assert_int_equal(fake_waiters(&w.to), 2);
	assert_int_equal(wf_futex_syscall(from, FUTEX_REQUEUE | P, 0, number(9),
					  to, 0),
			 2);
	assert_int_equal(wake(&w.to, FUTEX_WAKE | P, 9, 0), 4);
	fake_join(crew);
}

static void test_wake_op_wakes_both(void **state)
{
	struct words w = { .op = FUTEX_WAIT | P };
	struct fake_crew *crew = fake_start(3, wait_on_from, &w);

	fake_await_waiters(&w.from, 3);
	wf_futex_syscall(raw(&w.from), FUTEX_REQUEUE | P, 0, number(1),
			 raw(&w.to), 0);
	assert_int_equal(
		wf_futex_syscall(raw(&w.from), FUTEX_WAKE_OP | P, 9, number(9),
				 raw(&w.to),
				 FUTEX_OP(FUTEX_OP_ADD, 5, FUTEX_OP_CMP_EQ, 0)),
		3);
	assert_int_equal(w.to, 5);
	fake_join(crew);
}

/* Threads wait with and without the flag; one wake without it reaches all. */
static void wait_either_way(void *arg, int nr)
{
	struct words *w = arg;
	int op = nr & 1 ? FUTEX_WAIT : FUTEX_WAIT | P;
	long rc;

	do {
		rc = wf_futex_syscall(raw(&w->from), op, 0, NULL, NULL, 0);
	} while (rc == -EINTR);
	w->nr_woken++;
}

static void test_shared_wake_reaches_both(void **state)
{
	struct words w = { 0 };
	struct fake_crew *crew = fake_start(4, wait_either_way, &w);
	long n = 0;

	fake_await_waiters(&w.from, 2);
	assert_int_equal(wake(&w.from, FUTEX_WAKE | P, 1, 0), 1);
	while (n < 3) {
		long more = wake(&w.from, FUTEX_WAKE, (uint32_t)(3 - n), 0);

		assert_in_range(more, 0, 3 - n);
		n += more;
		sched_yield();
	}
	fake_join(crew);
	assert_int_equal(w.nr_woken, 4);
}

static void test_times_out(void **state)
{
	uint32_t word = 0;
	struct timespec ts = { .tv_nsec = 2000000 };
	int64_t start = wf_os_now();

	fake_interrupt_every = 0;
	assert_int_equal(wf_futex_syscall(&word, FUTEX_WAIT | P, 0, &ts, NULL,
					  0),
			 -ETIMEDOUT);
	assert_true(wf_os_now() - start >= 2000000);
	ts = fake_time(CLOCK_REALTIME, 2000000);
	start = wf_os_now();
	assert_int_equal(wf_futex_syscall(&word,
					  FUTEX_WAIT_BITSET | P |
						  FUTEX_CLOCK_REALTIME,
					  0, &ts, NULL, 1),
			 -ETIMEDOUT);
	assert_true(wf_os_now() - start >= 1900000);
	ts = fake_time(CLOCK_MONOTONIC, 2000000);
	assert_int_equal(wf_futex_syscall(&word, FUTEX_WAIT_BITSET | P, 0, &ts,
					  NULL, 1),
			 -ETIMEDOUT);
	fake_interrupt_every = 1;
	assert_int_equal(wf_futex_syscall(&word, FUTEX_WAIT | P, 0, NULL, NULL,
					  0),
			 -EINTR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_errors_are_the_kernels),
		cmocka_unit_test(test_wake_op_computes_as_the_kernel),
		cmocka_unit_test(test_bits),
		cmocka_unit_test(test_requeue),
		cmocka_unit_test(test_wake_op_wakes_both),
		cmocka_unit_test(test_shared_wake_reaches_both),
		cmocka_unit_test(test_times_out),
	};

	fake_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

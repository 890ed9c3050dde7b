/* SPDX-License-Identifier: MIT */
/*
 * src/arch/x86_64/ended_call.c with frames as the kernel makes them after
 * system calls, each with a small difference.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <linux/io_uring.h>
#include <string.h>
#include <sys/syscall.h>

#include "arch/ended_call.h"

enum { FLAGS = 0x246, SYSCALL_BYTES = 2 };

/* The instruction that loads the call's number, and the call. */
static const unsigned char moved[] = { 0x90, 0xb8, SYS_poll, 0,	  0,
				       0,    0x0f, 0x05,     0xc3 };
static const unsigned char copied_from_r15[] = { 0x90, 0x90, 0x90, 0x44, 0x89,
						 0xf8, 0x0f, 0x05, 0xc3 };
static const unsigned char copied_from_rbx[] = { 0x90, 0x90, 0x90, 0x90, 0x89,
						 0xd8, 0x0f, 0x05, 0xc3 };
static const unsigned char copied_from_rcx[] = { 0x90, 0x90, 0x90, 0x90, 0x89,
						 0xc8, 0x0f, 0x05, 0xc3 };
enum { BEHIND = sizeof(moved) - 1 };

static ucontext_t uc;
static greg_t *const r = uc.uc_mcontext.gregs;

static uintptr_t behind(const unsigned char *code)
{
	return (uintptr_t)code + BEHIND;
}

/* Makes the frame after poll(NULL, 0, -1), which a signal has ended. */
static void end_poll(const unsigned char *code)
{
	memset(&uc, 0, sizeof(uc));
	r[REG_RIP] = r[REG_RCX] = (greg_t)behind(code);
	r[REG_R11] = r[REG_EFL] = FLAGS;
	r[REG_RAX] = -EINTR;
	r[REG_RDX] = 0xffffffff;
}

static void assert_again(const unsigned char *code, long nr)
{
	assert_int_equal(r[REG_RIP], behind(code) - SYSCALL_BYTES);
	assert_int_equal(r[REG_RAX], nr);
}

static void assert_behind(const unsigned char *code, long result)
{
	assert_int_equal(r[REG_RIP], behind(code));
	assert_int_equal(r[REG_RAX], result);
}

static void is_made_again(void **state)
{
	(void)state;
	end_poll(moved);
	wf_arch_uc_call_again(&uc);
	assert_again(moved, SYS_poll);
	wf_arch_uc_call_again(&uc);
	assert_again(moved, SYS_poll);
}

static void number_is_in_another_register(void **state)
{
	(void)state;
	end_poll(copied_from_r15);
	r[REG_R15] = SYS_poll;
	wf_arch_uc_call_again(&uc);
	assert_again(copied_from_r15, SYS_poll);
	end_poll(copied_from_rbx);
	r[REG_RBX] = SYS_poll;
	wf_arch_uc_call_again(&uc);
	assert_again(copied_from_rbx, SYS_poll);
	end_poll(copied_from_rcx);
	wf_arch_uc_call_again(&uc);
	assert_behind(copied_from_rcx, -EINTR);
}

/*
 * The call stays ended if another of weft's signals comes before the next
 * instruction.
 */
static void handler_ends_it(void **state)
{
	(void)state;
	end_poll(moved);
	wf_arch_uc_call_is_over(&uc);
	assert_behind(moved, -EINTR);
	wf_arch_uc_call_again(&uc);
	assert_behind(moved, -EINTR);
}

static void handler_ends_a_repeated_call(void **state)
{
	(void)state;
	end_poll(moved);
	wf_arch_uc_call_again(&uc);
	wf_arch_uc_call_is_over(&uc);
	assert_behind(moved, -EINTR);
	wf_arch_uc_call_again(&uc);
	assert_behind(moved, -EINTR);
}

static void other_results_stay(void **state)
{
	(void)state;
	end_poll(moved);
	r[REG_RAX] = 1;
	wf_arch_uc_call_again(&uc);
	assert_behind(moved, 1);
	wf_arch_uc_call_is_over(&uc);
	assert_behind(moved, 1);
	assert_int_equal(r[REG_RCX], behind(moved));
}

/*
 * The same frame after `ret`, or one instruction later, is not at a call's end.
 */
static void elsewhere_nothing_changes(void **state)
{
	ucontext_t before;

	(void)state;
	for (int i = 0; i < 3; i++) {
		end_poll(moved);
		r[REG_RIP] += i == 0;
		r[REG_RCX] += i == 1 ? 16 : 0;
		r[REG_R11] += i == 2;
		before = uc;
		wf_arch_uc_call_again(&uc);
		wf_arch_uc_call_is_over(&uc);
		assert_memory_equal(&uc, &before, sizeof(uc));
	}
}

static bool may(long nr, long second, long third, long fourth, long fifth)
{
	return wf_arch_call_may_be_made_again(
		nr, (const long[]){ 1, second, third, fourth, fifth, 0 });
}

static void with_a_time_it_is_not(void **state)
{
	enum { GET = IORING_ENTER_GETEVENTS, EXT = IORING_ENTER_EXT_ARG };

	(void)state;
	end_poll(moved);
	r[REG_RDX] = 1000;
	wf_arch_uc_call_again(&uc);
	assert_behind(moved, -EINTR);
	assert_true(may(SYS_epoll_wait, 1, 1, -1, 0));
	assert_false(may(SYS_epoll_wait, 1, 1, 10, 0));
	assert_true(may(SYS_semtimedop, 1, 1, 0, 0));
	assert_false(may(SYS_semtimedop, 1, 1, 1, 0));
	assert_true(may(SYS_io_uring_enter, 0, 1, GET, 0));
	assert_false(may(SYS_io_uring_enter, 0, 1, GET | EXT, 1));
	assert_false(may(SYS_nanosleep, 0, 0, 0, 0));
	assert_false(may(SYS_rt_sigsuspend, 8, 0, 0, 0));
}

/* The call's mask may let in a signal that has to end the call. */
static void with_a_mask_it_is_not(void **state)
{
	(void)state;
	assert_true(may(SYS_ppoll, 1, 0, 0, 8));
	assert_false(may(SYS_ppoll, 1, 0, 1, 8));
	assert_false(may(SYS_epoll_pwait, 1, 1, -1, 1));
	assert_false(may(SYS_io_uring_enter, 0, 1, IORING_ENTER_GETEVENTS, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_made_again),
		cmocka_unit_test(number_is_in_another_register),
		cmocka_unit_test(handler_ends_it),
		cmocka_unit_test(handler_ends_a_repeated_call),
		cmocka_unit_test(other_results_stay),
		cmocka_unit_test(elsewhere_nothing_changes),
		cmocka_unit_test(with_a_time_it_is_not),
		cmocka_unit_test(with_a_mask_it_is_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

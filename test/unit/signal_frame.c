/* SPDX-License-Identifier: MIT */
/*
 * src/signal/frame.c with the real switch. A function holds known values in all
 * registers and in its red zone. It is interrupted, its frame is saved, other
 * code uses the registers, and it continues.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/time.h>

#include "../lib/registers.h"
#include "arch/arch.h"
#include "fake_upcall.h"
#include "os/kthread.h"
#include "os/sys.h"
#include "random.h"
#include "sched/switch.h"
#include "signal/deliver.h"
#include "signal/frame.h"

enum {
	STACK_BYTES = 64 * 1024,
	SAVE_BYTES = 16 * 1024,
	ALTSTACK_BYTES = 64 * 1024,
	NR_INTERRUPTIONS = 300,
	PERIOD_US = 300,
	ROUNDS = 100000,
};

__thread struct wf_thread *wf_self;

static struct wf_thread thread;
static struct wf_carrier carrier;
static char *altstacks[2];
static void *scheduler_sp;
static int nr_interrupted, nr_finished;
static const char *difference;
static uint64_t seed;
static int level;

/* --- what frame.c needs of others --------------------------------------- */

static char *thread_stack, *save_top;

char *wf_slot_save_for(const struct wf_slot *s, uintptr_t sp)
{
	return save_top;
}

size_t wf_slot_save_bytes(void)
{
	return SAVE_BYTES;
}

void wf_os_set_signal_mask(uint64_t mask)
{
	wf_sys(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, 8);
}

void wf_switch_finish(struct wf_thread *t)
{
	nr_finished++;
}

void wf_deliver_before_sigreturn(struct wf_thread *t, const ucontext_t *uc)
{
}

/* --- the interrupted thread --------------------------------------------- */

static void switch_to(void **save_sp, void *load_sp)
{
	uintptr_t tp = wf_cpu_thread_register();

	if ((getauxval(AT_HWCAP2) & WF_ARCH_HWCAP2_FSGSBASE) != 0)
		wf_arch_switch(save_sp, load_sp, tp, NULL);
	else
		wf_arch_switch_syscall(save_sp, load_sp, tp, NULL);
}

/* Only code that runs on the thread's stack is interrupted by a switch. */
static void handle(int sig, siginfo_t *info, void *ucontext)
{
	ucontext_t *uc = ucontext;
	char *sp = (char *)uc->uc_mcontext.gregs[REG_RSP];
	void *dead;

	if (sp < thread_stack || sp >= thread_stack + STACK_BYTES)
		return;
	nr_interrupted++;
	wf_frame_save(&thread, uc);
	switch_to(&dead, scheduler_sp);
}

static void thread_main(void)
{
	struct registers in, out;

	wf_os_set_signal_mask(0);
	while (nr_interrupted < NR_INTERRUPTIONS && difference == NULL) {
		registers_fill(&in, &seed);
		registers_hold(&in, &out, ROUNDS, level);
		difference = registers_differ(&in, &out, level);
	}
	wf_os_set_signal_mask(UINT64_MAX);
	nr_interrupted = NR_INTERRUPTIONS;
	switch_to(&thread.ctx.sp, scheduler_sp);
}

const struct wf_upcalls wf_upcall = {
	FAKE_UPCALLS,
	.thread_main = thread_main,
	.frame_resume = wf_frame_resume,
};

/* --- what overwrites the registers meanwhile ---------------------------- */

static void interrupt_every(long us)
{
	struct itimerval timer = { { 0, us }, { 0, us } };

	setitimer(ITIMER_REAL, &timer, NULL);
}

/*
 * Each carrier has its own alternate stack; the thread continues on another
 * one.
 */
static void change_altstack(void)
{
	stack_t ss = { .ss_sp = altstacks[nr_interrupted % 2],
		       .ss_size = ALTSTACK_BYTES };

	sigaltstack(&ss, NULL);
	carrier.altstack = ss.ss_sp;
}

static void assert_altstack(void)
{
	stack_t ss;

	sigaltstack(NULL, &ss);
	assert_ptr_equal(ss.ss_sp, carrier.altstack);
	assert_int_equal(ss.ss_size, ALTSTACK_BYTES);
	assert_int_equal(ss.ss_flags, 0);
}

/* Overwrites every register, and the stack from which the frame was copied. */
static void disturb(void)
{
	struct registers in, out;

	memset(carrier.altstack, 0xee, ALTSTACK_BYTES);
	registers_fill(&in, &seed);
	registers_hold(&in, &out, 1, level);
}

static void setup(void)
{
	struct sigaction action = { .sa_sigaction = handle,
				    .sa_flags = SA_SIGINFO | SA_ONSTACK };

	memset(&thread, 0, sizeof(thread));
	memset(&carrier, 0, sizeof(carrier));
	altstacks[0] = malloc(ALTSTACK_BYTES);
	altstacks[1] = malloc(ALTSTACK_BYTES);
	thread.carrier = &carrier;
	thread_stack = aligned_alloc(64, STACK_BYTES);
	save_top = (char *)aligned_alloc(64, SAVE_BYTES) + SAVE_BYTES;
	thread.ctx.sp = wf_arch_context_make(thread_stack + STACK_BYTES,
					     wf_arch_thread_entry,
					     wf_cpu_fp_control());
	wf_self = &thread;
	sigfillset(&action.sa_mask);
	sigaction(SIGALRM, &action, NULL);
	nr_interrupted = 0;
	nr_finished = 0;
	difference = NULL;
}

static void teardown(void)
{
	stack_t none = { .ss_flags = SS_DISABLE };

	signal(SIGALRM, SIG_IGN);
	sigaltstack(&none, NULL);
	free(altstacks[0]);
	free(altstacks[1]);
	free(thread_stack);
	free(save_top - SAVE_BYTES);
}

static void hold_at(int which)
{
	int nr = 0;

	level = which;
	setup();
	wf_os_set_signal_mask(UINT64_MAX);
	interrupt_every(PERIOD_US);
	while (nr_interrupted < NR_INTERRUPTIONS) {
		wf_store_relaxed(&thread.in_runtime, 1);
		carrier.kernel_mask = WF_MASK_UNKNOWN;
		change_altstack();
		switch_to(&scheduler_sp, thread.ctx.sp);
		assert_altstack();
		disturb();
		nr++;
	}
	interrupt_every(0);
	assert_string_equal(difference != NULL ? difference : "", "");
	assert_in_range(nr_finished, nr - 2, nr);
	assert_int_equal(wf_load_relaxed(&thread.in_runtime), 0);
	assert_true(carrier.kernel_mask != WF_MASK_UNKNOWN);
	wf_os_set_signal_mask(0);
	teardown();
}

static void test_sse(void **state)
{
	hold_at(REGISTERS_SSE);
}

static void test_avx(void **state)
{
	if (registers_best_level() < REGISTERS_AVX)
		skip();
	hold_at(REGISTERS_AVX);
}

static void test_avx512(void **state)
{
	if (registers_best_level() < REGISTERS_AVX512)
		skip();
	hold_at(REGISTERS_AVX512);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sse),
		cmocka_unit_test(test_avx),
		cmocka_unit_test(test_avx512),
	};

	seed = test_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

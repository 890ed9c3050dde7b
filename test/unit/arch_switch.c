/* SPDX-License-Identifier: MIT */
/*
 * src/arch/x86_64/switch.S and context.c: what a switch preserves, and how a
 * new context begins. Each test runs with both forms of the switch.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "arch/arch.h"
#include "base/upcall.h"
#include "random.h"

/* The offsets that arch_switch_x86_64.S uses. */
struct saved {
	uint64_t rbx, rbp, r12, r13, r14, r15;
	uint32_t mxcsr;
	uint16_t x87_control, unused;
	uint64_t flags;
	void *token; /* given to the switch, and what it returned */
};

struct found {
	uintptr_t sp;
	uint64_t flags;
	uint32_t mxcsr;
	uint16_t x87_control, unused;
	uintptr_t tp;
};

typedef void *switch_fn(void **save_sp, void *load_sp, uintptr_t load_tp,
			void *token);

enum { DIRECTION_FLAG = 1 << 10, STACK_BYTES = 16384 };

void switch_with(const struct saved *in, struct saved *ret_out, void **save_sp,
		 void *load_sp, uintptr_t load_tp, switch_fn *fn);
void probe_entry(void);
void probe_main(void);

struct found found;

static void *main_sp;
static switch_fn *switch_now;

static bool may_wrfsbase(void)
{
	return (getauxval(AT_HWCAP2) & WF_ARCH_HWCAP2_FSGSBASE) != 0;
}

/* Calls test(fn) for each form that this machine has. */
static void with_both(void (*test)(void))
{
	switch_now = wf_arch_switch_syscall;
	test();
	if (!may_wrfsbase())
		return;
	switch_now = wf_arch_switch;
	test();
}

static char *new_stack(void)
{
	char *stack = aligned_alloc(64, STACK_BYTES);

	assert_non_null(stack);
	memset(stack, 0x5a, STACK_BYTES);
	return stack;
}

/* --- what is preserved -------------------------------------------------- */

enum { NR_CONTEXTS = 20, NR_SWITCHES = 20000 };

static struct context {
	void *sp;
	char *stack;
	struct saved in, out;
	struct test_random random;
	uint32_t nr_resumed;
} contexts[NR_CONTEXTS];

static uint32_t current, nr_differences;

static uint64_t random64(struct test_random *r)
{
	return (uint64_t)test_random(r, UINT32_MAX) << 32 |
	       test_random(r, UINT32_MAX);
}

static void fill(struct saved *s, struct test_random *r)
{
	uint64_t *words = &s->rbx;

	for (int i = 0; i < 6; i++)
		words[i] = random64(r);
	/* All exceptions are masked; rounding and flush-to-zero vary. */
	s->mxcsr = 0x1f80 | (test_random(r, 0x10000) & 0xe040);
	s->x87_control = (uint16_t)(0x37f | test_random(r, 4) << 10);
	s->flags = 0;
}

static uint32_t nr_wrong(const struct saved *in, const struct saved *out)
{
	return (memcmp(in, out, offsetof(struct saved, mxcsr)) != 0) +
	       (in->mxcsr != out->mxcsr) +
	       (in->x87_control != out->x87_control) +
	       ((out->flags & DIRECTION_FLAG) != 0);
}

/* Switches to another context, with register values that only this one has. */
static void hop(struct context *c, void **save_sp, void *load_sp)
{
	fill(&c->in, &c->random);
	c->in.token = &contexts[current];
	switch_with(&c->in, &c->out, save_sp, load_sp, wf_cpu_thread_register(),
		    switch_now);
	nr_differences += nr_wrong(&c->in, &c->out) + (c->out.token != c);
	c->nr_resumed++;
}

/* Runs in every context but the main one, and never returns. */
static void thread_main(void)
{
	struct context *me = &contexts[current];

	for (;;) {
		uint32_t next = test_random(&me->random, NR_CONTEXTS);

		if (next == current || next == 0) {
			current = 0;
			hop(me, &me->sp, main_sp);
		} else {
			current = next;
			hop(me, &me->sp, contexts[next].sp);
		}
	}
}

const struct wf_upcalls wf_upcall = { .thread_main = thread_main };

static void preserve(void)
{
	struct test_random r = { test_seed() };

	nr_differences = 0;
	for (uint32_t i = 0; i < NR_CONTEXTS; i++) {
		struct context *c = &contexts[i];

		c->stack = new_stack();
		c->sp = wf_arch_context_make(c->stack + STACK_BYTES,
					     wf_arch_thread_entry,
					     wf_cpu_fp_control());
		c->random.state = random64(&r);
		c->nr_resumed = 0;
	}
	for (int i = 0; i < NR_SWITCHES; i++) {
		current = 1 + test_random(&r, NR_CONTEXTS - 1);
		hop(&contexts[0], &main_sp, contexts[current].sp);
	}
	assert_int_equal(nr_differences, 0);
	for (uint32_t i = 0; i < NR_CONTEXTS; i++) {
		assert_true(contexts[i].nr_resumed > 100);
		free(contexts[i].stack);
	}
}

static void test_preserves(void **state)
{
	with_both(preserve);
}

/* --- how a context begins ----------------------------------------------- */

static uintptr_t begin_tp;

/* Runs with the new stack and thread register, and never returns. */
void probe_main(void)
{
	void *dead;

	if (switch_now == wf_arch_switch)
		wf_arch_leave(main_sp, begin_tp, &found);
	switch_now(&dead, main_sp, begin_tp, &found);
}

/* The creator's control words differ from those of the switching context. */
#define MXCSR 0xbf80u
#define X87_CONTROL 0xb7fu
#define FP_CONTROL (MXCSR | (uint64_t)X87_CONTROL << 32)

static void begin(void *sp, uintptr_t tp)
{
	struct saved in, out;
	struct test_random r = { (uintptr_t)sp };

	fill(&in, &r);
	in.token = NULL;
	in.mxcsr = 0x1f80 | 0xe040;
	in.x87_control = 0xf7f;
	memset(&found, 0, sizeof(found));
	begin_tp = wf_cpu_thread_register();
	switch_with(&in, &out, &main_sp, sp, tp, switch_now);
	assert_int_equal(nr_wrong(&in, &out), 0);
	assert_ptr_equal(out.token, &found);
	assert_int_equal(wf_cpu_thread_register(), begin_tp);
	assert_int_equal(found.mxcsr, MXCSR);
	assert_int_equal(found.x87_control, X87_CONTROL);
	assert_int_equal(found.flags & DIRECTION_FLAG, 0);
	assert_int_equal(found.tp, tp);
}

/* The ABI aligns the stack before a call, so here it is 8 bytes off. */
static void begin_aligned(void)
{
	char *stack = new_stack();

	for (int i = 0; i < 64; i++) {
		char *top = stack + STACK_BYTES - 64 - i;

		memset(stack, 0x5a, STACK_BYTES);
		begin(wf_arch_context_make(top, probe_entry, FP_CONTROL),
		      wf_cpu_thread_register());
		assert_int_equal((found.sp + 8) % 16, 0);
		assert_in_range(found.sp, (uintptr_t)top - 256,
				(uintptr_t)top - 8);
		for (char *p = top; p < stack + STACK_BYTES; p++)
			assert_int_equal(*p, 0x5a);
	}
	free(stack);
}

/* A new context begins with the control words of its creator. */
static void test_control_words_of_cpu(void **state)
{
	uint64_t was = wf_cpu_fp_control();
	/* Sticky flags are status bits and are not inherited. */
	uint32_t mxcsr = MXCSR | 0x21;
	uint16_t x87_control = X87_CONTROL;
	uint64_t now;

	__asm__ volatile("ldmxcsr %0\n\tfldcw %1"
			 :
			 : "m"(mxcsr), "m"(x87_control));
	now = wf_cpu_fp_control();
	mxcsr = (uint32_t)was;
	x87_control = (uint16_t)(was >> 32);
	__asm__ volatile("ldmxcsr %0\n\tfldcw %1"
			 :
			 : "m"(mxcsr), "m"(x87_control));
	assert_int_equal(was, WF_ARCH_FP_CONTROL_INITIAL);
	assert_int_equal(now, FP_CONTROL);
}

static void test_begins_aligned(void **state)
{
	with_both(begin_aligned);
}

static void begin_at(void)
{
	char *stack = new_stack();

	for (int i = 0; i < 128; i += 8) {
		char *sp = stack + STACK_BYTES - 128 - i;

		memset(stack, 0x5a, STACK_BYTES);
		begin(wf_arch_context_at(sp, probe_entry, FP_CONTROL),
		      wf_cpu_thread_register());
		assert_int_equal(found.sp, (uintptr_t)sp);
		assert_int_equal(*sp, 0x5a);
	}
	free(stack);
}

static void test_begins_at(void **state)
{
	with_both(begin_at);
}

/* --- the thread register ------------------------------------------------ */

static void load_thread_register(void)
{
	/*
	 * As much of a TCB as compiled code needs: its own address and the
	 * guards.
	 */
	static _Alignas(64) char block[2][4096];
	uintptr_t own = wf_cpu_thread_register();
	char *stack = new_stack();

	for (int i = 0; i < 2; i++) {
		uintptr_t tp = (uintptr_t)block[i] + 2048;

		memcpy((void *)tp, (void *)own, WF_ARCH_TCB_HEADER_BYTES);
		*(uintptr_t *)tp = tp;
		begin(wf_arch_context_make(stack + STACK_BYTES, probe_entry,
					   FP_CONTROL),
		      tp);
	}
	free(stack);
}

static void test_thread_register(void **state)
{
	with_both(load_thread_register);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_preserves),
		cmocka_unit_test(test_control_words_of_cpu),
		cmocka_unit_test(test_begins_aligned),
		cmocka_unit_test(test_begins_at),
		cmocka_unit_test(test_thread_register),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

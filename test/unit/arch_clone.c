/* SPDX-License-Identifier: MIT */
/*
 * wf_arch_clone of src/arch/x86_64/switch.S. The kernel thread begins in the
 * function, with its own stack and thread register; those of the caller are
 * unchanged.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "arch/arch.h"
#include "base/atomic.h"
#include "os/sys.h"

enum {
	STACK_BYTES = 65536,
	THREAD = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND |
		 CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS,
};

static struct {
	void *arg;
	uintptr_t frame, caller_frame, tp;
	_Atomic uint32_t done;
} found;

static _Atomic uint32_t cleared;

/* As much of a TCB as compiled code needs. */
static _Alignas(64) char tcb[4096];

static void run(void *arg)
{
	uintptr_t *frame = __builtin_frame_address(0);

	found.arg = arg;
	found.frame = (uintptr_t)frame;
	found.caller_frame = frame[0];
	found.tp = wf_cpu_thread_register();
	wf_store_release(&found.done, 1);
	wf_sys(SYS_exit, 0);
}

static void test_begins(void **state)
{
	uintptr_t own = wf_cpu_thread_register();
	uintptr_t tp = (uintptr_t)tcb + 2048;
	char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy((void *)tp, (void *)own, WF_ARCH_TCB_HEADER_BYTES);
	*(uintptr_t *)tp = tp;
	for (uintptr_t i = 0; i < 32; i++) {
		char *top = stack + STACK_BYTES - i;
		long tid;

		memset(&found, 0, sizeof(found));
		wf_store_relaxed(&cleared, 1);
		tid = wf_arch_clone(THREAD | CLONE_CHILD_CLEARTID, top, tp, run,
				    (void *)i, &cleared);
		assert_true(tid > 0);
		while (wf_load_acquire(&found.done) == 0 ||
		       wf_sys(SYS_tkill, tid, 0) == 0)
			wf_sys(SYS_sched_yield);
		assert_int_equal(wf_load_relaxed(&cleared), 0);
		assert_ptr_equal(found.arg, (void *)i);
		assert_int_equal(found.tp, tp);
		assert_int_equal(found.frame % 16, 0);
		assert_in_range(found.frame, (uintptr_t)top - 128,
				(uintptr_t)top);
		/* The new kernel thread's first frame has 0 as its caller's
		 * frame pointer, so a backtrace ends there. */
		assert_int_equal(found.caller_frame, 0);
		assert_int_equal(wf_cpu_thread_register(), own);
	}
	munmap(stack, STACK_BYTES);
}

static void test_error(void **state)
{
	/* CLONE_THREAD alone is an error: it needs two other flags. */
	assert_int_equal(wf_arch_clone(CLONE_THREAD, tcb + sizeof(tcb), 0, run,
				       NULL, NULL),
			 -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_begins),
		cmocka_unit_test(test_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

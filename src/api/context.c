/* SPDX-License-Identifier: MIT */
/*
 * User contexts: setcontext(), swapcontext() and makecontext(). A context has a
 * signal mask, and libc's functions set that in the kernel. weft keeps the mask
 * of each thread itself. So the functions that resume a context change weft's
 * mask and then call libc's setcontext().
 *
 * CONTEXT-1. getcontext is libc's. While a thread runs code of the program, the
 *     kernel's mask is the thread's (signal/mask.c, MASK-1).
 * CONTEXT-2. weft's function sets the mask first. libc's setcontext then sets
 *     the same mask in the kernel, and loads the registers. A preemption
 *     between the two restores the same mask on any carrier.
 * CONTEXT-3. A handler may resume a context, and so leave the frames of a
 *     waiting call that it has interrupted. The call's clean-up runs or is
 *     removed (libc/cleanup.h, CLEANUP-3).
 */
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "api/api.h"
#include "api/x86_64/context.h"
#include "arch/arch.h"
#include "libc/cleanup.h"
#include "libc/real.h"
#include "sched/thread.h"
#include "signal/deliver.h"
#include "signal/frame.h"
#include "signal/mask.h"
#include "signal/memory.h"

/*
 * Is addr in a frame that the jump to sp leaves? weft does not know the end of
 * the first thread's stack, so it takes 16 MiB. Other stacks are farther away.
 */
static bool is_left(uintptr_t addr, uintptr_t sp)
{
	const uintptr_t near = 16UL << 20;
	const struct wf_thread *t = wf_self;
	const struct wf_slot *s = &t->slot;

	if (addr >= sp)
		return false;
	if (s->class == NULL)
		return sp - addr < near;
	return addr >= (uintptr_t)wf_slot_stack_low(s) &&
	       sp <= (uintptr_t)wf_slot_stack_top(s);
}

static int resume(ucontext_t *uc, bool for_good)
{
	uint64_t set;

	if (wf_memory_get(&set, wf_frame_mask(uc), sizeof(set)) < 0)
		return wf_api_errno(-EFAULT);
	if (wf_self != NULL)
		wf_cleanup_leave(is_left, wf_arch_uc_sp(uc), for_good);
	wf_mask_change(SIG_SETMASK, &set, NULL);
	/* The carrier must not block weft's own signals. */
	if ((set & WF_SIGNAL_UNBLOCKABLE) != 0)
		*wf_frame_mask(uc) = set & ~WF_SIGNAL_UNBLOCKABLE;
	return wf_real.setcontext(uc);
}

WF_API(int, setcontext, const ucontext_t *uc)
{
	return resume((ucontext_t *)uc, true);
}

/* swapcontext's assembly calls it after it has saved the registers in from. */
int wf_context_swap(ucontext_t *from, ucontext_t *to)
{
	uint64_t mask;

	wf_mask_change(SIG_BLOCK, NULL, &mask);
	memset(&from->uc_sigmask, 0, sizeof(from->uc_sigmask));
	*wf_frame_mask(from) = mask;
	return resume(to, false);
}

/* A context's function returns to wf_context_end, which calls this. */
void wf_context_over(ucontext_t *link)
{
	exit(link != NULL ? resume(link, false) : 0);
}

WF_API(void, makecontext, ucontext_t *uc, void (*start)(void), int nr_args, ...)
{
	size_t nr = nr_args > 0 ? (size_t)nr_args : 0;
	long args[nr + 1];
	va_list ap;

	va_start(ap, nr_args);
	for (size_t i = 0; i < nr; i++)
		args[i] = va_arg(ap, long);
	va_end(ap);
	wf_context_make(uc, start, args, nr);
}

/*
 * User contexts. libc's functions set the kernel's mask themselves, and the
 * mask of a thread is weft's; so the ones that resume a context are here.
 *
 * X1. getcontext stays libc's: while a thread runs code of the program's, the
 *     kernel's mask is the thread's own (signal/mask.c, M1).
 * X2. The mask changes first, by weft's own function; then libc's setcontext
 *     sets what is set already, and loads the registers. A preemption between
 *     the two restores the same mask, on whatever carrier.
 */
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "api/api.h"
#include "api/x86_64/context.h"
#include "arch/arch.h"
#include "libc/real.h"
#include "signal/deliver.h"
#include "signal/frame.h"
#include "signal/mask.h"
#include "signal/memory.h"

static int resume(ucontext_t *uc)
{
	uint64_t set;

	if (wf_memory_get(&set, wf_frame_mask(uc), sizeof(set)) < 0)
		return wf_api_errno(-EFAULT);
	wf_mask_change(SIG_SETMASK, &set, NULL);
	/* Weft's signal in it would close the carrier for good. */
	if ((set & WF_SIGNAL_UNBLOCKABLE) != 0)
		*wf_frame_mask(uc) = set & ~WF_SIGNAL_UNBLOCKABLE;
	return wf_real.setcontext(uc);
}

WF_API(int, setcontext, const ucontext_t *uc)
{
	return resume((ucontext_t *)uc);
}

/* Called by swapcontext's assembly, which has saved the registers in from. */
int wf_context_swap(ucontext_t *from, ucontext_t *to)
{
	uint64_t mask;

	wf_mask_change(SIG_BLOCK, NULL, &mask);
	memset(&from->uc_sigmask, 0, sizeof(from->uc_sigmask));
	*wf_frame_mask(from) = mask;
	return resume(to);
}

/* Called by the assembly to which a context's function returns. */
void wf_context_over(ucontext_t *link)
{
	exit(link != NULL ? resume(link) : 0);
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

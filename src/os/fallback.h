/* SPDX-License-Identifier: MIT */
/*
 * The features that the kernel has refused, and that weft replaces in another
 * way: for readers outside the process (`weft doctor PID`). No code of the
 * library decides by it.
 *
 *     if (wf_os_membarrier_register() < 0)
 *             wf_fallback_note(WF_FALLBACK_MEMBARRIER);
 *
 * May be called in a signal handler. A fork child has the bits of its parent.
 */
#ifndef WEFT_OS_FALLBACK_H
#define WEFT_OS_FALLBACK_H

#include <stdint.h>

#include "base/atomic.h"

/* The names are for readers: they stay as they are. */
#define WF_FALLBACKS(X)                                           \
	X(IO_URING, "io_uring")	    /* I/O workers instead */     \
	X(PROCESSES, "processes")   /* --io process: threads */   \
	X(MEMBARRIER, "membarrier") /* naps instead */            \
	X(GUARDS, "guards")	    /* mprotect instead */        \
	X(CPU_TIMERS, "cpu_timers") /* the monitor alone ticks */ \
	X(PROC, "proc")		    /* CPU clocks instead of states */

enum wf_fallback {
#define WF_FALLBACK(name, text) WF_FALLBACK_##name,
	WF_FALLBACKS(WF_FALLBACK)
#undef WF_FALLBACK
};

/* Bit n: enum wf_fallback n. */
extern _Atomic uint32_t wf_fallbacks;

static inline void wf_fallback_note(enum wf_fallback what)
{
	uint32_t bit = 1U << what;

	if ((wf_load_relaxed(&wf_fallbacks) & bit) == 0)
		atomic_fetch_or(&wf_fallbacks, bit);
}

/* The kernel grants it after all. */
static inline void wf_fallback_forget(enum wf_fallback what)
{
	atomic_fetch_and(&wf_fallbacks, ~(1U << what));
}

#endif

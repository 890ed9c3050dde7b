/* SPDX-License-Identifier: MIT */
/*
 * Closing signals around a bucket's lock.
 *
 * On a carrier in_runtime defers the program's handlers. Nothing does so on
 * other kernel threads: there a handler could interrupt the holder of a lock
 * and wait for it. So all signals are blocked for as long, by the kernel.
 */
#ifndef WEFT_WAIT_CLOSED_H
#define WEFT_WAIT_CLOSED_H

#include "os/kthread.h"
#include "sched/thread.h"

static inline uint64_t wf_signals_close(const struct wf_thread *t)
{
	return WF_LIKELY(t->carrier != NULL) ? 0 : wf_os_close_signals();
}

static inline void wf_signals_open(const struct wf_thread *t, uint64_t mask)
{
	if (WF_UNLIKELY(t->carrier == NULL))
		wf_os_set_signal_mask(mask);
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Blocks signals around a bucket's lock.
 *
 *     uint64_t mask = wf_signals_close(t);
 *     ...
 *     wf_signals_open(t, mask);
 *
 * On a carrier both do nothing: in_runtime defers the program's handlers there.
 * On other kernel threads nothing defers a handler. It could interrupt the
 * holder of a lock and then wait for that lock. So the kernel blocks all
 * signals there meanwhile.
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

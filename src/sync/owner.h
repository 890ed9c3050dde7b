/* SPDX-License-Identifier: MIT */
/*
 * Who holds a lock: the thread's id as the program sees it.
 *
 *     if (wf_load_relaxed(&m->owner) == wf_owner_self())
 *             ...             only the caller itself could have written that
 *
 * Never 0, and the same for as long as the thread lives, whatever carrier
 * runs it. Does not block; may be called in a signal handler.
 */
#ifndef WEFT_SYNC_OWNER_H
#define WEFT_SYNC_OWNER_H

#include "sched/runtime.h"

#define WF_OWNER_NONE 0U

static inline uint32_t wf_owner_self(void)
{
	return (uint32_t)wf_thread_self()->tid;
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The id by which a lock names its owner: that of the thread, as the program
 * sees it.
 *
 *     if (wf_load_relaxed(&m->owner) == wf_owner_self())
 *             ...             only the caller could have written that
 *
 * The id is never 0, and constant for the thread, on all carriers. Does not
 * block; signal handlers may call it.
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

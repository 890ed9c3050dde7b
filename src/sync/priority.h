/* SPDX-License-Identifier: MIT */
/*
 * Process-private mutexes that boost the priority of their holder: with
 * PTHREAD_PRIO_INHERIT to that of their first waiter, with PTHREAD_PRIO_PROTECT
 * to their ceiling.
 *
 *     if (wf_mutex_has_protocol(m))
 *             return wf_priority_lock(m, deadline_ns);
 *
 * sync/mutex.h calls these; types that count their locks or know their owner
 * are its matter. Called with in_runtime 0; locking may park.
 */
#ifndef WEFT_SYNC_PRIORITY_H
#define WEFT_SYNC_PRIORITY_H

#include "sync/mutex.h"

/* 0, -ETIMEDOUT, or -EINVAL: the caller's priority is above the ceiling, or it
 * has no real-time policy. */
int wf_priority_lock(struct wf_mutex *m, int64_t deadline_ns);
/* 0, -EBUSY, -EINVAL. */
int wf_priority_trylock(struct wf_mutex *m);
void wf_priority_unlock(struct wf_mutex *m);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Process-private mutexes with a priority protocol, which boost the priority of
 * their holder. With PTHREAD_PRIO_INHERIT the boost is the priority of the
 * first waiter, with PTHREAD_PRIO_PROTECT the ceiling.
 *
 *     if (wf_mutex_has_protocol(m))
 *             return wf_priority_lock(m, deadline_ns);
 *
 * sync/mutex.h calls these, and itself checks owners and counts locks. Called
 * with in_runtime 0; locking may park.
 */
#ifndef WEFT_SYNC_PRIORITY_H
#define WEFT_SYNC_PRIORITY_H

#include "sync/mutex.h"

/*
 * Locks m. Returns 0, -ETIMEDOUT or -EINVAL. -EINVAL: the caller's priority is
 * above the ceiling, or its policy is not real-time.
 */
int wf_priority_lock(struct wf_mutex *m, int64_t deadline_ns);
/* Locks m if it is free. Returns 0, -EBUSY or -EINVAL. */
int wf_priority_trylock(struct wf_mutex *m);
void wf_priority_unlock(struct wf_mutex *m);

#endif

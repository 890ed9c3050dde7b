/* SPDX-License-Identifier: MIT */
/*
 * The readiness watcher: requests that wait for a descriptor to get ready,
 * without a ring. One kernel thread has them all in an epoll set. When a
 * descriptor is ready it makes the call that does not wait, as a ring does, and
 * completes the request.
 */
#ifndef WEFT_IO_WATCHER_H
#define WEFT_IO_WATCHER_H

#include <stdbool.h>

#include "io/request.h"

/*
 * Pushes r, which has been set up for its end. Returns 0, or -ENOSYS if it
 * cannot be watched: nothing has been done. In the runtime, on a carrier.
 */
int wf_watcher_push(struct wf_thread *me, struct wf_request *r);

/* Asks for its end, which may have come. In the runtime, on a carrier. */
void wf_watcher_cancel(struct wf_thread *me, struct wf_request *r);

/* A worker has made the call that would have waited; result as the call's. */
void wf_watcher_served(struct wf_request *r, int result);

/*
 * The numbers first to last are about to be closed or replaced: requests on
 * them go on with duplicates, so that they stay with their files. Anybody,
 * in_runtime 0.
 */
void wf_watcher_before_close(unsigned int first, unsigned int last);

/* They have been: who has begun to wait for one meanwhile is told. */
void wf_watcher_after_close(unsigned int first, unsigned int last);

void wf_watcher_fork_child(void);

#endif

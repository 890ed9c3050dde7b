/* SPDX-License-Identifier: MIT */
/*
 * The readiness watcher: carries out requests that wait until a descriptor is
 * ready, where there is no ring. One kernel thread has their descriptors in an
 * epoll set. When a descriptor is ready, it makes the call without waiting, as
 * a ring does, and completes the request.
 *
 *     if (wf_watcher_push(me, &r) == 0)
 *             ...                     park until r is done
 */
#ifndef WEFT_IO_BACKEND_WATCHER_H
#define WEFT_IO_BACKEND_WATCHER_H

#include <stdbool.h>

#include "io/backend/request.h"

/*
 * Pushes r, of which nr_done is set. Returns 0; or -ENOSYS if the descriptor
 * cannot be in an epoll set, and nothing has been done. In the runtime, on a
 * carrier.
 */
int wf_watcher_push(struct wf_thread *me, struct wf_request *r);

/* Cancels r, which may be done already. In the runtime, on a carrier. */
void wf_watcher_cancel(struct wf_thread *me, struct wf_request *r);

/*
 * A worker has made the call of r, which might have waited. `result` is that of
 * the call.
 */
void wf_watcher_served(struct wf_request *r, int result);

/*
 * The numbers `first` to `last` are about to be closed or replaced. Requests on
 * them continue with duplicates, so that they stay with their files. Any thread
 * with in_runtime 0 may call this function.
 */
void wf_watcher_before_close(unsigned int first, unsigned int last);

/*
 * The numbers have been closed or replaced. Requests that threads have pushed
 * meanwhile wait for the new files, or end with an error.
 */
void wf_watcher_after_close(unsigned int first, unsigned int last);

void wf_watcher_fork_child(void);

#endif

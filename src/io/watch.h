/*
 * Requests that wait for a descriptor to get ready, without a ring: one kernel
 * thread has them all in an epoll set. When a descriptor is ready it makes the
 * call that does not wait, as a ring does, and completes the request.
 */
#ifndef WEFT_IO_WATCH_H
#define WEFT_IO_WATCH_H

#include <stdbool.h>

#include "io/request.h"

/*
 * Pushes r, which has been set up for its end. Returns 0, or -ENOSYS if it
 * cannot be watched: nothing has been done. In the runtime, on a carrier.
 */
int wf_watch_push(struct wf_thread *me, struct wf_request *r);

/* Asks for its end, which may have come. In the runtime, on a carrier. */
void wf_watch_cancel(struct wf_thread *me, struct wf_request *r);

/* A server has made the call that would have waited; result as the call's. */
void wf_watch_served(struct wf_request *r, int result);

/*
 * The numbers first to last are about to be closed or replaced: requests on
 * them go on with duplicates, so that they stay with their files. Anybody,
 * in_runtime 0.
 */
void wf_watch_keep(unsigned int first, unsigned int last);

/* They have been: who has begun to wait for one meanwhile is told. */
void wf_watch_closed(unsigned int first, unsigned int last);

void wf_watch_fork_child(void);

#endif

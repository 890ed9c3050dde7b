/* Making threads runnable: the bottom of every wake. */
#ifndef WEFT_SCHED_READY_H
#define WEFT_SCHED_READY_H

#include "sched/queue.h"

/*
 * Ends t's wait, whose context is saved. `me` is the caller, with in_runtime
 * set; NULL for weft's own kernel threads.
 */
void wf_ready_woken(struct wf_thread *me, struct wf_thread *t);

/* Queues a new, unstarted thread. */
void wf_ready_new(struct wf_thread *me, struct wf_thread *t);

#endif

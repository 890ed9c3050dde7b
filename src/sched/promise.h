/*
 * Carriers that are promised. Who wants to change what the kernel keeps for
 * its threads, of a thread that shares its kernel thread with others, gets one
 * at once that will be that thread's own:
 *
 *     c = wf_promise_make(t);
 *     if (c != NULL)
 *             wf_sys(SYS_setpriority, PRIO_PROCESS, c->tid, 5);
 *
 * The thread goes there when it next leaves the runtime or is preempted, and
 * is bound from then on. All with in_runtime set unless they say otherwise.
 */
#ifndef WEFT_SCHED_PROMISE_H
#define WEFT_SCHED_PROMISE_H

#include "sched/vp.h"

/* t's own carrier, or the one that it has been promised by now; NULL: none can
 * be made. t lives and is not foreign. */
struct wf_carrier *wf_promise_make(struct wf_thread *t);

/* The same, NULL if t has none. Anybody. */
struct wf_carrier *wf_promise_find(const struct wf_thread *t);

/*
 * t, the caller, whose VP is its own, is to leave it for the carrier that it
 * was promised: returns the post function of the switch to the carrier's own
 * context. NULL: it was promised none.
 */
wf_post_fn *wf_promise_keep_begin(struct wf_thread *t);

/* t, the caller, becomes bound where it is; false: it has been promised
 * another place. */
bool wf_promise_stay(struct wf_thread *t);

/* t, the caller, ends. */
void wf_promise_end(struct wf_thread *t);

void wf_promise_fork_child(void);

#endif

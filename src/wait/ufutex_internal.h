/* What timers and signals need of the user futex. */
#ifndef WEFT_WAIT_UFUTEX_INTERNAL_H
#define WEFT_WAIT_UFUTEX_INTERNAL_H

#include "sched/vp.h"

/*
 * Ends wait number `generation` of t with `result` (-ETIMEDOUT, -EINTR), if
 * t is still in it. True for the one who ended it. `me` as in wf_ready_woken.
 */
bool wf_ufutex_end_wait(struct wf_thread *t, uint64_t generation, int result,
			struct wf_thread *me);

/* Interrupts whatever wait t is in; false if it is in none. */
bool wf_ufutex_interrupt(struct wf_thread *t, struct wf_thread *me);

/* wf_ufutex_wake for a caller that is in the runtime. */
int wf_ufutex_wake_from(struct wf_thread *me, const void *addr, int nr,
			uint32_t bits);

/*
 * wf_ufutex_wait that hands the VP to `next`, a prepared thread that is in no
 * queue; in any case next gets to run.
 */
int wf_ufutex_wait_and_run(const void *addr, uint32_t expected,
			   int64_t deadline_ns, struct wf_thread *next);

void wf_ufutex_fork_child(void);

/* Set by signal/: must the caller's wait end before it begins? Bucket lock. */
extern bool (*wf_ufutex_is_interrupted)(struct wf_thread *t);
/* Set by signal/: is t, which has been cancelled, to act on it here? */
extern bool (*wf_ufutex_is_cancelled)(const struct wf_thread *t);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Carriers: making them, keeping spares, binding threads to them.
 *
 * CARRIER-1. A carrier that threads share does not exit: what hangs on a kernel
 *     thread (parent-death signals, timers, requests in a ring) goes with it.
 *     One that a thread has altered for itself exits when that has ended
 *     (sched/carrier_exit.h), as natively.
 * CARRIER-2. Carriers are cloned by carriers, never by the monitor, whose
 *     descriptor table is its own. So a spare that takes over sees to the next
 *     one first.
 * CARRIER-3. A spare is in the spare list from wf_carrier_wait_for_vp until the
 *     giver takes it out; only the giver writes c->vp then.
 * CARRIER-4. Where no kernel thread can be made, that is tried again and again:
 *     what was made ready for one is kept for the next.
 * CARRIER-5. An altered carrier makes no spare, since a clone of it would be
 *     altered, too. It asks the spare that it takes to make the next one.
 */
#ifndef WEFT_SCHED_CARRIER_H
#define WEFT_SCHED_CARRIER_H

#include <sched.h>

#include "sched/vfork_child.h"
#include "sched/vp.h"

/* What every carrier runs on its own stack; set once before the first. */
extern void (*wf_carrier_main)(struct wf_carrier *c);

/* Runs on each new carrier's kernel thread, and on the first's; may be NULL. */
extern void (*wf_carrier_init_hook)(struct wf_carrier *c);

/* A thread has become bound to the calling kernel thread. */
extern void (*wf_carrier_bound_hook)(const struct wf_thread *t);

/* The carrier of the kernel thread that calls, for thread 0. NULL: -ENOMEM. */
struct wf_carrier *wf_carrier_adopt(struct wf_vp *vp);

/* A new kernel thread that runs vp, or waits as a spare if vp is NULL. */
int wf_carrier_spawn(struct wf_vp *vp);

/*
 * Makes a spare if there is none. Called on carriers (CARRIER-2). 0 or -Exxx.
 */
int wf_carrier_ensure_spare(void);

/* Sleeps until somebody gives the carrier a VP or a thread to bind. A dismissed
 * one ends (sched/dismiss.h). */
void wf_carrier_wait_for_vp(struct wf_carrier *c);

/*
 * Takes a spare out of the list; NULL if there is none. The taker gives it a
 * VP, or puts it back. Anybody, the monitor too.
 */
struct wf_carrier *wf_carrier_take_spare(void);
void wf_carrier_put_back(struct wf_carrier *spare);
void wf_carrier_give(struct wf_carrier *spare, struct wf_vp *vp);
/* t, whose context is saved and which has no VP, to run on c alone. */
void wf_carrier_give_bound(struct wf_carrier *spare, struct wf_thread *t);

/* c->vp, c->bound or c->is_altered is new: it is to see that. */
void wf_carrier_wake(struct wf_carrier *c);
/* Until then, on its own stack; it makes spares if it is asked to. */
void wf_carrier_sleep(struct wf_carrier *c);

/* Takes a spare, which is made if need be; NULL if it cannot be. */
struct wf_carrier *wf_carrier_need_spare(void);
/* The same for a caller whose carrier was altered (CARRIER-5). */
struct wf_carrier *wf_carrier_need_spare_altered(void);

/*
 * Makes the calling thread own its carrier; its VP goes to a spare. Or it goes
 * to its reserved carrier. Called with in_runtime set. Returns
 * false, and changes nothing, if it cannot.
 */
bool wf_carrier_bind(struct wf_thread *t);
/* The same for a thread whose VP was taken: only if it is worth it. */
bool wf_carrier_bind_without_vp(struct wf_thread *t);
/*
 * Gives the VP of t, the caller, to a spare, as if it had been taken from a
 * blocked carrier: t queues for one at its next entry. in_runtime set.
 */
void wf_carrier_hand_off(struct wf_thread *t);
/* Is t's kernel thread other than its like? Threads that it makes are so. */
static inline bool wf_carrier_is_altered(const struct wf_thread *t)
{
	return t->kind == WF_THREAD_BOUND && t->carrier->is_altered;
}

/*
 * Do the caller's descriptors have numbers of their own? Those of a vfork child
 * do, and of a thread that has unshared its table of descriptors.
 */
static inline bool wf_has_own_files(void)
{
	const struct wf_thread *t = wf_self;

	return wf_thread_is_vfork_child(t) ||
	       (t != NULL && wf_carrier_is_altered(t) &&
		t->carrier->has_own_files);
}

/* May the caller's kernel thread exit before the process ends? */
static inline bool wf_carrier_may_exit(void)
{
	const struct wf_thread *t = wf_self;

	return t == NULL || t->carrier == NULL || wf_carrier_is_altered(t);
}

/* It was so, its thread has ended, and it exits or sleeps for good. */
static inline bool wf_carrier_is_exited(const struct wf_carrier *c)
{
	return c->is_altered && wf_load_relaxed(&c->reserved_for) == 0 &&
	       *(struct wf_thread *const volatile *)&c->bound == NULL;
}

/*
 * After a membarrier: where t runs, or is about to leave the runtime; NULL if
 * it does not. It may have ended by now and be another, which has no carrier.
 */
static inline struct wf_carrier *wf_carrier_running(const struct wf_thread *t)
{
	struct wf_carrier *c =
		*(struct wf_carrier *const volatile *)&t->carrier;
	const struct wf_vp *vp = *(struct wf_vp *const volatile *)&t->vp;
	bool is_running;

	if (c == NULL)
		return NULL;
	is_running = t->kind == WF_THREAD_BOUND ||
		     wf_load_relaxed(&t->retake) == WF_RETAKE_TAKEN ||
		     (vp != NULL && wf_load_acquire(&vp->cur) == t);
	return is_running ? c : NULL;
}

/* Starts `t`, which is prepared, on a carrier of its own, on these CPUs if not
 * NULL. 0 or -EAGAIN. */
int wf_carrier_start_bound(struct wf_thread *t, const cpu_set_t *affinity);

/* All carriers ever made: number 0 .. wf_carrier_count() - 1. */
uint32_t wf_carrier_count(void);
struct wf_carrier *wf_carrier_at(uint32_t number);

/* Of the last change of credentials; under wf_clone_lock. */
extern uint32_t wf_carrier_setxid_generation;
/* The lock is held for such a change, until all have followed. */
extern _Atomic bool wf_carrier_setxid_comes;

/* Their kernel threads are gone, and the first is nobody's: what they had is
 * kept for those of the next start. */
void wf_carrier_forget(void);
void wf_carrier_fork_child(void);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Carriers: the kernel threads that run threads. This module makes carriers,
 * keeps spares, and binds threads to carriers of their own.
 *
 *     spare = wf_carrier_need_spare();
 *     if (spare != NULL)
 *             wf_carrier_give(spare, vp);
 *
 * CARRIER-1. A shared carrier does not exit: the kernel ends parent-death
 *     signals, timers and requests in a ring together with the kernel thread. A
 *     carrier that a thread has altered for itself exits when that thread has
 *     ended (sched/carrier_exit.h), as it would without weft.
 * CARRIER-2. Only carriers clone carriers. The monitor has a descriptor table
 *     of its own, which a clone would inherit. So a spare that takes over a VP
 *     makes the next spare first.
 * CARRIER-3. A spare is in the spare list from wf_carrier_wait_for_vp until a
 *     giver takes it out. Only this giver writes c->vp then.
 * CARRIER-4. If the kernel refuses a new kernel thread, weft tries again at
 *     each later need. It keeps the memory of the refused carrier for that.
 * CARRIER-5. An altered carrier makes no spare, since its clone would be
 *     altered, too. It takes a spare, and asks that spare to make the next one.
 */
#ifndef WEFT_SCHED_CARRIER_H
#define WEFT_SCHED_CARRIER_H

#include <sched.h>

#include "sched/vfork_child.h"
#include "sched/vp.h"

/*
 * Makes a carrier for the calling kernel thread, which runs thread 0. Returns
 * NULL if there is no memory.
 */
struct wf_carrier *wf_carrier_adopt(struct wf_vp *vp);

/*
 * Starts a new kernel thread that runs vp, or waits as a spare if vp is NULL.
 * Returns 0 or -Exxx.
 */
int wf_carrier_spawn(struct wf_vp *vp);

/*
 * Makes a spare if there is none. Called on carriers (CARRIER-2). Returns 0 or
 * -Exxx.
 */
int wf_carrier_ensure_spare(void);

/*
 * Sleeps until another kernel thread gives the carrier a VP or a thread to
 * bind. A dismissed carrier ends here (sched/dismiss.h).
 */
void wf_carrier_wait_for_vp(struct wf_carrier *c);

/*
 * Takes a spare out of the list; NULL if there is none. The caller gives the
 * spare a VP, or puts it back. Any kernel thread may call this, the monitor
 * too.
 */
struct wf_carrier *wf_carrier_take_spare(void);
void wf_carrier_put_back(struct wf_carrier *spare);
void wf_carrier_give(struct wf_carrier *spare, struct wf_vp *vp);
/* Makes spare run t alone. t's context is saved, and t has no VP. */
void wf_carrier_give_bound(struct wf_carrier *spare, struct wf_thread *t);

/* Wakes c, after the caller has changed c->vp, c->bound or c->is_altered. */
void wf_carrier_wake(struct wf_carrier *c);
/*
 * Sleeps until wf_carrier_wake, on the carrier's own stack. Meanwhile the
 * carrier makes spares for altered carriers (CARRIER-5).
 */
void wf_carrier_sleep(struct wf_carrier *c);

/*
 * Takes a spare, and makes one first if there is none. Returns NULL if the
 * kernel refuses.
 */
struct wf_carrier *wf_carrier_need_spare(void);
/* As wf_carrier_need_spare, for a caller on an altered carrier (CARRIER-5). */
struct wf_carrier *wf_carrier_need_spare_altered(void);

/*
 * Binds t, the caller, to its carrier and gives its VP to a spare. If a carrier
 * is reserved for t, t moves there instead. Called with in_runtime set. Returns
 * false, and changes nothing, if there is no spare.
 */
bool wf_carrier_bind(struct wf_thread *t, enum wf_bound_why why);
/*
 * As wf_carrier_bind, for a thread that has lost its VP. Returns false if the
 * monitor has taken VPs from the thread too few times in a row for binding to
 * pay.
 */
bool wf_carrier_bind_without_vp(struct wf_thread *t);
/*
 * Gives the VP of t, the caller, to a spare, as the monitor does with the VP of
 * a blocked carrier. t reacquires a VP at its next entry to the runtime. Called
 * with in_runtime set.
 */
void wf_carrier_hand_off(struct wf_thread *t);
/*
 * True if t has changed the kernel state of its own kernel thread. Kernel
 * threads that this one makes inherit the change.
 */
static inline bool wf_carrier_is_altered(const struct wf_thread *t)
{
	return t->kind == WF_THREAD_BOUND && t->carrier->is_altered;
}

/*
 * True if the caller does not share the program's descriptor table: a vfork
 * child, or a thread that has unshared the table.
 */
static inline bool wf_has_own_files(void)
{
	const struct wf_thread *t = wf_self;

	return wf_thread_is_vfork_child(t) ||
	       (t != NULL && wf_carrier_is_altered(t) &&
		t->carrier->has_own_files);
}

/* True if the caller's kernel thread may exit before the process ends. */
static inline bool wf_carrier_may_exit(void)
{
	const struct wf_thread *t = wf_self;

	return t == NULL || t->carrier == NULL || wf_carrier_is_altered(t);
}

/*
 * True if c was altered and its thread has ended. Such a carrier exits; on the
 * process's first kernel thread it sleeps for ever.
 */
static inline bool wf_carrier_is_exited(const struct wf_carrier *c)
{
	return c->is_altered && wf_load_relaxed(&c->reserved_for) == 0 &&
	       *(struct wf_thread *const volatile *)&c->bound == NULL;
}

/*
 * Returns the carrier on which t runs, or which t is about to leave; NULL if t
 * does not run. The caller has made a membarrier before. t may have ended by
 * now, and its slot may belong to another thread, which has no carrier.
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

/*
 * Starts `t`, which is prepared, on a carrier of its own, on these CPUs if
 * affinity is not NULL. Returns 0 or -EAGAIN.
 */
int wf_carrier_start_bound(struct wf_thread *t, const cpu_set_t *affinity);

/* Returns the number of carriers ever made. A carrier's number is below it. */
uint32_t wf_carrier_count(void);
struct wf_carrier *wf_carrier_at(uint32_t number);

/* Counts the changes of credentials. Written under wf_clone_lock. */
extern uint32_t wf_carrier_setxid_generation;
/*
 * True while a thread holds the clone lock for a change of credentials, until
 * all kernel threads have made the change.
 */
extern _Atomic bool wf_carrier_setxid_comes;

/*
 * Called when all kernel threads but the first have ended and the first runs
 * without a carrier. Keeps the memory of all carriers for the next start of the
 * runtime.
 */
void wf_carrier_forget(void);
void wf_carrier_fork_child(void);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The user futex's functions for the rest of the runtime: timers, signals,
 * synchronisation objects and I/O.
 */
#ifndef WEFT_WAIT_UFUTEX_INTERNAL_H
#define WEFT_WAIT_UFUTEX_INTERNAL_H

#include "sched/vp.h"
#include "wait/ufutex.h"
#include "wait/ufutex_bucket.h"

/*
 * Ends wait number `generation` of t with `result` (-ETIMEDOUT, -EINTR), if t
 * is still in that wait. Returns true if this call ended it. `me` is as in
 * wf_ready_woken.
 */
bool wf_ufutex_end_wait(struct wf_thread *t, uint64_t generation, int result,
			struct wf_thread *me);

/* Interrupts the wait that t is in. Returns false if t is in no wait. */
bool wf_ufutex_interrupt(struct wf_thread *t, struct wf_thread *me);

/*
 * Wakes the first waiter for addr, with any bits. The caller is in the runtime;
 * `me` is as in wf_ready_woken.
 */
void wf_ufutex_wake_first(struct wf_thread *me, const void *addr);

/* As wf_ufutex_wake_one, for a caller that is in the runtime. */
int wf_ufutex_wake_one_from(struct wf_thread *me, const void *addr,
			    wf_ufutex_decide_fn *decide, void *arg);

struct wf_wait {
	const void *addr;
	uint32_t expected, bits;
	enum wf_wait_kind kind;
	int64_t deadline_ns;
	/*
	 * A prepared thread that is in no queue. It gets the caller's VP if the
	 * wait begins, and is made runnable if not. Only for multiplexed
	 * callers; may be NULL.
	 */
	struct wf_thread *next;
	wf_ufutex_commit_fn *commit; /* NULL: compare with expected */
	bool is_compared; /* the caller has done that, under the lock */
	void *commit_arg;
	/*
	 * A word in memory that other processes share, or NULL. The caller, a
	 * bound thread, sleeps on it in the kernel, too. A wake of it, or a
	 * value other than shared_expected, ends the wait.
	 */
	const void *shared;
	uint32_t shared_expected;
	struct wf_ufutex_note *note; /* gets the result; or NULL */
};

/*
 * One wait of the caller, which is in the runtime, in no other wait, and has
 * locked the bucket with wf_bucket_lock_to_wait. The lock is released. When the
 * caller has left the runtime, wf_ufutex_result converts the result to that of
 * wf_ufutex_wait.
 */
int wf_ufutex_wait_locked(struct wf_thread *t, struct wf_bucket *b,
			  struct wf_bucket_hold hold, const struct wf_wait *w);
int wf_ufutex_result(struct wf_thread *t, int result);

/*
 * Ends the wait of the first waiter for addr and returns that thread; NULL if
 * there is none. The caller makes the thread runnable. b is the bucket of addr,
 * and locked.
 */
struct wf_thread *wf_ufutex_take_first_locked(struct wf_bucket *b,
					      const void *addr);

/*
 * Waits for requests. The caller is in the runtime and stays in it. Signals and
 * cancellation end the wait with -EINTR, and no handler runs before the caller
 * leaves the runtime. If is_firm, nothing interrupts the wait.
 */
int wf_ufutex_wait_inside(struct wf_thread *t, const void *addr,
			  uint32_t expected, int64_t deadline_ns, bool is_firm);

/*
 * As wf_ufutex_wait_inside, for a semaphore: the thread is multiplexed, and the
 * wait has no deadline and can be interrupted.
 */
int wf_ufutex_park(struct wf_thread *t, const void *addr, uint32_t expected);
/*
 * As wf_ufutex_park, for a condition: with commit() as in
 * wf_ufutex_wait_commit.
 */
int wf_ufutex_park_commit(struct wf_thread *t, const void *addr,
			  wf_ufutex_commit_fn *commit, void *arg);

void wf_ufutex_fork_child(void);

#endif

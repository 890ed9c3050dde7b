/* SPDX-License-Identifier: MIT */
/* What timers and signals need of the user futex. */
#ifndef WEFT_WAIT_UFUTEX_INTERNAL_H
#define WEFT_WAIT_UFUTEX_INTERNAL_H

#include "sched/vp.h"
#include "wait/ufutex.h"

/*
 * Ends wait number `generation` of t with `result` (-ETIMEDOUT, -EINTR), if
 * t is still in it. True for the one who ended it. `me` as in wf_ready_woken.
 */
bool wf_ufutex_end_wait(struct wf_thread *t, uint64_t generation, int result,
			struct wf_thread *me);

/* Interrupts whatever wait t is in; false if it is in none. */
bool wf_ufutex_interrupt(struct wf_thread *t, struct wf_thread *me);

/*
 * Wakes who has waited for addr the longest, whatever its bits. The caller is
 * in the runtime; me as above.
 */
void wf_ufutex_wake_first(struct wf_thread *me, const void *addr);

/* wf_ufutex_wake_one for a caller that is in the runtime. */
int wf_ufutex_wake_one_from(struct wf_thread *me, const void *addr,
			    wf_ufutex_decide_fn *decide, void *arg);

struct wf_wait {
	const void *addr;
	uint32_t expected, bits;
	int64_t deadline_ns;
	/* Gets the VP if the wait begins, and is made ready if not: a
	 * prepared thread that is in no queue. Multiplexed callers only. */
	struct wf_thread *next;
	wf_ufutex_commit_fn *commit; /* or NULL: compare with expected */
	void *commit_arg;
	/* Not NULL: the wait ends, too, if this word, on which the kernel
	 * sleeps, is woken or not as expected. Bound callers only. */
	const void *shared;
	uint32_t shared_expected;
	struct wf_ufutex_note *note; /* or NULL */
};

/*
 * One wait of the caller, who is in the runtime, in no other wait, and has
 * locked the bucket to wait; the lock is released. `mask` as wf_signals_close
 * has returned it. wf_ufutex_result makes of its result what a wait returns,
 * when the runtime has been left.
 */
int wf_ufutex_wait_locked(struct wf_thread *t, struct wf_bucket *b,
			  uint64_t mask, const struct wf_wait *w);
int wf_ufutex_result(struct wf_thread *t, int result);

/*
 * Ends the wait of the first waiter, if there is any, and returns it, to be
 * made ready. b is the word's, and locked.
 */
struct wf_thread *wf_ufutex_take_first_locked(struct wf_bucket *b,
					      const void *addr);

/*
 * wf_ufutex_wait for a caller that is in the runtime and stays there: -EINTR
 * is all it learns of signals and cancellation, and nothing runs before it
 * leaves. A firm wait is not interrupted at all.
 */
int wf_ufutex_wait_inside(struct wf_thread *t, const void *addr,
			  uint32_t expected, int64_t deadline_ns, bool is_firm);

/* The same of a multiplexed thread, without an end and not firm. */
int wf_ufutex_park(struct wf_thread *t, const void *addr, uint32_t expected);
/* As wf_ufutex_wait_commit. */
int wf_ufutex_park_commit(struct wf_thread *t, const void *addr,
			  wf_ufutex_commit_fn *commit, void *arg);

void wf_ufutex_fork_child(void);

/* Set by signal/: must the caller's wait end before it begins? Bucket lock. */
extern bool (*wf_ufutex_is_interrupted)(struct wf_thread *t);
/* Set by signal/: is t, which has been cancelled, to act on it here? */
extern bool (*wf_ufutex_is_cancelled)(const struct wf_thread *t);

#endif

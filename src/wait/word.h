/* SPDX-License-Identifier: MIT */
/*
 * Wait words: memory that something outside the scheduler changes, such as
 * another process or a device.
 *
 *     struct wf_word w = { .addr = &ring->tail, .size = 4,
 *                          .mask = UINT32_MAX, .old = seen };
 *
 *     err = wf_word_wait(&w, 1, NULL, deadline_ns);
 *
 * The thread parks as on a user futex. Agents, the monitor, and now and then
 * busy VPs poll the word, and end the wait when it has changed.
 */
#ifndef WEFT_WAIT_WORD_H
#define WEFT_WAIT_WORD_H

#include "sched/vp.h"
#include "wait/ufutex_bucket.h"

/* A word to wait for: as struct weft_word and its flags in weft/weft.h. */
struct wf_word {
	const volatile void *addr;
	size_t size;
	uint64_t mask, old;
};
enum {
	WF_WORD_RUNG = 0x100,
	WF_WORD_POLLED = 0x200,
	WF_WORD_FLAGS = WF_WORD_RUNG | WF_WORD_POLLED,
	WF_WORDS_PER_WAIT = 1024,
};

/*
 * Waits until one of nr words has changed, and stores its index to *ret_index
 * if that is not NULL. The caller has in_runtime 0. Returns 0, -ETIMEDOUT,
 * -EFAULT (*ret_index is set), -EINVAL, -EAGAIN (a WF_WORD_POLLED word, and no
 * VP polls), -ENOMEM, or -ECANCELED at a cancellation point. The runtime must
 * have started.
 */
int wf_word_wait(const struct wf_word *words, size_t nr, size_t *ret_index,
		 int64_t deadline_ns);

/*
 * Ends the waits for the word at addr if it has changed. The caller has
 * in_runtime 0.
 */
void wf_word_ring(const volatile void *addr);

/*
 * Ends the wait of one thread with a changed word and returns that thread, for
 * the caller to run; or NULL. The caller is the owner of vp; `me` may hold the
 * bucket `held`. can_fault is as in wf_word_slot_find; if it is false, words at
 * arbitrary addresses are skipped.
 */
struct wf_thread *wf_words_take(struct wf_vp *vp, struct wf_thread *me,
				struct wf_bucket *held, bool can_fault);
/*
 * True if there is a thread with a changed word. The next wf_words_take finds
 * it. Owner of vp.
 */
bool wf_words_have_hit(struct wf_vp *vp, bool can_fault);
/*
 * True if SIGSEGV and SIGBUS are open, so that a poll may read any address.
 * can_fault is for a thread outside the runtime. carrier_can_fault is for the
 * runtime, where the kernel's mask may differ from the thread's. c may be NULL.
 */
bool wf_words_can_fault(const struct wf_thread *t);
bool wf_words_carrier_can_fault(const struct wf_carrier *c);
/* The set of SIGSEGV and SIGBUS, which a carrier leaves open while it polls. */
uint64_t wf_words_fault_signals(void);
/* True if any thread waits for a word at an address that may fault. */
bool wf_words_has_slots(void);

/*
 * Called when no VP polls any more: ends the waits with WF_WORD_POLLED. Returns
 * their number.
 */
uint32_t wf_words_end_polled(struct wf_thread *me);
bool wf_words_has_polled(void);

/*
 * Called by the monitor once a tick: polls the words if no VP has polled since
 * the last call. Returns true if the monitor must continue to call it.
 */
bool wf_words_watch(void);
/*
 * The number of waits for words that have begun. A new wait raises it before it
 * checks whether the monitor sleeps.
 */
uint64_t wf_words_nr_waits(void);
/*
 * Counts how often the monitor has found changed words. The time of such a
 * change is unknown: some time in the last tick.
 */
extern _Atomic uint32_t wf_words_nr_watched;

/*
 * Polls the words if the last poll was long enough ago. The caller owns vp,
 * has in_runtime set, and holds no lock.
 */
void wf_words_poll_when_due(struct wf_vp *vp);
void wf_words_fork_child(void);

#endif

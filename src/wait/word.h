/* SPDX-License-Identifier: MIT */
/*
 * Wait words: memory that something outside the scheduler changes.
 *
 *     struct wf_word w = { .addr = &ring->tail, .size = 4,
 *                          .mask = UINT32_MAX, .old = seen };
 *
 *     err = wf_word_wait(&w, 1, NULL, deadline_ns);
 *
 * The thread parks as on a user futex; agents, busy VPs now and then, and the
 * monitor look whether the word has changed, and end the wait then.
 */
#ifndef WEFT_WAIT_WORD_H
#define WEFT_WAIT_WORD_H

#include "sched/vp.h"
#include "wait/ufutex_bucket.h"

/* As struct weft_word, and its flags. */
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
 * Waits until one of nr words has changed; its number is in *ret_index, if
 * that is not NULL. in_runtime 0. Returns 0, -ETIMEDOUT, -EFAULT (*ret_index is
 * set), -EINVAL, -EAGAIN, -ENOMEM, or -ECANCELED at a cancellation point. The
 * runtime must have started.
 */
int wf_word_wait(const struct wf_word *words, size_t nr, size_t *ret_index,
		 int64_t deadline_ns);

/* Ends the waits for the word at addr that has changed. in_runtime 0. */
void wf_word_ring(const volatile void *addr);

/*
 * A thread whose word has changed, to be run by the caller, or NULL. Owner of
 * vp; me is the caller, who may hold a bucket. can_fault: as of
 * wf_word_slot_find; addresses that cannot be read are passed over without.
 */
struct wf_thread *wf_words_take(struct wf_vp *vp, struct wf_thread *me,
				struct wf_bucket *held, bool can_fault);
/* Is there one? The next wf_words_take finds it. Owner of vp. */
bool wf_words_have_hit(struct wf_vp *vp, bool can_fault);
/*
 * Are signals of faults open? In t, which is not in the runtime; in the
 * runtime, where the kernel's mask may be another. c may be NULL.
 */
bool wf_words_can_fault(const struct wf_thread *t);
bool wf_words_carrier_can_fault(const struct wf_carrier *c);
/* What a carrier leaves open while it looks. */
uint64_t wf_words_fault_signals(void);
/* Does anybody wait at an address that may fault? */
bool wf_words_has_slots(void);

/* Nobody polls any more: ends the waits that are for as long. How many? */
uint32_t wf_words_end_polled(struct wf_thread *me);
bool wf_words_has_polled(void);

/*
 * The monitor, once a tick: looks at the words if no VP has since the last
 * time. True if it has to go on doing so.
 */
bool wf_words_watch(void);
/* Waits for words that have begun. Later ones raise it before they look
 * whether the monitor sleeps. */
uint64_t wf_words_nr_waits(void);
/*
 * How often it has found some. Nobody knows then when they changed, but that
 * it was in the last tick.
 */
extern _Atomic uint32_t wf_words_nr_watched;

void wf_words_init(void);
void wf_words_fork_child(void);

#endif

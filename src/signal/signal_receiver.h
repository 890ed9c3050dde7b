/* SPDX-License-Identifier: MIT */
/*
 * The signal receiver thread, in short the receiver. While carriers sleep they
 * block all signals, so this kernel thread takes the signals to the process and
 * gives them to threads.
 *
 *     wf_signal_receiver_want(set);
 *     ...	signals of set go to threads that take them
 */
#ifndef WEFT_SIGNAL_SIGNAL_RECEIVER_H
#define WEFT_SIGNAL_SIGNAL_RECEIVER_H

#include <stdbool.h>
#include <stdint.h>

#include "sched/thread.h"

/* Starts the receiver; it takes no signal yet. Returns 0 or -errno. */
int wf_signal_receiver_start(void);
/*
 * Ends the receiver before the runtime starts anew. Returns as
 * wf_service_dismiss does.
 */
bool wf_signal_receiver_dismiss(void);
void wf_signal_receiver_fork_child(void);

/*
 * want: some thread waits for the signals in set from now on. open: some thread
 * does not block them from now on. Any thread may call these; the caller has
 * in_runtime set.
 */
void wf_signal_receiver_want(uint64_t set);
void wf_signal_receiver_open(uint64_t set);
/*
 * Returns the signals that t may take from the kernel instead of the receiver.
 */
uint64_t wf_signal_receiver_takes_for(const struct wf_thread *t);
/* Returns the signals that the receiver takes, or is about to take. */
uint64_t wf_signal_receiver_takes(void);
/*
 * Returns the signals of set, which a thread is opening, that the receiver does
 * not take yet.
 */
uint64_t wf_signal_receiver_unwanted(uint64_t set);
/*
 * Called when no thread takes the signals of set: the receiver stops taking
 * them at its next turn.
 */
void wf_signal_receiver_shrink(uint64_t set);
/*
 * As wf_signal_receiver_shrink, for those of set that no thread takes, but
 * waits: when this returns, the receiver does not take them. The caller then
 * checks again for threads that take them.
 */
void wf_signal_receiver_leave_to_kernel(uint64_t set);

/*
 * Returns the signals that the receiver's mask lets through, now or in its next
 * turn. By default they stop or end the process, so the receiver does not take
 * them.
 */
uint64_t wf_signal_receiver_opens(void);
/*
 * Called when t has just blocked set. Returns those signals of set that the
 * receiver's mask lets through, and that perhaps no other thread takes.
 */
uint64_t wf_signal_receiver_closing(const struct wf_thread *t, uint64_t set);
/*
 * Waits until the receiver lets no signal of set through that is not in
 * wf_action_halts or that all threads block. May sleep shortly.
 */
void wf_signal_receiver_close(uint64_t set);
/*
 * Makes the receiver, if there is one, choose again which signals to take.
 * Called when wf_action_halts has grown.
 */
void wf_signal_receiver_rearm(void);

/*
 * settle: waits until the receiver has handed on the signal that it has taken,
 * if any. is_busy is not 0 while there is one.
 */
extern _Atomic uint32_t wf_signal_receiver_is_busy;
void wf_signal_receiver_settle_slow(void);
static inline void wf_signal_receiver_settle(void)
{
	if (WF_UNLIKELY(wf_load_acquire(&wf_signal_receiver_is_busy) != 0))
		wf_signal_receiver_settle_slow();
}
/*
 * As settle, for a carrier that has slept and has just opened its mask. The
 * receiver may have taken a signal and not yet set is_busy.
 */
void wf_signal_receiver_await_taken(void);

/* Returns the receiver's kernel thread id; 0 until it has started. */
int wf_signal_receiver_tid(void);

#endif

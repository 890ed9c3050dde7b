/* SPDX-License-Identifier: MIT */
/*
 * The signal receiver thread, short: the receiver. This kernel thread takes
 * signals to the process while the carriers sleep, which block everything.
 */
#ifndef WEFT_SIGNAL_SIGNAL_RECEIVER_H
#define WEFT_SIGNAL_SIGNAL_RECEIVER_H

#include <stdbool.h>
#include <stdint.h>

#include "sched/thread.h"

/* Starts it; it wants nothing yet. 0 or -Exxx. */
int wf_signal_receiver_start(void);
/* Ends it, before a new start: as wf_service_dismiss. */
bool wf_signal_receiver_dismiss(void);
void wf_signal_receiver_fork_child(void);

/*
 * Some thread waits for these from now on / does not block them. Any thread,
 * in_runtime set.
 */
void wf_signal_receiver_want(uint64_t set);
void wf_signal_receiver_open(uint64_t set);
/* What t may take of what it waits for. */
uint64_t wf_signal_receiver_takes_for(const struct wf_thread *t);
/* What the receiver waits for, or is about to. */
uint64_t wf_signal_receiver_takes(void);
/* What of set, which somebody opens, the receiver does not take yet. */
uint64_t wf_signal_receiver_unwanted(uint64_t set);
/* Nobody takes these. */
void wf_signal_receiver_shrink(uint64_t set);
/*
 * The same, for who looks for takers again afterwards: when it returns, the
 * receiver does not wait for those that nobody takes.
 */
void wf_signal_receiver_leave_to_kernel(uint64_t set);

/*
 * What stops or ends the process by default, and the receiver lets through, not
 * taking it, or is about to.
 */
uint64_t wf_signal_receiver_opens(void);
/*
 * What of set the receiver lets through, and t, which has closed set, was
 * perhaps the last to take.
 */
uint64_t wf_signal_receiver_closing(const struct wf_thread *t, uint64_t set);
/*
 * What of set is not in wf_action_halts, or blocked by all threads, the
 * receiver does not let through when it returns. May sleep shortly.
 */
void wf_signal_receiver_close(uint64_t set);
/* It looks again what it has to take, if there is one: wf_action_halts has
 * grown. */
void wf_signal_receiver_rearm(void);

/* Waits until the receiver has handed on what it has in hand. */
void wf_signal_receiver_settle(void);
/*
 * The same for a carrier that has slept and has just opened its mask: the
 * receiver may not have come to say yet that it has one.
 */
void wf_signal_receiver_await_taken(void);

/* 0 until it has started. */
int wf_signal_receiver_tid(void);

#endif

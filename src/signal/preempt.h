/* SPDX-License-Identifier: MIT */
/* The handler of the preemption signal. */
#ifndef WEFT_SIGNAL_PREEMPT_H
#define WEFT_SIGNAL_PREEMPT_H

#include <stdbool.h>
#include <stdint.h>

#include "sched/vp.h"

/* Installs the handler. */
void wf_preempt_init(void);

/*
 * Signals the carrier once; more while one is on its way do nothing, since
 * queued ones would nest until the alternate stack is full.
 */
void wf_preempt_signal(struct wf_carrier *c);

/* Gives the carrier the CPU timer that preempts if the monitor cannot. */
void wf_preempt_arm(struct wf_carrier *c);

/* Is the caller in their process? Not in another that shares its memory, or has
 * a copy unknown to weft. */
bool wf_preempt_is_here(void);

/*
 * The caller, t, is about to replace the program: no preemption signals are
 * sent until exec has failed, and none is on its way to the caller when it has
 * settled. t->is_replacing tells so. Nests among threads. Waits for who
 * broadcasts. in_runtime 0; the end with everything blocked.
 */
void wf_preempt_exec_begin(struct wf_thread *t);
void wf_preempt_exec_settle(void);
void wf_preempt_exec_end(struct wf_thread *t);

/*
 * The caller is about to send them to all kernel threads: there is no exec
 * until the end. Waits for those that have begun, then enters the runtime. The
 * caller holds nothing that another needs for an exec, nor for what comes when
 * that has failed.
 */
struct wf_thread *wf_preempt_broadcast_begin(void);
void wf_preempt_broadcast_end(void);

/* Runs first in the handler on every kernel thread; set by boot/. */
extern void (*wf_preempt_setxid)(void);

#endif

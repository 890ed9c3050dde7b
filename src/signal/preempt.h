/* SPDX-License-Identifier: MIT */
/*
 * The preemption signal: its sender, its handler, and the pauses that exec and
 * broadcasts need.
 *
 *     wf_preempt_exec_begin(t);
 *     wf_preempt_exec_settle();
 *     rc = wf_sys(SYS_execve, path, argv, envp);
 *     wf_preempt_exec_end(t);
 */
#ifndef WEFT_SIGNAL_PREEMPT_H
#define WEFT_SIGNAL_PREEMPT_H

#include <stdbool.h>
#include <stdint.h>

#include "sched/vp.h"

/* Installs the handler. */
void wf_preempt_init(void);

/*
 * Signals the carrier. While a signal is on its way, further calls do nothing:
 * queued signals would nest until the alternate stack is full.
 */
void wf_preempt_signal(struct wf_carrier *c);

/*
 * Gives the carrier the CPU timer that preempts its thread when the monitor
 * gets no CPU.
 */
void wf_preempt_arm(struct wf_carrier *c);

/*
 * True if the caller is in the process in which preemption signals are sent.
 * False in a process that shares its memory, or has a copy that weft does not
 * know.
 */
bool wf_preempt_is_here(void);

/*
 * t, the caller, is about to replace the program. From wf_preempt_exec_begin
 * until exec has failed no preemption signals are sent. After
 * wf_preempt_exec_settle none is on its way to the caller. t->is_replacing is
 * set meanwhile. Several threads may do this at a time. wf_preempt_exec_begin
 * waits for threads that broadcast. in_runtime 0; call wf_preempt_exec_end with
 * all signals blocked.
 */
void wf_preempt_exec_begin(struct wf_thread *t);
void wf_preempt_exec_settle(void);
void wf_preempt_exec_end(struct wf_thread *t);

/*
 * The caller is about to signal all kernel threads. No thread executes a
 * program until wf_preempt_broadcast_end. Waits for threads that have begun an
 * exec, then enters the runtime and returns the caller. The caller must hold
 * nothing that another thread needs to execute, or to continue if exec fails.
 */
struct wf_thread *wf_preempt_broadcast_begin(void);
void wf_preempt_broadcast_end(void);

#endif

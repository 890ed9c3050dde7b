/* SPDX-License-Identifier: MIT */
/*
 * The preemption signal: how it is sent and handled, and how it is held back
 * for exec and for broadcasts.
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

/* Installs the handler of the preemption signal. */
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
 * True if the caller's process is the one in which preemption signals are sent.
 * False in a process that shares its memory, or has a copy that weft does not
 * know.
 */
bool wf_preempt_is_here(void);

/*
 * Around an exec of t, the caller; several threads may be in one at a time.
 * exec_begin: from here on no preemption signals are sent, until exec_end after
 * an exec that has failed. It waits for threads that broadcast, and sets
 * t->is_replacing. exec_settle: when it returns, no preemption signal is on its
 * way to the caller. The caller has in_runtime 0; all signals are blocked for
 * exec_end.
 */
void wf_preempt_exec_begin(struct wf_thread *t);
void wf_preempt_exec_settle(void);
void wf_preempt_exec_end(struct wf_thread *t);

/*
 * Called when the caller is about to signal all kernel threads. No thread
 * executes a program until wf_preempt_broadcast_end. Waits for threads that
 * have begun an exec, then enters the runtime and returns the caller. The
 * caller must hold nothing that another thread needs to execute, or to go on if
 * exec fails.
 */
struct wf_thread *wf_preempt_broadcast_begin(void);
void wf_preempt_broadcast_end(void);

#endif

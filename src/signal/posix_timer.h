/* SPDX-License-Identifier: MIT */
/*
 * POSIX timers that signal one thread. The kernel does not know the program's
 * tids. So it signals the signal receiver, which asks here which thread the
 * timer is for.
 *
 *     if (wf_posix_timer_target(&info, &t)) ...
 */
#ifndef WEFT_SIGNAL_POSIX_TIMER_H
#define WEFT_SIGNAL_POSIX_TIMER_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "sched/thread.h"

/*
 * Registers the timer with the kernel's number `id`: it sends sig to the thread
 * tid. The kernel signals the receiver, by WF_PREEMPT_SIGNAL. Call before the
 * timer is armed. The caller has in_runtime set. Returns 0, or -EAGAIN if there
 * are too many.
 */
int wf_posix_timer_add(int id, int sig, int32_t tid);
/*
 * Forgets the timer. Call it before the kernel deletes the timer. The caller
 * has in_runtime set.
 */
void wf_posix_timer_remove(int id);

/*
 * True if info is the receiver's signal from a timer that wf_posix_timer_add
 * registered. Then changes info to the signal that the thread is to get, and
 * sets *ret_target to that thread, or to NULL if the thread has ended. The
 * caller has in_runtime set, or on a kernel thread of weft's.
 */
bool wf_posix_timer_target(siginfo_t *info, struct wf_thread **ret_target);

/*
 * delivered: called when a timer's signal is being delivered, with all signals
 * blocked or in_runtime set. Notes how often the timer has expired beyond the
 * first time. overrun: returns that number for the timer, or -ENOENT for other
 * timers.
 */
void wf_posix_timer_delivered(const siginfo_t *info);
int wf_posix_timer_overrun(int id);

/* True if a timer signals the thread with this id. */
bool wf_posix_timer_is_any(int32_t tid);
/* A fork child inherits no timers. */
void wf_posix_timer_fork_child(void);

#endif

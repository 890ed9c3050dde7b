/* SPDX-License-Identifier: MIT */
/*
 * POSIX timers that signal one thread. The kernel knows no tid of the
 * program's: it signals the receiver, which asks here whom the timer is for.
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
 * The timer with the kernel's number id signals, by sig, the thread tid; the
 * kernel signals the receiver, by WF_PREEMPT_SIGNAL. It is not armed yet.
 * in_runtime set. 0 or -EAGAIN: there are too many.
 */
int wf_posix_timer_add(int id, int sig, int32_t tid);
/* Before the kernel deletes it. in_runtime set. */
void wf_posix_timer_remove(int id);

/*
 * True if info comes from such a timer, and is then what the thread gets;
 * *ret_target is NULL if that has ended. in_runtime set, or a kernel thread of
 * weft's own.
 */
bool wf_posix_timer_target(siginfo_t *info, struct wf_thread **ret_target);

/*
 * Expirations beyond the first in the signal that was last delivered.
 * wf_posix_timer_delivered notes them and is called with all signals blocked,
 * or in_runtime set; the overrun is -ENOENT for other timers.
 */
void wf_posix_timer_delivered(const siginfo_t *info);
int wf_posix_timer_overrun(int id);

/* Timers are not inherited. */
/* Is there one that signals the thread with this id? */
bool wf_posix_timer_is_any(int32_t tid);
void wf_posix_timer_fork_child(void);

#endif

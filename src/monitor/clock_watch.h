/* SPDX-License-Identifier: MIT */
/*
 * Notices when the program or the system sets CLOCK_REALTIME, for waits with a
 * deadline on that clock. The monitor calls wf_clock_watch_serve in each round;
 * the first such wait starts a kernel thread.
 *
 *     wf_clock_watch_serve();	the monitor, in each round
 */
#ifndef WEFT_MONITOR_CLOCK_WATCH_H
#define WEFT_MONITOR_CLOCK_WATCH_H

#include "base/atomic.h"

/*
 * Starts the kernel thread once a wait needs it. The monitor calls it each
 * round.
 */
void wf_clock_watch_serve(void);

/*
 * Returns the kernel thread's id, for changes of credentials; 0 if it has not
 * started.
 */
int wf_clock_watch_tid(void);
/*
 * The number of the last change of credentials that the kernel thread has made.
 */
extern _Atomic uint32_t wf_clock_watch_followed;

/*
 * Called when a seccomp filter kills threads that use a timerfd. From then on
 * this process and its children make none.
 */
void wf_clock_watch_forbid(void);

/*
 * End the kernel thread, in this order. The monitor holds the timer's
 * descriptor, so it calls wf_clock_watch_stop before it ends itself.
 * wf_clock_watch_dismiss returns as wf_service_dismiss does.
 */
void wf_clock_watch_dismiss_begin(void);
void wf_clock_watch_stop(void);
bool wf_clock_watch_dismiss(void);
void wf_clock_watch_fork_child(void);

#endif

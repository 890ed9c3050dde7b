/* SPDX-License-Identifier: MIT */
/*
 * The monitor: one kernel thread that looks after the VPs. It preempts threads,
 * takes VPs from carriers that the kernel blocks, and keeps time while all VPs
 * are busy.
 *
 *     err = wf_monitor_start();
 *
 * None of the functions may be called in a signal handler.
 */
#ifndef WEFT_MONITOR_MONITOR_H
#define WEFT_MONITOR_MONITOR_H

#include <stdbool.h>

/* Starts the monitor's kernel thread. Returns 0 or -errno. */
int wf_monitor_start(void);
/*
 * Ends the monitor and the kernel threads that it has made, before the runtime
 * starts anew. Returns as wf_service_dismiss does.
 */
bool wf_monitor_dismiss(void);
void wf_monitor_fork_child(void);
/* Returns the id of the monitor's kernel thread; 0 if it does not run. */
int wf_monitor_tid(void);

#endif

/* SPDX-License-Identifier: MIT */
/* Who notices that CLOCK_REALTIME was set, for waits till a time of it. */
#ifndef WEFT_BOOT_CLOCK_WATCH_H
#define WEFT_BOOT_CLOCK_WATCH_H

#include "base/atomic.h"

/* Starts to watch if somebody wants that. The monitor, each round. */
void wf_clock_watch_serve(void);

/* For changes of credentials: 0 before it has started. */
int wf_clock_watch_tid(void);
/* The number of the last change that it has followed. */
extern _Atomic uint32_t wf_clock_watch_followed;

/* The kernel kills who makes the timer: never tries, nor do children. */
void wf_clock_watch_forbid(void);

/*
 * Ends the kernel thread: as wf_service_dismiss. Between the two the monitor,
 * which has the descriptor, stops it before its own end.
 */
void wf_clock_watch_dismiss_begin(void);
void wf_clock_watch_stop(void);
bool wf_clock_watch_dismiss(void);
void wf_clock_watch_fork_child(void);

#endif

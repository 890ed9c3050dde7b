/* SPDX-License-Identifier: MIT */
/*
 * Ends threads that have lost their kernel thread. A seccomp filter may kill a
 * kernel thread, or code in the program may make the system call exit.
 *
 *     if (wf_deaths_serve(now_ns))
 *             ...	tick again
 */
#ifndef WEFT_MONITOR_DEATHS_H
#define WEFT_MONITOR_DEATHS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Makes the kernel report the end of the calling kernel thread, the process's
 * first, which becomes a carrier.
 */
void wf_deaths_watch_first(void);
/*
 * Called when a seccomp filter kills threads that call set_tid_address. Then
 * weft does not watch the first kernel thread.
 */
void wf_deaths_forbid(void);

/*
 * Ends the threads of ended kernel threads. The monitor calls it each round.
 * True if it must be called again at the next tick.
 */
bool wf_deaths_serve(int64_t now_ns);

#endif

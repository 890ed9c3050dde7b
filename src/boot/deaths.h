/* SPDX-License-Identifier: MIT */
/* Threads whose kernel thread ends without them. */
#ifndef WEFT_BOOT_DEATHS_H
#define WEFT_BOOT_DEATHS_H

#include <stdbool.h>
#include <stdint.h>

/* The calling kernel thread, the process's first, is a carrier from now on. */
void wf_deaths_watch_first(void);
/* The kernel kills who calls set_tid_address: that one is not watched. */
void wf_deaths_forbid(void);

/*
 * Ends the threads whose kernel threads have ended. The monitor, each round;
 * true if it has to look again at the next tick.
 */
bool wf_deaths_serve(int64_t now_ns);

#endif

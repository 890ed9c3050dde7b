/* SPDX-License-Identifier: MIT */
/*
 * The runtime ends, and starts again with the next pthread_create. Calls that
 * the kernel refuses to a process with several threads need that, as unshare:
 *
 *     wf_wind_down(true);
 *     rc = wf_sys(SYS_unshare, CLONE_NEWUSER);
 */
#ifndef WEFT_BOOT_WIND_DOWN_H
#define WEFT_BOOT_WIND_DOWN_H

#include <stdbool.h>

/*
 * If the caller is the process's first thread and no other thread of the
 * program's lives, weft's kernel threads end. The caller is on the process's
 * first kernel thread then, and the process is as before its first
 * pthread_create. Otherwise nothing happens, nor if something needs weft's
 * kernel threads (wind_down.c, WIND_DOWN-2). is_needed: the kernel refuses what
 * comes next as long as they are there. in_runtime 0; sleeps.
 */
void wf_wind_down(bool is_needed);

/* This process has registered a message queue's notification, which a new start
 * would take back (boot/private_table.h): it does not wind down any more. */
void wf_wind_down_never(void);

#endif

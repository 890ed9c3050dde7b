/* SPDX-License-Identifier: MIT */
/*
 * Ends the runtime until the next pthread_create. The kernel refuses some
 * calls, as unshare, to a process with several kernel threads:
 *
 *     wf_wind_down(true);
 *     rc = wf_sys(SYS_unshare, CLONE_NEWUSER);
 */
#ifndef WEFT_BOOT_WIND_DOWN_H
#define WEFT_BOOT_WIND_DOWN_H

#include <stdbool.h>

/*
 * Ends weft's kernel threads if the caller is the process's first thread and
 * the program's only one. The caller then runs on the process's first kernel
 * thread, and the process is as before its first pthread_create. Otherwise, or
 * if something needs weft's kernel threads (wind_down.c, WIND_DOWN-2), it does
 * nothing. is_needed: the kernel refuses the next call while these kernel
 * threads exist. The caller has in_runtime 0. May sleep.
 */
void wf_wind_down(bool is_needed);

/*
 * Makes wf_wind_down do nothing in this process. The process has registered a
 * notification of a message queue, and a new start would cancel it
 * (monitor/private_table.h).
 */
void wf_wind_down_never(void);

#endif

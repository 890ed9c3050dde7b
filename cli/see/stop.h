/* SPDX-License-Identifier: MIT */
/*
 * Stops a kernel thread for a moment, to read its registers.
 *
 *     if (wf_see_stop(tid, &stopped)) {
 *             ...
 *             wf_see_go_on(&stopped);
 *     }
 *
 * A debugger stops threads in the same way: a few system calls then return
 * EINTR, as signal(7) lists them.
 */
#ifndef WEFT_CLI_SEE_STOP_H
#define WEFT_CLI_SEE_STOP_H

#include <stdbool.h>
#include <sys/user.h>

struct wf_see_stopped {
	int tid;
	int signal; /* that was about to be delivered, or 0 */
	struct user_regs_struct registers; /* fs_base: the thread register */
};

/* False: it has ended, or may not be stopped. */
bool wf_see_stop(int tid, struct wf_see_stopped *ret_stopped);
void wf_see_go_on(const struct wf_see_stopped *stopped);

#endif

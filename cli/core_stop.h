/* SPDX-License-Identifier: MIT */
/*
 * Stops all kernel threads of a process.
 *
 *     err = wf_core_stop(pid, &stop);
 *     ...
 *     wf_core_go_on(&stop);
 */
#ifndef WEFT_CLI_CORE_STOP_H
#define WEFT_CLI_CORE_STOP_H

#include <stddef.h>

#include "see/stop.h"

struct wf_core_stop {
	struct wf_see_stopped *threads; /* the process's first one is the
					 * first, if it has not ended */
	size_t nr;
	bool was_refused; /* a thread may not be stopped, or has ended */
};

/*
 * Returns 0 or -Exxx. If this process ends, the kernel lets them go on.
 */
int wf_core_stop(int pid, struct wf_core_stop *ret_stop);
void wf_core_go_on(struct wf_core_stop *stop);

#endif

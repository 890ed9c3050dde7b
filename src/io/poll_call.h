/* SPDX-License-Identifier: MIT */
/*
 * poll and select that an I/O worker makes while the thread parks: it costs no
 * more for each descriptor than natively, and waits for the files as they were
 * when it began, whatever becomes of their numbers.
 */
#ifndef WEFT_IO_POLL_CALL_H
#define WEFT_IO_POLL_CALL_H

#include <poll.h>
#include <stdint.h>

/*
 * What the call returns; 0 also if it was for nothing. Any handler that runs
 * after nr_handlers (struct wf_thread) was read ends it. -ENOSYS: nobody can
 * make it now. in_runtime 0.
 */
int wf_poll_call_list(struct pollfd *fds, nfds_t nr, int64_t deadline_ns,
		      uint32_t nr_handlers);
/* The sets are what the call reads and writes, or NULL. */
int wf_poll_call_sets(int nr, char *const sets[3], int64_t deadline_ns,
		      uint32_t nr_handlers);

void wf_poll_call_fork_child(void);

#endif

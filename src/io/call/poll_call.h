/* SPDX-License-Identifier: MIT */
/*
 * poll and select made by an I/O worker while the thread parks. Each descriptor
 * costs as much as natively. The kernel waits for the files that the numbers
 * named when the call began, also if the numbers are closed or replaced
 * meanwhile.
 *
 *     n = wf_poll_call_list(fds, nr, deadline_ns, wf_self->nr_handlers);
 *     if (n == -ENOSYS)
 *             ...                     wait by an epoll set
 */
#ifndef WEFT_IO_CALL_POLL_CALL_H
#define WEFT_IO_CALL_POLL_CALL_H

#include <poll.h>
#include <stdint.h>

/*
 * Returns the result of ppoll; 0 also if the wait was interrupted and no
 * handler ran. Any handler that runs after nr_handlers (struct wf_thread) was
 * read ends the call. -ENOSYS: no worker can make the call now. in_runtime is
 * 0.
 */
int wf_poll_call_list(struct pollfd *fds, nfds_t nr, int64_t deadline_ns,
		      uint32_t nr_handlers);
/*
 * Makes pselect6 as wf_poll_call_list makes ppoll. The call reads and writes
 * the sets, each of which may be NULL.
 */
int wf_poll_call_sets(int nr, char *const sets[3], int64_t deadline_ns,
		      uint32_t nr_handlers);

void wf_poll_call_fork_child(void);

#endif

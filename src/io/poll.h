/* What waits for descriptors have in common. */
#ifndef WEFT_IO_POLL_H
#define WEFT_IO_POLL_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

/* A call that returned n was interrupted by a signal of weft's own. */
bool wf_poll_is_for_nothing(int n, uint32_t nr_handlers);

/*
 * What wf_request_run_any returned, as the wait's result: 0, also if it was for
 * nothing, -EINTR or -ECANCELED. False: it has not waited; the kernel has to.
 */
bool wf_poll_has_waited(int *err);

/*
 * Nothing was ready: the wait begins, with the call's mask, or NULL. True if
 * that let a handler run, which ends it. wf_signal_close_after_wait is next.
 */
bool wf_poll_open(const uint64_t *mask, uint32_t nr_handlers);

/* Waits by the plain call. 0 or -Exxx. */
int wf_poll_in_kernel(const struct pollfd *fds, nfds_t nr, int64_t deadline_ns,
		      uint32_t nr_handlers);

#endif

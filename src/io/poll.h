/* SPDX-License-Identifier: MIT */
/* What waits for descriptors have in common. */
#ifndef WEFT_IO_POLL_H
#define WEFT_IO_POLL_H

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct wf_many;

/* Most descriptors for which there is a request each. */
enum { WF_POLL_FEW = 16 };

/* A call that returned n was interrupted by a signal of weft's own. */
bool wf_poll_is_for_nothing(int n, uint32_t nr_handlers);

/*
 * What wf_request_run_any returned, as the wait's result: 0, also if it was for
 * nothing, -EINTR or -ECANCELED. False: it has not waited; the kernel has to.
 */
bool wf_poll_has_waited(int *err);

/*
 * Nothing was ready: the wait begins, with the call's mask, or NULL. True if
 * that let a handler run, which ends it. wf_poll_close is next, or epoll's
 * wf_signal_close_after_wait.
 */
bool wf_poll_open(const uint64_t *mask, uint32_t nr_handlers);
/* It is over, with n: what the call returns, a handler or a result. */
int wf_poll_close(const uint64_t *mask, uint32_t nr_handlers, int n);

/*
 * Waits by the plain call: there are no descriptors for a set, or the thread
 * has a carrier of its own. Others have its VP meanwhile. 0 or -Exxx.
 */
int wf_poll_in_kernel(const struct pollfd *fds, nfds_t nr, int64_t deadline_ns,
		      uint32_t nr_handlers);

/*
 * The same for another call, made if begin says so, with timeout and mask;
 * else a handler has run, and errno is EINTR. n is what it returned. Signals
 * are let in by the call and not before: one that has just been handled would
 * not end it.
 */
struct wf_poll_kernel_wait {
	struct timespec left, *timeout;
	sigset_t mask;
	int saved_errno;
};
bool wf_poll_begin_kernel(struct wf_poll_kernel_wait *k, int64_t deadline_ns,
			  uint32_t nr_handlers);
int wf_poll_end_kernel(const struct wf_poll_kernel_wait *k, int n,
		       uint32_t nr_handlers);

/*
 * One wait for a few descriptors, *nr_waits counts those of a call. As
 * wf_request_run_any, or -E2BIG: they cannot be waited for so.
 */
int wf_poll_few(const struct pollfd *fds, nfds_t nr, int64_t deadline_ns,
		uint32_t nr_handlers, uint32_t *nr_waits);

/*
 * The caller is about to wait for nr descriptors, or more. Who does so again
 * and again is most likely an event loop, for which a kernel thread of its own
 * is cheaper: a request for each, which is given up at the end of each wait,
 * costs more than the kernel's switches from four of them on, and for those
 * that are many a kernel thread waits in any case. True: the caller has one.
 */
bool wf_poll_has_own_carrier(nfds_t nr);

/* One wait by an epoll set. As wf_many_wait, or -Exxx. */
int wf_poll_many(struct wf_many *m, int64_t deadline_ns, uint32_t nr_handlers);

#endif

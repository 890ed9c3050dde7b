/* SPDX-License-Identifier: MIT */
/*
 * The parts that poll, select and epoll_wait share: a wait for a few
 * descriptors by requests, a wait for many by a worker or an epoll set, and a
 * wait in the kernel.
 *
 *     if (wf_poll_open(mask, nr_handlers))
 *             n = -EINTR;                     a handler has run
 *     else
 *             n = wf_poll_few(fds, nr, deadline_ns, nr_handlers, &nr_waits);
 *     n = wf_poll_close(mask, nr_handlers, n);
 *
 * In all of them nr_handlers is the thread's count of handlers (struct
 * wf_thread) when the call began. Any handler that runs later ends the call.
 */
#ifndef WEFT_IO_CALL_POLL_H
#define WEFT_IO_CALL_POLL_H

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct wf_many;

/* Up to so many descriptors a wait has one request for each. */
enum { WF_POLL_FEW = 16 };

/*
 * Returns true if n is -EINTR and no handler has run: only a signal of weft's
 * has interrupted the call.
 */
bool wf_poll_is_for_nothing(int n, uint32_t nr_handlers);

/*
 * Turns the result of wf_request_run_any into that of the wait: 0, -EINTR or
 * -ECANCELED. A time-out and an interruption by a signal of weft's are 0.
 * Returns false if there was no wait: the caller has to wait in the kernel.
 */
bool wf_poll_has_waited(int *err);

/*
 * No descriptor was ready and the wait begins. mask is the call's signal mask,
 * or NULL. Returns true if a handler ran because of that mask, which ends the
 * call. The caller then calls wf_poll_close, or for epoll
 * wf_signal_close_after_wait.
 */
bool wf_poll_open(const uint64_t *mask, uint32_t nr_handlers);
/*
 * The wait is over with n. Returns the result of the call: n, or -EINTR if the
 * mask let a handler run.
 */
int wf_poll_close(const uint64_t *mask, uint32_t nr_handlers, int n);

/*
 * Waits by the plain call, if no epoll set can be made or the thread is bound.
 * Other threads run on its VP meanwhile. Returns 0 or -Exxx.
 */
int wf_poll_in_kernel(const struct pollfd *fds, nfds_t nr, int64_t deadline_ns,
		      uint32_t nr_handlers);

/*
 * Waits in any other system call while other threads run on the VP. If
 * wf_poll_begin_kernel returns true, the caller makes its call with `timeout`
 * and `mask` of *k. If it returns false, a handler has run and errno is EINTR.
 * n is the result of the call.
 *
 * Signals are blocked until the call itself opens them: a handler that ran just
 * before the call would not end it.
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
 * Waits once for a few descriptors. *nr_waits counts the waits of one call.
 * Returns as wf_request_run_any, or -E2BIG if requests cannot wait for these
 * descriptors.
 */
int wf_poll_few(const struct pollfd *fds, nfds_t nr, int64_t deadline_ns,
		uint32_t nr_handlers, uint32_t *nr_waits);

/*
 * The caller is about to wait for nr descriptors or more. Returns true if the
 * caller is bound now, and so waits in the kernel.
 *
 * A thread that does this repeatedly is most likely an event loop. Each wait
 * makes a request for each descriptor and gives it up at the end. From four
 * descriptors on this costs more than a kernel thread's switches. For many
 * descriptors a worker would wait, so there is a kernel thread in any case.
 */
bool wf_poll_has_own_carrier(nfds_t nr);

/* Waits once, by an epoll set. Returns as wf_many_wait, or -Exxx. */
int wf_poll_many(struct wf_many *m, int64_t deadline_ns, uint32_t nr_handlers);

#endif

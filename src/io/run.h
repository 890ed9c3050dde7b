/* SPDX-License-Identifier: MIT */
/*
 * Runs requests by the rules of the calls that they are for: restarts after
 * signals, time limits, and partial transfers. Reading, writing and polling
 * share this.
 *
 *     n = wf_io_run(&r, wf_descriptor_deadline(fd, SO_RCVTIMEO));
 */
#ifndef WEFT_IO_RUN_H
#define WEFT_IO_RUN_H

#include <errno.h>
#include <stdbool.h>
#include <sys/uio.h>

#include "io/io.h"
#include "io/request.h"
#include "os/clock.h"
#include "sched/runtime.h"
#include "wait/ufutex.h"

/*
 * Runs r as SA_RESTART has it: again, unless the socket has a time limit
 * (signal(7)). A limit that has passed is -EAGAIN.
 */
int wf_io_run(struct wf_request *r, int64_t deadline_ns);

/*
 * Runs r for a partial transfer of a call. The first one runs as wf_io_run, and
 * sets *nr_handlers (struct wf_thread) to the value when it last began. Any
 * handler that has run since then ends a later one.
 */
int wf_io_run_partial(struct wf_request *r, int64_t deadline_ns, bool is_first,
		      uint32_t *nr_handlers);

/*
 * Is a wait that ended so to be begun again? nr_handlers: the thread's at the
 * call. Then, what the call returns.
 */
static inline bool wf_io_goes_on(int n, int64_t deadline_ns,
				 uint32_t nr_handlers)
{
	return n == -ERESTART && (deadline_ns == WF_FOREVER ||
				  wf_self->nr_handlers == nr_handlers);
}

static inline bool wf_io_is_over(int64_t deadline_ns)
{
	return deadline_ns != WF_FOREVER && deadline_ns <= wf_os_now();
}

/* Has a signal cut short the call, which returned n of total bytes? */
bool wf_io_is_cut_short(const struct wf_io_begun *b, size_t total, long n);

/*
 * Is there an error that a call which has begun is not told of, but the next
 * one? What a peer that is gone has sent before can still be received.
 */
bool wf_io_has_error(int fd);

/*
 * A wait that has a limit of weft's own, and the call perhaps none, ended with
 * n. Did a handler with SA_RESTART end it, after which the call goes on?
 */
static inline bool wf_io_restarts(int64_t n, bool is_first, int64_t deadline_ns)
{
	return n == -EINTR && is_first && deadline_ns == WF_FOREVER &&
	       !wf_self->interrupted;
}

static inline int wf_io_wait_result(int n)
{
	if (n == -ETIMEDOUT)
		return -EAGAIN;
	return n == -ERESTART ? -EINTR : n;
}

/*
 * What is left of a call when there is neither ring nor worker: its carrier
 * waits, in libc's function, which can be cancelled. rc is what that returned.
 */
static inline long wf_io_result(long rc)
{
	return rc < 0 ? -errno : rc;
}

/* The request that has its end when there is one of the events (POLLIN, ...) */
struct wf_request wf_io_readiness(int fd, uint32_t events);

/* Waits until one of the events of fd. 0, or as wf_io_run. */
int wf_io_wait_ready(int fd, uint32_t events, int64_t deadline_ns);

/*
 * SYS_preadv2 or SYS_pwritev2 without waiting; `at` -1: at the file's position.
 * What the call returns, or -EOPNOTSUPP: the file cannot be asked so.
 */
long wf_io_try(long nr_call, int fd, const struct iovec *iov, int nr,
	       int64_t at);

/*
 * The caller gets a kernel thread of its own, on which it makes its calls from
 * now on. False if it cannot, or its VP has a ring and even_with_ring is false:
 * the kernel tells of what a ring has in flight to the kernel thread that has
 * handed it over, which hears of it late while it sleeps in a file. in_runtime
 * 0.
 */
bool wf_io_bind(bool even_with_ring);
/* A program with more threads that would have one keeps them light. */
bool wf_io_has_few_carriers(void);

/*
 * struct wf_thread.hint of a thread that has found nothing to receive on a
 * socket: odd, for no semaphore has an odd address.
 */
static inline uint32_t wf_io_dry_hint(int fd)
{
	return 2 * (uint32_t)fd + 1;
}

/* No call reads or writes more: the kernel's MAX_RW_COUNT. */
#define WF_IO_MOST_BYTES ((size_t)0x7ffff000)

/* Bytes of all parts, or as many as one call takes. */
static inline size_t wf_io_total(const struct iovec *iov, size_t nr)
{
	size_t total = 0;

	for (size_t i = 0; i < nr && total < WF_IO_MOST_BYTES; i++) {
		size_t left = WF_IO_MOST_BYTES - total;

		total += iov[i].iov_len < left ? iov[i].iov_len : left;
	}
	return total;
}

/*
 * SYS_readv or SYS_writev of what can be asked only whether it would wait:
 * terminals, inotify, FIFOs that were opened by path. is_short: it does not
 * wait if poll says that the file is ready.
 */
long wf_io_call_when_ready(long nr_call, int fd, const struct iovec *iov,
			   int nr, uint32_t events, bool is_short);

#endif

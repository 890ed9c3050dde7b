/* SPDX-License-Identifier: MIT */
/*
 * Runs requests by the rules of the calls that they are for: restarts after
 * signals, time limits and partial transfers. Reading, writing and polling
 * share this.
 *
 *     n = wf_io_run(&r, wf_descriptor_deadline(fd, SO_RCVTIMEO));
 */
#ifndef WEFT_IO_CALL_RUN_H
#define WEFT_IO_CALL_RUN_H

#include <errno.h>
#include <stdbool.h>
#include <sys/uio.h>

#include "io/backend/request.h"
#include "io/io.h"
#include "os/clock.h"
#include "sched/runtime.h"
#include "wait/ufutex.h"

/*
 * Runs r, and again after a handler with SA_RESTART, unless the socket has a
 * time limit (signal(7)). Returns -EAGAIN if the limit has passed.
 */
int wf_io_run(struct wf_request *r, int64_t deadline_ns);

/*
 * Runs r for a partial transfer of a call. The first transfer restarts as in
 * wf_io_run, and stores in *nr_handlers the thread's count of handlers (struct
 * wf_thread) when it last began. Any handler that has run since then ends a
 * later transfer.
 */
int wf_io_run_partial(struct wf_request *r, int64_t deadline_ns, bool is_first,
		      uint32_t *nr_handlers);

/*
 * Returns true if a wait that returned n has to begin again. nr_handlers is the
 * thread's count when the call began. wf_io_wait_result turns the last n into
 * the result of the call.
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

/*
 * Returns true if a signal of weft's has cut short the call b, which returned n
 * of `total` bytes.
 */
bool wf_io_is_cut_short(const struct wf_io_begun *b, size_t total, long n);

/*
 * Returns true if fd has an error. The kernel reports it to the next call, not
 * to a call that has already moved bytes. POLLHUP is no error here: the bytes
 * that a peer sent before it closed can still be received.
 */
bool wf_io_has_error(int fd);

/*
 * Returns true if a handler with SA_RESTART ended the wait, so that the call
 * continues. n is the result of the wait. The wait has a limit that weft has
 * set; deadline_ns is that of the call.
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
 * The result of a call that the thread made through libc's function, as there
 * is neither a ring nor a worker. Its carrier waits in it, and the call can be
 * cancelled. rc is the value that the function returned.
 */
static inline long wf_io_result(long rc)
{
	return rc < 0 ? -errno : rc;
}

/* A request that is done when one of the events (POLLIN, ...) occurs. */
struct wf_request wf_io_readiness(int fd, uint32_t events);

/* Waits for one of the events on fd. Returns 0, or as wf_io_run. */
int wf_io_wait_ready(int fd, uint32_t events, int64_t deadline_ns);

/*
 * Makes SYS_preadv2 or SYS_pwritev2 without waiting. at: the offset, or -1 for
 * the file's position. Returns the result of the call, or -EOPNOTSUPP if the
 * file does not support RWF_NOWAIT.
 */
long wf_io_try(long nr_call, int fd, const struct iovec *iov, int nr,
	       int64_t at);

/*
 * Binds the calling thread to a carrier, on which it makes its calls from now
 * on. Returns false if that is impossible, or if its VP has a ring and
 * even_with_ring is false. The kernel completes a request of a ring in the
 * kernel thread that has submitted it. That kernel thread would do so late,
 * while it sleeps in a call on a file. in_runtime is 0.
 */
bool wf_io_bind(bool even_with_ring);
/*
 * Returns true if the process has few carriers. A program with many threads of
 * this kind keeps them unbound.
 */
bool wf_io_has_few_carriers(void);

/*
 * The struct wf_thread.hint of a thread that has found a socket empty. It is
 * odd, so it is not the address of a semaphore.
 */
static inline uint32_t wf_io_dry_hint(int fd)
{
	return 2 * (uint32_t)fd + 1;
}

/* The most bytes that one call reads or writes: the kernel's MAX_RW_COUNT. */
#define WF_IO_MOST_BYTES ((size_t)0x7ffff000)

/* Returns the bytes of all parts, at most as many as one call moves. */
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
 * Makes SYS_readv or SYS_writev on files that do not support RWF_NOWAIT:
 * terminals, inotify, and FIFOs that were opened by path. poll says whether the
 * call would wait. is_short: the call does not wait if poll says that the file
 * is ready.
 */
long wf_io_call_when_ready(long nr_call, int fd, const struct iovec *iov,
			   int nr, uint32_t events, bool is_short);

#endif

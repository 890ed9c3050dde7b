/* SPDX-License-Identifier: MIT */
/*
 * A request ends early when a signal of weft's or a handler interrupts it. Here
 * it runs again if the kernel would restart the call. After a signal of weft's
 * it always does; after a handler only with SA_RESTART and without a time
 * limit.
 *
 * The second half of the file is for calls that do not wait. If a file can only
 * be polled, it decides where the call waits: in a request, on a worker, or on
 * the carrier of the bound thread.
 */
#include "io/call/run.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <sys/ioctl.h>

#include "io/backend/call.h"
#include "io/call/pinned_call.h"
#include "io/file/descriptor.h"
#include "io/io.h"
#include "os/sys.h"
#include "sched/carrier.h"
#include "sched/keys.h"
#include "sched/runtime.h"
#include "signal/preempt.h"
#include "wait/ufutex.h"

bool wf_io_can_park(void)
{
	const struct wf_thread *t = wf_self;

	return t != NULL && t->kind == WF_THREAD_MULTIPLEXED &&
	       !wf_keys_are_held();
}

int wf_io_run(struct wf_request *r, int64_t deadline_ns)
{
	uint32_t nr_handlers = wf_self->nr_handlers;
	uint32_t generation = wf_descriptor_count_generations(r->fd);
	int n;

	do {
		n = wf_request_run(r, deadline_ns);
		if (!wf_io_goes_on(n, deadline_ns, nr_handlers))
			return wf_io_wait_result(n);
		/*
		 * After a handler, the kernel restarts the call with whatever
		 * file the number names. Without a handler the caller has not
		 * asked for another file: EBADF.
		 */
	} while (r->scope != NULL || wf_self->nr_handlers != nr_handlers ||
		 wf_descriptor_generation(r->fd) == generation);
	return -EBADF;
}

static int run_first(struct wf_request *r, int64_t deadline_ns,
		     uint32_t *nr_handlers)
{
	uint32_t at_call = wf_self->nr_handlers;
	int n;

	do {
		*nr_handlers = wf_self->nr_handlers;
		n = wf_request_run(r, deadline_ns);
	} while (wf_io_goes_on(n, deadline_ns, at_call));
	return wf_io_wait_result(n);
}

int wf_io_run_partial(struct wf_request *r, int64_t deadline_ns, bool is_first,
		      uint32_t *nr_handlers)
{
	int err;

	if (is_first)
		return run_first(r, deadline_ns, nr_handlers);
	do
		err = wf_request_run_any(r, 1, deadline_ns, nr_handlers);
	while (err == -ERESTART);
	return err == 0 ? r->result : wf_io_wait_result(err);
}

bool wf_io_is_cut_short(const struct wf_io_begun *b, size_t total, long n)
{
	const struct wf_thread *t = wf_self;

	return n > 0 && (size_t)n < total && t != NULL &&
	       t->kind == WF_THREAD_BOUND && t->nr_handlers == b->nr_handlers &&
	       wf_descriptor_generation(b->fd) == b->generation;
}

bool wf_io_has_error(int fd)
{
	struct pollfd now = { .fd = fd };
	long n;

	do /* a signal can interrupt a poll that does not wait */
		n = wf_sys(SYS_poll, &now, 1, 0);
	while (n == -EINTR);
	return n > 0 && (now.revents & ~POLLHUP) != 0;
}

struct wf_request wf_io_readiness(int fd, uint32_t events)
{
	return (struct wf_request){
		.op = IORING_OP_POLL_ADD,
		.fd = fd,
		.op_flags = events,
	};
}

int wf_io_wait_ready(int fd, uint32_t events, int64_t deadline_ns)
{
	struct wf_request r = wf_io_readiness(fd, events);
	int n = wf_io_run(&r, deadline_ns);

	return n < 0 ? n : 0;
}

long wf_io_try(long nr_call, int fd, const struct iovec *iov, int nr,
	       int64_t at)
{
	bool to_write = nr_call == SYS_pwritev2;
	long n = -EOPNOTSUPP;

	if (wf_descriptor_can_be_asked(fd, to_write))
		n = wf_sys(nr_call, fd, iov, nr, at, 0L, RWF_NOWAIT);
	/*
	 * The file or the kernel lacks RWF_NOWAIT, or a filter refuses the
	 * call.
	 */
	if (n != -EOPNOTSUPP && n != -ENOSYS && n != -EPERM && n != -EACCES)
		return n;
	wf_descriptor_cannot_be_asked(fd, to_write);
	return -EOPNOTSUPP;
}

/*
 * Is the process a background job of the terminal? Its own call stops the job;
 * a worker's call would not.
 */
static bool is_in_background(int fd)
{
	int group;

	return wf_sys(SYS_ioctl, fd, TIOCGPGRP, &group) == 0 &&
	       group != wf_sys(SYS_getpgid, 0);
}

/*
 * Returns true if the pipe may have room for `bytes`. poll reports a pipe as
 * full when all its pages are in use, though the last page may have room.
 */
static bool may_have_room(int fd, size_t bytes)
{
	int queued = 0;
	long most = wf_sys(SYS_fcntl, fd, F_GETPIPE_SZ);

	return most > 0 && wf_sys(SYS_ioctl, fd, FIONREAD, &queued) == 0 &&
	       (size_t)queued + bytes <= (size_t)most;
}

static bool is_polled(const struct pollfd *p, const struct iovec *iov, int nr)
{
	return p->events != POLLOUT ||
	       !may_have_room(p->fd, wf_io_total(iov, (size_t)nr));
}

bool wf_io_has_few_carriers(void)
{
	const uint32_t few = 64;

	return wf_carrier_count() < few;
}

bool wf_io_bind(bool even_with_ring)
{
	struct wf_thread *t;
	bool is_bound;

	if (!wf_preempt_is_here())
		return false;
	t = wf_runtime_enter();
	is_bound = (even_with_ring || t->vp == NULL || t->vp->io == NULL) &&
		   wf_carrier_bind(t, WF_BOUND_SLOW_CALLS);
	wf_runtime_leave(t);
	return is_bound;
}

/*
 * Returns true if the thread is bound now, because it reads a device. If its
 * reads of a device, no terminal, have waited repeatedly, the thread most
 * likely does nothing else, as in a FUSE daemon. A kernel thread waits in any
 * case. On its own carrier the thread saves the worker's two wakes at each
 * read, two thirds of such a daemon's time.
 */
static bool is_bound_to_device(int fd)
{
	enum { WORDS_OF_TERMIOS = 16 }; /* the kernel has 9; 16 leaves room */
	int settings[WORDS_OF_TERMIOS];

	if (!wf_descriptor_expects_wait(fd)) {
		wf_descriptor_was_tried(fd, true);
		return false;
	}
	return wf_sys(SYS_ioctl, fd, TCGETS, settings) < 0 && wf_io_bind(true);
}

/*
 * Is fd the master of a pseudoterminal? It has no limits, jobs or lines: a read
 * returns as soon as there is data, so poll can wait for it.
 */
static bool is_master(int fd)
{
	unsigned int number;

	return wf_sys(SYS_ioctl, fd, TIOCGPTN, &number) == 0;
}

/*
 * Waits by poll. Makes the call if the file has another number now; else
 * returns -ENOSYS, and the caller makes it.
 */
static long call_as_polled(long nr_call, const struct pollfd *p,
			   const struct iovec *iov, int nr)
{
	struct wf_request ready = wf_io_readiness(p->fd, (uint16_t)p->events);
	WF_PINNED_CALL struct wf_pinned_call pinned;
	int err, fd;

	wf_pinned_call_begin(&pinned, &ready, WF_ANY_GENERATION);
	err = wf_io_run(&ready, WF_FOREVER);
	if (err == -EINTR || err == -ECANCELED)
		return err;
	fd = wf_pinned_call_fd(&pinned);
	return fd != p->fd ? wf_sys(nr_call, fd, iov, nr) : -ENOSYS;
}

long wf_io_call_when_ready(long nr_call, int fd, const struct iovec *iov,
			   int nr, uint32_t events, bool is_short)
{
	struct pollfd now = { fd, (short)events, 0 };
	bool is_workers = !is_short;
	long n = -ENOSYS;

	wf_sys(SYS_poll, &now, 1, 0);
	if ((is_short && now.revents != 0) || wf_descriptor_is_nonblocking(fd))
		return wf_sys(nr_call, fd, iov, nr);
	/*
	 * A terminal decides by its settings when a read is over. A write may
	 * wait although poll reports the terminal as ready. So a worker makes
	 * the call.
	 */
	if (is_short && wf_descriptor_is_device(fd))
		is_workers = events != POLLIN || !is_master(fd);
	if (is_workers && events == POLLIN && is_bound_to_device(fd))
		return -ENOSYS;
	if (!is_workers && is_polled(&now, iov, nr)) {
		n = call_as_polled(nr_call, &now, iov, nr);
	} else if (!is_in_background(fd)) {
		n = wf_call_wait(WF_CALL(nr_call, fd, (long)iov, nr));
		/* the job was put into the background meanwhile */
		if (n == -EIO && is_in_background(fd))
			n = -ENOSYS;
	}
	return n; /* -ENOSYS: the caller's plain call, which can be cancelled */
}

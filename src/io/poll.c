/*
 * poll and select. First the call that does not wait; then requests that end
 * when something may have happened; then the call again, whose answer counts.
 * Neither is started again after a handler, whatever SA_RESTART says.
 *
 * P1. A thread that has just found nothing to receive from a socket, without
 *     waiting, and polls that knows the first answer, and no call asks. It is a
 *     guess: the request sees what is there when it is submitted.
 */
#include <errno.h>
#include <linux/io_uring.h>
#include <string.h>

#include "io/io.h"
#include "io/poll.h"
#include "io/request.h"
#include "io/wait.h"
#include "libc/real.h"
#include "os/clock.h"
#include "os/kthread.h"
#include "os/sys.h"
#include "sched/runtime.h"
#include "signal/memory.h"
#include "signal/wait.h"
#include "wait/ufutex.h"

/* More are watched through an epoll set that is made for the call. */
enum { MOST_REQUESTS = 16 };

bool wf_poll_is_for_nothing(int n, uint32_t nr_handlers)
{
	return n == -EINTR && wf_self->nr_handlers == nr_handlers;
}

/* Waits for some of the descriptors. 0, -ETIMEDOUT or -Exxx. */
static int wait_few(const struct pollfd *fds, nfds_t nr, int64_t deadline_ns,
		    uint32_t nr_handlers)
{
	struct wf_request r[MOST_REQUESTS];
	uint32_t nr_watched = 0;

	for (nfds_t i = 0; i < nr; i++) {
		if (fds[i].fd < 0)
			continue;
		r[nr_watched++] = (struct wf_request){
			.op = IORING_OP_POLL_ADD,
			.fd = fds[i].fd,
			.op_flags = (uint16_t)fds[i].events,
		};
	}
	return wf_request_run_any(r, nr_watched, deadline_ns, &nr_handlers);
}

/* P1. Once for each receive that found nothing. */
static bool is_known_to_wait(const struct pollfd *fds, nfds_t nr)
{
	struct wf_thread *t = wf_self;

	if (nr != 1 || t->hint == 0 ||
	    !wf_memory_is_readable(fds, sizeof(*fds)) || fds->fd < 0 ||
	    t->hint != wf_io_dry_hint(fds->fd))
		return false;
	t->hint = 0;
	return (fds->events & POLLOUT) == 0;
}

/* Two entries may name one descriptor; a set has it once. */
static int watch(int epfd, const struct pollfd *fds, nfds_t nr)
{
	for (nfds_t i = 0; i < nr; i++) {
		struct epoll_event event = {
			.events = (uint16_t)fds[i].events,
			.data.u32 = (uint32_t)i,
		};
		long err;

		if (fds[i].fd < 0)
			continue;
		err = wf_sys(SYS_epoll_ctl, epfd, EPOLL_CTL_ADD, fds[i].fd,
			     &event);
		if (err == -EEXIST) {
			event.events = EPOLLIN | EPOLLOUT | EPOLLPRI |
				       EPOLLRDHUP;
			err = wf_sys(SYS_epoll_ctl, epfd, EPOLL_CTL_MOD,
				     fds[i].fd, &event);
		}
		/* Files on disks say nothing that has not been said. */
		if (err < 0 && err != -EPERM)
			return (int)err;
	}
	return 0;
}

static int wait_set(int epfd, int64_t deadline_ns, uint32_t nr_handlers)
{
	struct wf_request r = {
		.op = IORING_OP_POLL_ADD,
		.fd = epfd,
		.op_flags = POLLIN,
	};

	return wf_request_run_any(&r, 1, deadline_ns, &nr_handlers);
}

static int wait_and_close(int epfd, int err, int64_t deadline_ns,
			  uint32_t nr_handlers)
{
	if (err == 0)
		err = wait_set(epfd, deadline_ns, nr_handlers);
	wf_sys(SYS_close, epfd);
	return err;
}

static int wait_many(const struct pollfd *fds, nfds_t nr, int64_t deadline_ns,
		     uint32_t nr_handlers)
{
	int epfd = (int)wf_sys(SYS_epoll_create1, EPOLL_CLOEXEC);
	int err;

	if (epfd < 0)
		return epfd;
	err = watch(epfd, fds, nr);
	return wait_and_close(epfd, err, deadline_ns, nr_handlers);
}

/*
 * A wait by the plain call: for want of a descriptor there is no set, or the
 * thread has a carrier of its own. Others have its VP meanwhile.
 */
struct kernel_wait {
	struct timespec left, *timeout;
	sigset_t mask;
	int saved_errno;
};

/*
 * Signals are let in by the call and not before: one that has just been handled
 * would not end it. False if there was one; errno says so.
 */
static bool begin_kernel_wait(struct kernel_wait *k, int64_t deadline_ns,
			      uint32_t nr_handlers)
{
	int64_t left_ns = deadline_ns - wf_os_now();

	k->left = wf_os_timespec(left_ns > 0 ? left_ns : 0);
	k->timeout = deadline_ns == WF_FOREVER ? NULL : &k->left;
	k->saved_errno = errno;
	errno = EINTR;
	wf_os_set_signal_mask(UINT64_MAX);
	memset(&k->mask, 0, sizeof(k->mask));
	memcpy(&k->mask, &wf_self->sigmask, sizeof(wf_self->sigmask));
	return wf_self->nr_handlers == nr_handlers;
}

/* n is what the call returned. */
static int end_kernel_wait(const struct kernel_wait *k, int n,
			   uint32_t nr_handlers)
{
	int err = n < 0 ? -errno : 0;

	wf_os_set_signal_mask(wf_self->sigmask);
	errno = k->saved_errno;
	return wf_poll_is_for_nothing(err, nr_handlers) ? 0 : err;
}

int wf_poll_in_kernel(const struct pollfd *fds, nfds_t nr, int64_t deadline_ns,
		      uint32_t nr_handlers)
{
	struct kernel_wait k;
	int n = -1;

	if (begin_kernel_wait(&k, deadline_ns, nr_handlers))
		n = wf_real.ppoll((struct pollfd *)fds, nr, k.timeout, &k.mask);
	return end_kernel_wait(&k, n, nr_handlers);
}

bool wf_poll_has_waited(int *err)
{
	if (*err == -ETIMEDOUT || *err == -ERESTART)
		*err = 0;
	return *err == 0 || *err == -EINTR || *err == -ECANCELED;
}

/*
 * One wait for any of them; 0 also if it was for nothing. A request ends also
 * by a peer that has closed its half, so after a few of those that were for
 * nothing (*nr_waits) a set is used, which does not.
 */
static int wait_any(const struct pollfd *fds, nfds_t nr, int64_t deadline_ns,
		    uint32_t nr_handlers, uint32_t *nr_waits)
{
	enum { WAITS_BEFORE_SET = 4 };
	bool is_few = nr <= MOST_REQUESTS && (*nr_waits)++ < WAITS_BEFORE_SET;
	int err = is_few ? wait_few(fds, nr, deadline_ns, nr_handlers) :
			   wait_many(fds, nr, deadline_ns, nr_handlers);

	return wf_poll_has_waited(&err) ?
		       err :
		       wf_poll_in_kernel(fds, nr, deadline_ns, nr_handlers);
}

static int poll_until(struct pollfd *fds, nfds_t nr, int64_t deadline_ns,
		      uint32_t nr_handlers)
{
	bool is_known = is_known_to_wait(fds, nr) && deadline_ns > wf_os_now();
	uint32_t nr_waits = 0;

	for (;; is_known = false) {
		int n, err;

		if (!is_known) {
			n = (int)wf_sys(SYS_poll, fds, nr, 0);
			if (n != 0 && !wf_poll_is_for_nothing(n, nr_handlers))
				return n;
			if (deadline_ns <= wf_os_now())
				return 0;
		}
		err = wait_any(fds, nr, deadline_ns, nr_handlers, &nr_waits);
		if (err < 0)
			return err;
	}
}

int wf_io_poll(struct pollfd *fds, nfds_t nr, int64_t deadline_ns,
	       const uint64_t *mask)
{
	uint32_t nr_handlers = wf_self->nr_handlers;
	int n;

	wf_signal_open_for_wait(mask);
	n = poll_until(fds, nr, deadline_ns, nr_handlers);
	wf_signal_close_after_wait(mask);
	return n;
}

/* --- select --------------------------------------------------------------- */

/* A program may make its sets no longer than they need be. */
static size_t bytes_of_set(int nr)
{
	return ((size_t)nr + NFDBITS - 1) / NFDBITS * sizeof(fd_mask);
}

bool wf_io_are_sets(int nr, fd_set *const sets[3])
{
	for (int i = 0; i < 3; i++) {
		if (sets[i] != NULL &&
		    !wf_memory_is_readable(sets[i], bytes_of_set(nr)))
			return false;
	}
	return true;
}

static bool is_set(const fd_set *set, int fd)
{
	return set != NULL && FD_ISSET(fd, set);
}

/* The next of them, from *from on. */
static nfds_t list_of(fd_set *const sets[3], int nr, int *from,
		      struct pollfd fds[MOST_REQUESTS])
{
	nfds_t nr_fds = 0;

	for (; *from < nr && nr_fds < MOST_REQUESTS; (*from)++) {
		int events = (is_set(sets[0], *from) ? POLLIN | POLLRDHUP : 0) |
			     (is_set(sets[1], *from) ? POLLOUT : 0) |
			     (is_set(sets[2], *from) ? POLLPRI : 0);

		if (events != 0)
			fds[nr_fds++] =
				(struct pollfd){ *from, (short)events, 0 };
	}
	return nr_fds;
}

static void copy_sets(fd_set *const sets[3], int nr, fd_set copies[3],
		      fd_set *ret_arg[3])
{
	for (int i = 0; i < 3; i++) {
		ret_arg[i] = sets[i] != NULL ? &copies[i] : NULL;
		if (sets[i] != NULL)
			memcpy(&copies[i], sets[i], bytes_of_set(nr));
	}
}

static int put_sets(fd_set *const sets[3], int nr, const fd_set results[3])
{
	for (int i = 0; i < 3; i++) {
		if (sets[i] != NULL &&
		    wf_memory_put(sets[i], &results[i], bytes_of_set(nr)) < 0)
			return -EFAULT;
	}
	return 0;
}

static int select_now(fd_set *const sets[3], int nr)
{
	struct timespec zero = { 0, 0 };
	fd_set copies[3], *arg[3];
	int n;

	copy_sets(sets, nr, copies, arg);
	n = (int)wf_sys(SYS_pselect6, nr, arg[0], arg[1], arg[2], &zero, NULL);
	if (n > 0 && put_sets(sets, nr, copies) < 0)
		return -EFAULT;
	return n;
}

static int select_in_kernel(fd_set *const sets[3], int nr, int64_t deadline_ns,
			    uint32_t nr_handlers)
{
	fd_set copies[3], *arg[3];
	struct kernel_wait k;
	int n = -1;

	copy_sets(sets, nr, copies, arg);
	if (begin_kernel_wait(&k, deadline_ns, nr_handlers))
		n = wf_real.pselect(nr, arg[0], arg[1], arg[2], k.timeout,
				    &k.mask);
	return end_kernel_wait(&k, n, nr_handlers);
}

/* As wait_many. */
static int wait_sets(fd_set *const sets[3], int nr, int64_t deadline_ns,
		     uint32_t nr_handlers)
{
	int epfd = (int)wf_sys(SYS_epoll_create1, EPOLL_CLOEXEC);
	struct pollfd fds[MOST_REQUESTS];
	int err = 0, from = 0;

	if (epfd < 0)
		return epfd;
	while (err == 0 && from < nr)
		err = watch(epfd, fds, list_of(sets, nr, &from, fds));
	return wait_and_close(epfd, err, deadline_ns, nr_handlers);
}

static int wait_selected(fd_set *const sets[3], int nr, int64_t deadline_ns,
			 uint32_t nr_handlers, uint32_t *nr_waits)
{
	struct pollfd fds[MOST_REQUESTS];
	int from = 0, err;
	nfds_t nr_fds = list_of(sets, nr, &from, fds);

	if (from == nr)
		return wait_any(fds, nr_fds, deadline_ns, nr_handlers,
				nr_waits);
	err = wait_sets(sets, nr, deadline_ns, nr_handlers);
	return wf_poll_has_waited(&err) ?
		       err :
		       select_in_kernel(sets, nr, deadline_ns, nr_handlers);
}

/*
 * Some have been closed since the wait began. What is no descriptor any more is
 * ready for all that was asked: so the kernel tells who waits for others.
 */
static int select_beside_closed(fd_set *const sets[3], int nr)
{
	static const short ready[3] = { POLLIN | POLLHUP | POLLERR | POLLNVAL,
					POLLOUT | POLLERR | POLLNVAL,
					POLLPRI | POLLNVAL };
	fd_set results[3] = { 0 };
	struct pollfd fds[MOST_REQUESTS];
	int from = 0, nr_ready = 0;

	while (from < nr) {
		nfds_t nr_fds = list_of(sets, nr, &from, fds);

		wf_sys(SYS_poll, fds, nr_fds, 0);
		for (nfds_t i = 0; i < 3 * nr_fds; i++) {
			const struct pollfd *p = &fds[i / 3];

			if ((p->revents & ready[i % 3]) == 0 ||
			    !is_set(sets[i % 3], p->fd))
				continue;
			FD_SET(p->fd, &results[i % 3]);
			nr_ready++;
		}
	}
	if (nr_ready > 0 && put_sets(sets, nr, results) < 0)
		return -EFAULT;
	return nr_ready;
}

static int select_until(int nr, fd_set *const sets[3], int64_t deadline_ns,
			uint32_t nr_handlers)
{
	static const fd_set none[3];
	uint32_t nr_waits = 0;
	bool has_begun = false;

	for (;; has_begun = true) {
		int n = select_now(sets, nr);
		int err;

		if (n == -EBADF && has_begun)
			n = select_beside_closed(sets, nr);
		if (n != 0 && !wf_poll_is_for_nothing(n, nr_handlers))
			return n;
		if (deadline_ns <= wf_os_now())
			return put_sets(sets, nr, none);
		err = wait_selected(sets, nr, deadline_ns, nr_handlers,
				    &nr_waits);
		if (err < 0)
			return err;
	}
}

int wf_io_select(int nr, fd_set *const sets[3], int64_t deadline_ns,
		 const uint64_t *mask)
{
	uint32_t nr_handlers = wf_self->nr_handlers;
	int n;

	wf_signal_open_for_wait(mask);
	n = select_until(nr, sets, deadline_ns, nr_handlers);
	wf_signal_close_after_wait(mask);
	return n;
}

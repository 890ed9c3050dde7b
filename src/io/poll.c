/*
 * poll and epoll. First the call that does not wait; then requests that end
 * when something may have happened; then the call again, whose answer counts.
 * Neither is started again after a handler, whatever SA_RESTART says.
 */
#include <errno.h>
#include <linux/io_uring.h>
#include <string.h>

#include "io/io.h"
#include "io/request.h"
#include "libc/real.h"
#include "os/clock.h"
#include "os/sys.h"
#include "sched/runtime.h"
#include "signal/wait.h"
#include "wait/ufutex.h"

/* More are watched through an epoll set that is made for the call. */
enum { MOST_REQUESTS = 16 };

/* The call was interrupted by a signal of weft's own. */
static bool is_for_nothing(int n, uint32_t nr_handlers)
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

static int wait_many(const struct pollfd *fds, nfds_t nr, int64_t deadline_ns,
		     uint32_t nr_handlers)
{
	int epfd = (int)wf_sys(SYS_epoll_create1, EPOLL_CLOEXEC);
	struct wf_request r = {
		.op = IORING_OP_POLL_ADD,
		.fd = epfd,
		.op_flags = POLLIN,
	};
	int err;

	if (epfd < 0)
		return epfd;
	err = watch(epfd, fds, nr);
	if (err == 0)
		err = wf_request_run_any(&r, 1, deadline_ns, &nr_handlers);
	wf_sys(SYS_close, epfd);
	return err;
}

/*
 * Without a set, for want of a descriptor. The carrier sleeps; another has its
 * VP meanwhile.
 */
static int wait_in_kernel(const struct pollfd *fds, nfds_t nr,
			  int64_t deadline_ns, uint32_t nr_handlers)
{
	int64_t left_ns = deadline_ns - wf_os_now();
	struct timespec left = wf_os_timespec(left_ns > 0 ? left_ns : 0);
	int saved = errno;
	int n = wf_real.ppoll((struct pollfd *)fds, nr,
			      deadline_ns == WF_FOREVER ? NULL : &left, NULL);
	int err = n < 0 ? -errno : 0;

	errno = saved;
	return is_for_nothing(err, nr_handlers) ? 0 : err;
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

	if (err == -ETIMEDOUT || err == -ERESTART)
		return 0;
	if (err == 0 || err == -EINTR || err == -ECANCELED || err == -ENOSYS)
		return err;
	return wait_in_kernel(fds, nr, deadline_ns, nr_handlers);
}

static int poll_until(struct pollfd *fds, nfds_t nr, int64_t deadline_ns,
		      uint32_t nr_handlers)
{
	uint32_t nr_waits = 0;

	for (;;) {
		int n = (int)wf_sys(SYS_poll, fds, nr, 0);
		int err;

		if (n != 0 && !is_for_nothing(n, nr_handlers))
			return n;
		if (deadline_ns <= wf_os_now())
			return 0;
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

static bool is_set(const fd_set *set, int fd)
{
	return set != NULL && FD_ISSET(fd, set);
}

static nfds_t list_of(const fd_set *const sets[3], int nr, struct pollfd *fds)
{
	nfds_t nr_fds = 0;

	for (int fd = 0; fd < nr; fd++) {
		int events = (is_set(sets[0], fd) ? POLLIN | POLLRDHUP : 0) |
			     (is_set(sets[1], fd) ? POLLOUT : 0) |
			     (is_set(sets[2], fd) ? POLLPRI : 0);

		if (events == 0)
			continue;
		if (nr_fds == WF_IO_SELECT_MAX)
			return nr_fds + 1;
		fds[nr_fds++] = (struct pollfd){ fd, (short)events, 0 };
	}
	return nr_fds;
}

/* A program may make its sets no longer than they need be. */
static size_t bytes_of_set(int nr)
{
	return ((size_t)nr + NFDBITS - 1) / NFDBITS * sizeof(fd_mask);
}

static int select_now(fd_set *const sets[3], int nr)
{
	struct timespec zero = { 0, 0 };
	fd_set copies[3];
	fd_set *arg[3] = { NULL, NULL, NULL };
	int n;

	for (int i = 0; i < 3; i++) {
		if (sets[i] == NULL)
			continue;
		memcpy(&copies[i], sets[i], bytes_of_set(nr));
		arg[i] = &copies[i];
	}
	n = (int)wf_sys(SYS_pselect6, nr, arg[0], arg[1], arg[2], &zero, NULL);
	for (int i = 0; i < 3 && n > 0; i++) {
		if (sets[i] != NULL)
			memcpy(sets[i], &copies[i], bytes_of_set(nr));
	}
	return n;
}

static int select_until(int nr, fd_set *const sets[3], const struct pollfd *fds,
			nfds_t nr_fds, int64_t deadline_ns,
			uint32_t nr_handlers)
{
	uint32_t nr_waits = 0;

	for (;;) {
		int n = select_now(sets, nr);
		int err;

		if (n != 0 && !is_for_nothing(n, nr_handlers))
			return n;
		if (deadline_ns <= wf_os_now())
			break;
		err = wait_any(fds, nr_fds, deadline_ns, nr_handlers,
			       &nr_waits);
		if (err < 0)
			return err;
	}
	for (int i = 0; i < 3; i++) {
		if (sets[i] != NULL)
			memset(sets[i], 0, bytes_of_set(nr));
	}
	return 0;
}

int wf_io_select(int nr, fd_set *const sets[3], int64_t deadline_ns,
		 const uint64_t *mask)
{
	struct pollfd fds[WF_IO_SELECT_MAX];
	uint32_t nr_handlers = wf_self->nr_handlers;
	nfds_t nr_fds;
	int n;

	if (nr < 0 || nr > FD_SETSIZE)
		return -EOPNOTSUPP;
	nr_fds = list_of((const fd_set *const *)sets, nr, fds);
	if (nr_fds > WF_IO_SELECT_MAX)
		return -EOPNOTSUPP;
	wf_signal_open_for_wait(mask);
	n = select_until(nr, sets, fds, nr_fds, deadline_ns, nr_handlers);
	wf_signal_close_after_wait(mask);
	return n;
}

/* --- epoll ---------------------------------------------------------------- */

static int epoll_until(int epfd, struct epoll_event *events, int max,
		       int64_t deadline_ns, uint32_t nr_handlers)
{
	for (;;) {
		int n = (int)wf_sys(SYS_epoll_wait, epfd, events, max, 0);
		struct wf_request r = {
			.op = IORING_OP_POLL_ADD,
			.fd = epfd,
			.op_flags = POLLIN,
		};
		int err;

		if (n != 0 && !is_for_nothing(n, nr_handlers))
			return n;
		if (deadline_ns <= wf_os_now())
			return 0;
		err = wf_request_run_any(&r, 1, deadline_ns, &nr_handlers);
		if (err < 0 && err != -ETIMEDOUT && err != -ERESTART)
			return err;
	}
}

int wf_io_epoll_wait(int epfd, struct epoll_event *events, int max,
		     int64_t deadline_ns, const uint64_t *mask)
{
	uint32_t nr_handlers = wf_self->nr_handlers;
	int n;

	wf_signal_open_for_wait(mask);
	n = epoll_until(epfd, events, max, deadline_ns, nr_handlers);
	wf_signal_close_after_wait(mask);
	return n;
}

/* SPDX-License-Identifier: MIT */
/*
 * Waits for descriptors: poll, select and epoll. A thread that can park waits
 * by a function of io/. A bound or foreign thread waits in libc's function. If
 * a signal of weft ends that, the thread waits again for the time that is left.
 */
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>

#include "api/api.h"
#include "api/cancel.h"
#include "api/natively.h"
#include "api/poll.h"
#include "io/call/poll.h"
#include "io/io.h"
#include "libc/real.h"
#include "os/clock.h"
#include "os/sys.h"
#include "signal/memory.h"
#include "wait/sleep.h"
#include "wait/ufutex.h"

static int64_t deadline_of_ms(int timeout)
{
	if (timeout < 0)
		return WF_FOREVER;
	return timeout == 0 ? 0 : wf_os_now() + timeout * WF_NS_PER_MS;
}

static int64_t deadline_of_timespec(const struct timespec *timeout)
{
	int64_t deadline_ns;

	if (wf_deadline_from_rel(timeout, &deadline_ns) < 0)
		return -1;
	return deadline_ns;
}

/* Copies the first word of a mask to *bits. Returns bits, NULL for no mask. */
static const uint64_t *bits_of(const sigset_t *mask, uint64_t *bits)
{
	if (mask == NULL)
		return NULL;
	memcpy(bits, mask, sizeof(*bits));
	return bits;
}

/*
 * Does weft make the wait? Without a mask it does if the thread can park: bound
 * threads wait in the kernel. With a mask it also does for bound threads, since
 * the kernel does not know the signals that weft holds for a thread. For a bad
 * address of a mask the kernel returns the error.
 */
static bool can_wait(const sigset_t *mask)
{
	if (mask == NULL)
		return wf_io_can_park();
	return wf_self != NULL && wf_self->carrier != NULL &&
	       wf_memory_is_readable(mask, sizeof(uint64_t));
}

/* --- in the kernel -------------------------------------------------------- */

/* The rest in ms, rounded up: a wait must not end early. -1: no deadline. */
static int left_ms(int64_t deadline_ns)
{
	struct timespec left;

	if (wf_natively_left(deadline_ns, &left) == NULL)
		return -1;
	return (int)(left.tv_sec * 1000 +
		     (left.tv_nsec + WF_NS_PER_MS - 1) / WF_NS_PER_MS);
}

static int poll_natively(struct pollfd *fds, nfds_t nr, int timeout)
{
	int64_t deadline_ns = deadline_of_ms(timeout);
	uint32_t nr_handlers = wf_natively_handlers();
	int n = wf_real.poll(fds, nr, timeout);

	while (wf_natively_was_for_nothing(n, nr_handlers))
		n = wf_real.poll(fds, nr, left_ms(deadline_ns));
	return n;
}

static int ppoll_natively(struct pollfd *fds, nfds_t nr,
			  const struct timespec *timeout, int64_t deadline_ns,
			  const sigset_t *mask)
{
	uint32_t nr_handlers = wf_natively_handlers();
	struct timespec left;
	int n = wf_real.ppoll(fds, nr, timeout, mask);

	while (wf_natively_was_for_nothing(n, nr_handlers))
		n = wf_real.ppoll(fds, nr, wf_natively_left(deadline_ns, &left),
				  mask);
	return n;
}

static int epoll_natively(int epfd, struct epoll_event *events, int max,
			  int timeout)
{
	int64_t deadline_ns = deadline_of_ms(timeout);
	uint32_t nr_handlers = wf_natively_handlers();
	int n = wf_real.epoll_wait(epfd, events, max, timeout);

	while (wf_natively_was_for_nothing(n, nr_handlers))
		n = wf_real.epoll_wait(epfd, events, max, left_ms(deadline_ns));
	return n;
}

/* Makes the system call itself: glibc has epoll_pwait2 only from 2.35 on. */
static int epoll2_natively(int epfd, struct epoll_event *events, int max,
			   const struct timespec *timeout, int64_t deadline_ns,
			   const sigset_t *mask)
{
	uint32_t nr_handlers = wf_natively_handlers();
	struct timespec left;
	long n = wf_sys(SYS_epoll_pwait2, epfd, events, max, timeout, mask,
			sizeof(uint64_t));

	while (wf_natively_is_for_nothing((int)n, nr_handlers))
		n = wf_sys(SYS_epoll_pwait2, epfd, events, max,
			   wf_natively_left(deadline_ns, &left), mask,
			   sizeof(uint64_t));
	return wf_api_errno((int)n);
}

/* poll has its timeout in the third argument, epoll_wait in the fourth. */
static long wait_by_number(long nr, const long *args)
{
	long now[] = { args[0], args[1], args[2], args[3] };
	long *timeout = &now[nr == SYS_poll ? 2 : 3];
	int64_t deadline_ns = deadline_of_ms((int)*timeout);
	uint32_t nr_handlers = wf_natively_handlers();
	long n;

	for (;;) {
		n = wf_syscall6(nr, now[0], now[1], now[2], now[3], 0, 0);
		if (!wf_natively_is_for_nothing((int)n, nr_handlers))
			return n;
		*timeout = left_ms(deadline_ns);
	}
}

/* --- poll ----------------------------------------------------------------- */

WF_API(int, poll, struct pollfd *fds, nfds_t nr, int timeout)
{
	if (!wf_io_can_park())
		return poll_natively(fds, nr, timeout);
	return wf_api_errno(WF_CANCEL_POINT(
		wf_io_poll(fds, nr, deadline_of_ms(timeout), NULL)));
}
WF_API_ALIAS(poll, __poll);

WF_API(int, __poll_chk, struct pollfd *fds, nfds_t nr, int timeout, size_t room)
{
	if (room / sizeof(*fds) < nr)
		return wf_real.__poll_chk(fds, nr, timeout, room);
	return poll(fds, nr, timeout);
}

WF_API(int, ppoll, struct pollfd *fds, nfds_t nr,
       const struct timespec *timeout, const sigset_t *mask)
{
	int64_t deadline_ns = deadline_of_timespec(timeout);
	uint64_t bits;

	if (!can_wait(mask) || deadline_ns < 0)
		return ppoll_natively(fds, nr, timeout, deadline_ns, mask);
	return wf_api_errno(WF_CANCEL_POINT(
		wf_io_poll(fds, nr, deadline_ns, bits_of(mask, &bits))));
}

WF_API(int, __ppoll_chk, struct pollfd *fds, nfds_t nr,
       const struct timespec *timeout, const sigset_t *mask, size_t room)
{
	if (room / sizeof(*fds) < nr)
		return wf_real.__ppoll_chk(fds, nr, timeout, mask, room);
	return ppoll(fds, nr, timeout, mask);
}

/* --- epoll ---------------------------------------------------------------- */

WF_API(int, epoll_pwait, int epfd, struct epoll_event *events, int max,
       int timeout, const sigset_t *mask)
{
	uint64_t bits;

	if (!can_wait(mask))
		return mask == NULL ?
			       epoll_natively(epfd, events, max, timeout) :
			       wf_real.epoll_pwait(epfd, events, max, timeout,
						   mask);
	return wf_api_errno(WF_CANCEL_POINT(
		wf_io_epoll_wait(epfd, events, max, deadline_of_ms(timeout),
				 bits_of(mask, &bits))));
}

WF_API(int, epoll_pwait2, int epfd, struct epoll_event *events, int max,
       const struct timespec *timeout, const sigset_t *mask)
{
	int64_t deadline_ns = 0;
	uint64_t bits;

	if (wf_memory_get_deadline(timeout, &deadline_ns) < 0 ||
	    !can_wait(mask))
		return epoll2_natively(epfd, events, max, timeout, deadline_ns,
				       mask);
	return wf_api_errno(WF_CANCEL_POINT(wf_io_epoll_wait(
		epfd, events, max, deadline_ns, bits_of(mask, &bits))));
}

WF_API(int, epoll_wait, int epfd, struct epoll_event *events, int max,
       int timeout)
{
	if (!wf_io_can_park() || timeout == 0)
		return epoll_natively(epfd, events, max, timeout);
	return epoll_pwait(epfd, events, max, timeout, NULL);
}

/* --- select --------------------------------------------------------------- */

/* Stores the time that is left in *timeout, as the kernel does. */
static void report_rest(struct timeval *timeout, int64_t deadline_ns)
{
	int64_t left;

	if (timeout == NULL)
		return;
	left = deadline_ns - wf_os_now();
	left = left > 0 ? left : 0;
	timeout->tv_sec = left / WF_NS_PER_S;
	timeout->tv_usec = left % WF_NS_PER_S / WF_NS_PER_US;
}

/* After EINTR the kernel has not changed the sets. */
static int pselect_natively(int nr, fd_set *const sets[3],
			    const struct timespec *timeout, int64_t deadline_ns,
			    const sigset_t *mask)
{
	uint32_t nr_handlers = wf_natively_handlers();
	struct timespec left;
	int n = wf_real.pselect(nr, sets[0], sets[1], sets[2], timeout, mask);

	while (wf_natively_was_for_nothing(n, nr_handlers))
		n = wf_real.pselect(nr, sets[0], sets[1], sets[2],
				    wf_natively_left(deadline_ns, &left), mask);
	return n;
}

/* After EINTR *timeout is the time that is left, and the sets are unchanged. */
static int select_natively(int nr, fd_set *const sets[3],
			   struct timeval *timeout)
{
	uint32_t nr_handlers = wf_natively_handlers();
	int n;

	do
		n = wf_real.select(nr, sets[0], sets[1], sets[2], timeout);
	while (wf_natively_was_for_nothing(n, nr_handlers));
	return n;
}

static bool can_select(int nr, fd_set *const sets[3], const sigset_t *mask)
{
	return can_wait(mask) && nr >= 0 && wf_io_are_sets(nr, sets);
}

WF_API(int, select, int nr, fd_set *restrict reads, fd_set *restrict writes,
       fd_set *restrict exceptions, struct timeval *restrict timeout)
{
	fd_set *const sets[3] = { reads, writes, exceptions };
	struct timespec ts;
	int64_t deadline_ns = WF_FOREVER;
	int n;

	/* As libc: a negative part is EINVAL, more than 1 s of us is added. */
	if (timeout != NULL && timeout->tv_sec >= 0 && timeout->tv_usec >= 0) {
		ts.tv_sec = timeout->tv_sec + timeout->tv_usec / 1000000;
		ts.tv_nsec = timeout->tv_usec % 1000000 * 1000;
		deadline_ns = deadline_of_timespec(&ts);
	} else if (timeout != NULL) {
		deadline_ns = -EINVAL;
	}
	if (!can_select(nr, sets, NULL) || deadline_ns < 0)
		return select_natively(nr, sets, timeout);
	n = WF_CANCEL_POINT(wf_io_select(nr, sets, deadline_ns, NULL));
	report_rest(timeout, deadline_ns);
	return wf_api_errno(n);
}
WF_API_ALIAS(select, __select);

WF_API(int, pselect, int nr, fd_set *restrict reads, fd_set *restrict writes,
       fd_set *restrict exceptions, const struct timespec *restrict timeout,
       const sigset_t *restrict mask)
{
	fd_set *const sets[3] = { reads, writes, exceptions };
	int64_t deadline_ns = deadline_of_timespec(timeout);
	uint64_t bits;

	if (!can_select(nr, sets, mask) || deadline_ns < 0)
		return pselect_natively(nr, sets, timeout, deadline_ns, mask);
	return wf_api_errno(WF_CANCEL_POINT(
		wf_io_select(nr, sets, deadline_ns, bits_of(mask, &bits))));
}

/* --- by system call ------------------------------------------------------- */

long wf_poll_syscall(long nr, const long *args)
{
	if (!wf_io_can_park())
		return wait_by_number(nr, args);
	if (nr == SYS_poll)
		return wf_io_poll((struct pollfd *)args[0], (nfds_t)args[1],
				  deadline_of_ms((int)args[2]), NULL);
	return wf_io_epoll_wait((int)args[0], (struct epoll_event *)args[1],
				(int)args[2], deadline_of_ms((int)args[3]),
				NULL);
}

/*
 * poll and select. First the call that does not wait; then requests that end
 * when something may have happened; then the call again, whose answer counts.
 * Neither is started again after a handler, whatever SA_RESTART says.
 *
 * P1. A thread that has just found nothing to receive from a socket, without
 *     waiting, and polls that knows the first answer, and no call asks. It is a
 *     guess: the request sees what is there when it is submitted.
 * P2. What a mask of the call's opens is delivered once nothing was ready, and
 *     then ends the call, also one that does not wait: so does the kernel.
 */
#include <errno.h>
#include <linux/io_uring.h>
#include <string.h>

#include "io/descriptor.h"
#include "io/io.h"
#include "io/many.h"
#include "io/poll.h"
#include "io/request.h"
#include "io/ring.h"
#include "io/wait.h"
#include "libc/real.h"
#include "os/clock.h"
#include "os/kthread.h"
#include "os/mem.h"
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

static int wait_with(struct wf_many *m, int64_t deadline_ns,
		     uint32_t nr_handlers)
{
	int err = wf_many_begin(m);

	if (err < 0)
		return err;
	err = wf_many_wait(m, deadline_ns, nr_handlers);
	wf_many_end(m);
	return err;
}

static int wait_many(const struct pollfd *fds, nfds_t nr, int64_t deadline_ns,
		     uint32_t nr_handlers)
{
	struct wf_many m = { .fds = fds, .nr = nr };

	return wait_with(&m, deadline_ns, nr_handlers);
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

/* A ring keeps its files (io/address.c). */
static bool has_address(const struct pollfd *fds, nfds_t nr)
{
	if (wf_ring_is_refused())
		return false;
	for (nfds_t i = 0; i < nr; i++)
		if (wf_descriptor_has_address(fds[i].fd))
			return true;
	return false;
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
	bool is_few = nr <= MOST_REQUESTS && (*nr_waits)++ < WAITS_BEFORE_SET &&
		      !has_address(fds, nr);
	int err = is_few ? wait_few(fds, nr, deadline_ns, nr_handlers) :
			   wait_many(fds, nr, deadline_ns, nr_handlers);

	return wf_poll_has_waited(&err) ?
		       err :
		       wf_poll_in_kernel(fds, nr, deadline_ns, nr_handlers);
}

bool wf_poll_open(const uint64_t *mask, uint32_t nr_handlers)
{
	wf_signal_open_for_wait(mask);
	return mask != NULL && wf_self->nr_handlers != nr_handlers;
}

static int poll_now(struct pollfd *fds, nfds_t nr, uint32_t nr_handlers)
{
	int n = (int)wf_sys(SYS_poll, fds, nr, 0);

	return wf_poll_is_for_nothing(n, nr_handlers) ? 0 : n;
}

/* After a look that found nothing. */
static int poll_until(struct pollfd *fds, nfds_t nr, int64_t deadline_ns,
		      uint32_t nr_handlers)
{
	uint32_t nr_waits = 0;
	int n = 0;

	while (n == 0 && deadline_ns > wf_os_now()) {
		n = wait_any(fds, nr, deadline_ns, nr_handlers, &nr_waits);
		if (n == 0)
			n = poll_now(fds, nr, nr_handlers);
	}
	return n;
}

int wf_io_poll(struct pollfd *fds, nfds_t nr, int64_t deadline_ns,
	       const uint64_t *mask)
{
	uint32_t nr_handlers = wf_self->nr_handlers;
	int n = 0;

	if (mask != NULL || !is_known_to_wait(fds, nr) ||
	    deadline_ns <= wf_os_now())
		n = poll_now(fds, nr, nr_handlers);
	if (n != 0)
		return n; /* P2 */
	n = wf_poll_open(mask, nr_handlers) ?
		    -EINTR :
		    poll_until(fds, nr, deadline_ns, nr_handlers);
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

/* Its words, of which a program may have more than libc's type. */
static bool is_set(const fd_set *set, int fd)
{
	const fd_mask *words = (const fd_mask *)set;

	return set != NULL &&
	       ((unsigned long)words[fd / NFDBITS] >> fd % NFDBITS & 1) != 0;
}

static void put_in(void *set, int fd)
{
	fd_mask *words = set;

	words[fd / NFDBITS] |= (fd_mask)(1UL << fd % NFDBITS);
}

/* The next of them, from *from on. */
static nfds_t list_of(fd_set *const sets[3], int nr, int *from,
		      struct pollfd fds[MOST_REQUESTS])
{
	nfds_t nr_fds = 0;

	for (; *from < nr && nr_fds < MOST_REQUESTS; (*from)++) {
		int events = wf_many_selected(is_set(sets[0], *from),
					      is_set(sets[1], *from),
					      is_set(sets[2], *from));

		if (events != 0)
			fds[nr_fds++] =
				(struct pollfd){ *from, (short)events, 0 };
	}
	return nr_fds;
}

/* The sets of a call, and copies that the kernel writes to. */
struct selection {
	fd_set *const *sets;
	int nr;
	size_t bytes;	 /* of a copy */
	char *copies[3]; /* NULL: there is no such set */
	fd_set usual[3];
	void *memory; /* of copies that are longer; NULL: none are */
};

static int begin_selection(struct selection *s, int nr, fd_set *const sets[3])
{
	char *room = (char *)s->usual;

	s->sets = sets;
	s->nr = nr;
	s->bytes = bytes_of_set(nr);
	s->memory = NULL;
	if (s->bytes > sizeof(fd_set))
		s->memory = room = wf_os_reserve(3 * s->bytes);
	for (size_t i = 0; i < 3; i++)
		s->copies[i] = sets[i] != NULL ? room + i * s->bytes : NULL;
	return room != NULL ? 0 : -ENOMEM;
}

/* Also when the caller is cancelled in the kernel. */
static void end_selection(struct selection *s)
{
	if (s->memory != NULL)
		wf_os_release(s->memory, 3 * s->bytes);
}

static void copy_sets(struct selection *s)
{
	for (int i = 0; i < 3; i++) {
		if (s->copies[i] != NULL)
			memcpy(s->copies[i], s->sets[i], s->bytes);
	}
}

static void clear_copies(struct selection *s)
{
	for (int i = 0; i < 3; i++) {
		if (s->copies[i] != NULL)
			memset(s->copies[i], 0, s->bytes);
	}
}

static int put_sets(const struct selection *s)
{
	for (int i = 0; i < 3; i++) {
		if (s->copies[i] != NULL &&
		    wf_memory_put(s->sets[i], s->copies[i], s->bytes) < 0)
			return -EFAULT;
	}
	return 0;
}

/* What is ready stays in the copies. */
static int select_now(struct selection *s)
{
	struct timespec zero = { 0, 0 };

	copy_sets(s);
	return (int)wf_sys(SYS_pselect6, s->nr, s->copies[0], s->copies[1],
			   s->copies[2], &zero, NULL);
}

static int select_in_kernel(struct selection *s, int64_t deadline_ns,
			    uint32_t nr_handlers)
{
	struct kernel_wait k;
	int n = -1;

	copy_sets(s);
	if (begin_kernel_wait(&k, deadline_ns, nr_handlers))
		n = wf_real.pselect(s->nr, (fd_set *)s->copies[0],
				    (fd_set *)s->copies[1],
				    (fd_set *)s->copies[2], k.timeout, &k.mask);
	return end_kernel_wait(&k, n, nr_handlers);
}

static int wait_sets(const struct selection *s, int64_t deadline_ns,
		     uint32_t nr_handlers)
{
	struct wf_many m = { .sets = s->sets, .nr_sets = s->nr };

	return wait_with(&m, deadline_ns, nr_handlers);
}

static int wait_selected(struct selection *s, int64_t deadline_ns,
			 uint32_t nr_handlers, uint32_t *nr_waits)
{
	struct pollfd fds[MOST_REQUESTS];
	int from = 0, err;
	nfds_t nr_fds = list_of(s->sets, s->nr, &from, fds);

	if (from == s->nr)
		return wait_any(fds, nr_fds, deadline_ns, nr_handlers,
				nr_waits);
	err = wait_sets(s, deadline_ns, nr_handlers);
	return wf_poll_has_waited(&err) ?
		       err :
		       select_in_kernel(s, deadline_ns, nr_handlers);
}

/*
 * Some have been closed since the wait began. What is no descriptor any more is
 * ready for all that was asked: so the kernel tells who waits for others.
 */
static int select_beside_closed(struct selection *s)
{
	static const short ready[3] = { POLLIN | POLLHUP | POLLERR | POLLNVAL,
					POLLOUT | POLLERR | POLLNVAL,
					POLLPRI | POLLNVAL };
	struct pollfd fds[MOST_REQUESTS];
	int from = 0, nr_ready = 0;

	clear_copies(s);
	while (from < s->nr) {
		nfds_t nr_fds = list_of(s->sets, s->nr, &from, fds);

		wf_sys(SYS_poll, fds, nr_fds, 0);
		for (nfds_t i = 0; i < 3 * nr_fds; i++) {
			const struct pollfd *p = &fds[i / 3];

			if ((p->revents & ready[i % 3]) == 0 ||
			    !is_set(s->sets[i % 3], p->fd))
				continue;
			put_in(s->copies[i % 3], p->fd);
			nr_ready++;
		}
	}
	return nr_ready;
}

/* The copies are as the kernel leaves them. */
static int select_first(struct selection *s, uint32_t nr_handlers)
{
	int n;

	do
		n = select_now(s);
	while (wf_poll_is_for_nothing(n, nr_handlers));
	return n;
}

/* After a look that found nothing. What is ready stays in the copies. */
static int select_until(struct selection *s, int64_t deadline_ns,
			uint32_t nr_handlers)
{
	uint32_t nr_waits = 0;
	int n = 0;

	while (n == 0 && deadline_ns > wf_os_now()) {
		n = wait_selected(s, deadline_ns, nr_handlers, &nr_waits);
		if (n == 0)
			n = select_first(s, nr_handlers);
		if (n == -EBADF)
			n = select_beside_closed(s);
	}
	return n;
}

static int select_with(struct selection *s, int64_t deadline_ns,
		       const uint64_t *mask)
{
	uint32_t nr_handlers = wf_self->nr_handlers;
	int n = select_first(s, nr_handlers);

	if (n != 0)
		return n; /* P2 */
	n = wf_poll_open(mask, nr_handlers) ?
		    -EINTR :
		    select_until(s, deadline_ns, nr_handlers);
	wf_signal_close_after_wait(mask);
	return n;
}

int wf_io_select(int nr, fd_set *const sets[3], int64_t deadline_ns,
		 const uint64_t *mask)
{
	__attribute__((cleanup(end_selection))) struct selection s;
	int n = begin_selection(&s, nr, sets);

	if (n == 0)
		n = select_with(&s, deadline_ns, mask);
	return n >= 0 && put_sets(&s) < 0 ? -EFAULT : n;
}

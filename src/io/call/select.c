/* SPDX-License-Identifier: MIT */
/*
 * select: as poll (io/call/poll.c), with sets in place of a list. The kernel
 * writes to copies of the program's sets. So the program's sets stay unchanged
 * while the call waits, and each new try starts from them. The copies go back
 * to the program at the end of the call.
 */
#include <errno.h>
#include <string.h>

#include "io/call/many.h"
#include "io/call/poll.h"
#include "io/call/poll_call.h"
#include "io/io.h"
#include "libc/cleanup.h"
#include "libc/real.h"
#include "os/clock.h"
#include "os/mem.h"
#include "os/sys.h"
#include "sched/runtime.h"
#include "signal/memory.h"

/* Bytes of a set. A program may allocate no more than these. */
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

/* Reads the set as words: it may be longer than libc's type. */
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

/* Lists the next descriptors of the sets, from *from on. */
static nfds_t list_of(fd_set *const sets[3], int nr, int *from,
		      struct pollfd fds[WF_POLL_FEW])
{
	nfds_t nr_fds = 0;

	for (; *from < nr && nr_fds < WF_POLL_FEW; (*from)++) {
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
	size_t bytes;	 /* size of a copy */
	char *copies[3]; /* NULL: the caller has passed none */
	fd_set usual[3];
	void *memory; /* of copies that are longer than `usual`, or NULL */
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

/* Runs also when the caller leaves by longjmp or by the end of its thread. */
static void end_selection(void *selection)
{
	struct selection *s = selection;

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

/* Checks without waiting. The copies then hold what is ready. */
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
	struct wf_poll_kernel_wait k;
	int n = -1;

	copy_sets(s);
	if (wf_poll_begin_kernel(&k, deadline_ns, nr_handlers))
		n = wf_real.pselect(s->nr, (fd_set *)s->copies[0],
				    (fd_set *)s->copies[1],
				    (fd_set *)s->copies[2], k.timeout, &k.mask);
	return wf_poll_end_kernel(&k, n, nr_handlers);
}

/*
 * Waits once. Returns the result of the call, with its sets in the copies; 0:
 * check again.
 */
static int wait_any(struct selection *s, int64_t deadline_ns,
		    uint32_t nr_handlers, uint32_t *nr_waits)
{
	struct pollfd fds[WF_POLL_FEW];
	int from = 0, n = -E2BIG;
	nfds_t nr_fds = list_of(s->sets, s->nr, &from, fds);

	if (wf_poll_has_own_carrier(nr_fds))
		return select_in_kernel(s, deadline_ns, nr_handlers);
	if (from == s->nr)
		n = wf_poll_few(fds, nr_fds, deadline_ns, nr_handlers,
				nr_waits);
	if (n == -E2BIG) {
		copy_sets(s);
		n = wf_poll_call_sets(s->nr, s->copies, deadline_ns,
				      nr_handlers);
	}
	if (n == -ENOSYS)
		n = wf_poll_many(&(struct wf_many){ .sets = s->sets,
						    .nr_sets = s->nr },
				 deadline_ns, nr_handlers);
	return n > 0 || wf_poll_has_waited(&n) ?
		       n :
		       select_in_kernel(s, deadline_ns, nr_handlers);
}

/*
 * Descriptors were closed since the wait began. A closed descriptor is ready
 * for all that was asked, as the kernel reports it to a select that is already
 * waiting for other descriptors.
 */
static int select_beside_closed(struct selection *s)
{
	static const short ready[3] = { POLLIN | POLLHUP | POLLERR | POLLNVAL,
					POLLOUT | POLLERR | POLLNVAL,
					POLLPRI | POLLNVAL };
	struct pollfd fds[WF_POLL_FEW];
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

/* Checks without waiting, again if only a signal of weft's interrupted it. */
static int select_first(struct selection *s, uint32_t nr_handlers)
{
	int n;

	do
		n = select_now(s);
	while (wf_poll_is_for_nothing(n, nr_handlers));
	return n;
}

/*
 * Waits after a check that found nothing. The copies then hold what is ready.
 */
static int select_until(struct selection *s, int64_t deadline_ns,
			uint32_t nr_handlers)
{
	uint32_t nr_waits = 0;
	int n = 0;

	while (n == 0 && deadline_ns > wf_os_now()) {
		n = wait_any(s, deadline_ns, nr_handlers, &nr_waits);
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
		return n; /* POLL-2 */
	n = wf_poll_open(mask, nr_handlers) ?
		    -EINTR :
		    select_until(s, deadline_ns, nr_handlers);
	return wf_poll_close(mask, nr_handlers, n);
}

int wf_io_select(int nr, fd_set *const sets[3], int64_t deadline_ns,
		 const uint64_t *mask)
{
	WF_CLEANUP struct wf_cleanup cleanup = WF_CLEANUP_NONE;
	struct selection s;
	int n = begin_selection(&s, nr, sets);

	if (n < 0)
		return n;
	wf_cleanup_begin_own(&cleanup, end_selection, &s);
	n = select_with(&s, deadline_ns, mask);
	if (n >= 0 && put_sets(&s) < 0)
		n = -EFAULT;
	wf_cleanup_end(&cleanup);
	end_selection(&s);
	return n;
}

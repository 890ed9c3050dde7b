/* SPDX-License-Identifier: MIT */
/*
 * The private descriptors are in a table of MOST entries, which changes by
 * compare-and-exchange. So the closing and forking code can find them without a
 * lock. An entry stays, marked as closing, while its descriptor is being
 * closed: in that time the program may get the number.
 */
#include "io/file/private_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "base/atomic.h"
#include "os/kthread.h"
#include "os/sys.h"
#include "os/uring.h"

enum { MOST = 256 };

/*
 * The number of a private descriptor plus 1; 0: the entry is free. Negative:
 * the number is being closed, and may already be a file of the program's.
 */
static _Atomic int fds[MOST];
static _Atomic uint32_t nr_fds;
static _Atomic uint32_t nr_used; /* entries that have been in use */

static void use(uint32_t nr)
{
	uint32_t used = wf_load_relaxed(&nr_used);

	while (used < nr && !atomic_compare_exchange_weak(&nr_used, &used, nr))
		;
}

static bool change(int from, int to)
{
	for (uint32_t i = 0; i < MOST; i++) {
		int found = from;

		if (wf_load_relaxed(&fds[i]) == from &&
		    atomic_compare_exchange_strong(&fds[i], &found, to)) {
			use(i + 1);
			return true;
		}
	}
	return false;
}

int wf_private_fd_duplicate(int fd)
{
	long own = wf_sys(SYS_fcntl, fd, F_DUPFD_CLOEXEC, WF_PRIVATE_FD_HIGH);

	/* The limit on descriptors is too low for a high number. */
	if (own == -EINVAL || own == -EMFILE)
		own = wf_sys(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 3);
	if (own < 0)
		return -1;
	if (!change(0, (int)own + 1)) {
		wf_sys(SYS_close, own);
		return -1;
	}
	atomic_fetch_add(&nr_fds, 1);
	return (int)own;
}

int wf_private_fd_make_set(void)
{
	int low = (int)wf_sys(SYS_epoll_create1, EPOLL_CLOEXEC), set;

	if (low < 0)
		return low;
	set = wf_private_fd_duplicate(low);
	wf_sys(SYS_close, low);
	return set < 0 ? -EMFILE : set;
}

void wf_private_fd_prepare(void)
{
	int fd = (int)wf_sys(SYS_eventfd2, 0, EFD_CLOEXEC);

	if (fd >= 0)
		wf_sys(SYS_close, wf_uring_move_high(fd, WF_PRIVATE_FD_HIGH));
}

/*
 * Blocks signals: a handler could open a file that gets the number, and might
 * not return.
 */
void wf_private_fd_close(int fd)
{
	uint64_t mask = wf_os_close_signals();
	bool is_known = change(fd + 1, -(fd + 1));

	wf_sys(SYS_close, fd);
	if (is_known && change(-(fd + 1), 0))
		atomic_fetch_sub(&nr_fds, 1);
	wf_os_set_signal_mask(mask);
}

bool wf_private_fd_is_closing(int fd)
{
	if (wf_load_relaxed(&nr_fds) == 0)
		return false;
	for (uint32_t i = 0; i < wf_load_relaxed(&nr_used); i++) {
		if (wf_load_relaxed(&fds[i]) == -(fd + 1))
			return true;
	}
	return false;
}

unsigned int wf_private_fd_first(unsigned int first)
{
	unsigned int least = ~0U;

	if (wf_load_relaxed(&nr_fds) == 0)
		return least;
	for (uint32_t i = 0; i < wf_load_relaxed(&nr_used); i++) {
		unsigned int fd =
			(unsigned int)abs(wf_load_relaxed(&fds[i])) - 1;

		least = fd >= first && fd < least ? fd : least;
	}
	return least;
}

void wf_private_fd_fork_child(void)
{
	for (uint32_t i = 0; i < MOST; i++) {
		int fd = wf_load_relaxed(&fds[i]) - 1;

		if (fd >= 0)
			wf_sys(SYS_close, fd);
		wf_store_relaxed(&fds[i], 0);
	}
	wf_store_relaxed(&nr_fds, 0);
}

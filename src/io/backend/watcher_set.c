/* SPDX-License-Identifier: MIT */
/*
 * The buckets of the watcher's requests, by number, and the epoll set. An entry
 * of the set is armed anew for each event, for all requests of its number that
 * wait at that time. A fork child closes the inherited set and starts with
 * empty buckets.
 *
 * WATCHER_SET-1. Bit n of a bucket's `entries` is set if number n * 1024 +
 *     index may have an entry, from before the entry is made until after it is
 *     removed. So a close of a number that was never waited for needs no system
 *     call. Numbers from 65,536 on have no bit.
 */
#include "io/backend/watcher_set.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <string.h>
#include <sys/epoll.h>

#include "io/backend/attempt.h"
#include "io/file/private_fd.h"
#include "os/sys.h"
#include "os/uring.h"

static struct wf_watcher_bucket buckets[WF_WATCHER_BUCKETS];
static _Atomic int set_fd = -1;

struct wf_watcher_bucket *wf_watcher_set_lock(uint32_t index)
{
	struct wf_watcher_bucket *b = &buckets[index];

	wf_spin_lock(&b->lock, WF_RANK_WATCHER_SET);
	if (b->requests.next == NULL) /* for the first time */
		wf_list_init(&b->requests);
	return b;
}

/* --- entries ------------------------------------------------------------- */

bool wf_watcher_set_is_accepting_locked(struct wf_watcher_bucket *b, int number)
{
	for (struct wf_list *l = b->requests.next; l != &b->requests;
	     l = l->next) {
		const struct wf_request *r = wf_watcher_request(l);

		if (r->op == IORING_OP_ACCEPT &&
		    r->watcher_state == WF_WATCHER_SERVED &&
		    wf_request_fd(r) == number)
			return true;
	}
	return false;
}

/* WATCHER_SET-1. Returns 0 for a number without a bit. */
static uint64_t entry_bit(const struct wf_watcher_bucket *b, int number)
{
	const int nr_bits = 64;

	/* A duplicate is armed with the bucket of the number that it replaces,
	 * and has no bit there. */
	if (number < 0 || number >= nr_bits * WF_WATCHER_BUCKETS ||
	    &buckets[wf_watcher_set_index(number)] != b)
		return 0;
	return (uint64_t)1 << (number / WF_WATCHER_BUCKETS);
}

void wf_watcher_set_remove_locked(struct wf_watcher_bucket *b, int number)
{
	uint64_t bit = entry_bit(b, number);

	if (bit != 0 && (b->entries & bit) == 0)
		return;
	wf_sys(SYS_epoll_ctl, wf_watcher_set_fd(), EPOLL_CTL_DEL, number, NULL);
	b->entries &= ~bit;
}

/* Returns the events to arm the entry for; 0: no request waits. */
static uint32_t events_locked(struct wf_watcher_bucket *b, int number)
{
	bool is_accepting = wf_watcher_set_is_accepting_locked(b, number);
	uint32_t events = 0;

	for (struct wf_list *l = b->requests.next; l != &b->requests;
	     l = l->next) {
		const struct wf_request *r = wf_watcher_request(l);

		if (r->watcher_state == WF_WATCHER_WAITING &&
		    wf_request_fd(r) == number &&
		    (r->op != IORING_OP_ACCEPT || !is_accepting))
			events |= wf_attempt_events(r) | EPOLLONESHOT;
	}
	return events;
}

int wf_watcher_set_arm_locked(struct wf_watcher_bucket *b, int number)
{
	uint32_t index = (uint32_t)(b - buckets);
	struct epoll_event event = {
		.events = events_locked(b, number),
		.data.u64 = (uint64_t)index << 32 | (uint32_t)number,
	};
	long err;

	if (event.events == 0)
		return 0;
	b->entries |= entry_bit(b, number);
	err = wf_sys(SYS_epoll_ctl, wf_watcher_set_fd(), EPOLL_CTL_MOD, number,
		     &event);
	if (err == -ENOENT)
		err = wf_sys(SYS_epoll_ctl, wf_watcher_set_fd(), EPOLL_CTL_ADD,
			     number, &event);
	return (int)err;
}

/* --- keeping files ------------------------------------------------------- */

void wf_watcher_set_drop(struct wf_request *r)
{
	int pinned = wf_load_relaxed(&r->pinned_fd);

	if (pinned < 0)
		return;
	wf_sys(SYS_epoll_ctl, wf_watcher_set_fd(), EPOLL_CTL_DEL, pinned, NULL);
	wf_private_fd_close(pinned);
	wf_store_relaxed(&r->pinned_fd, -1);
}

void wf_watcher_set_pin_locked(struct wf_watcher_bucket *b,
			       struct wf_request *r)
{
	int pinned = wf_private_fd_duplicate(r->fd);

	wf_store_relaxed(&r->pinned_fd, pinned);
	if (pinned >= 0 && wf_watcher_set_arm_locked(b, pinned) < 0)
		wf_watcher_set_drop(r);
}

/* --- the set ------------------------------------------------------------- */

int wf_watcher_set_fd(void)
{
	/* acquire: pairs with wf_watcher_set_publish. */
	return wf_load_acquire(&set_fd);
}

int wf_watcher_set_make(void)
{
	long fd = wf_sys(SYS_epoll_create1, EPOLL_CLOEXEC);

	return fd < 0 ? (int)fd :
			wf_uring_move_high((int)fd, WF_PRIVATE_FD_HIGH);
}

void wf_watcher_set_publish(int fd)
{
	/*
	 * release: a thread that reads it may push requests, as the watcher
	 * runs
	 */
	wf_store_release(&set_fd, fd);
}

unsigned int wf_watcher_set_first_private(unsigned int first)
{
	unsigned int set = (unsigned int)wf_watcher_set_fd();
	unsigned int own = set >= first ? set : ~0U;
	unsigned int pinned = wf_private_fd_first(first);

	return pinned < own ? pinned : own;
}

bool wf_watcher_set_make_way(int fd)
{
	long other;

	if (fd < 0 || wf_watcher_set_fd() != fd)
		return true;
	other = wf_sys(SYS_fcntl, fd, F_DUPFD_CLOEXEC, fd + 1);
	if (other < 0)
		other = wf_sys(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 3);
	if (other < 0)
		return false;
	wf_store_relaxed(&set_fd, (int)other);
	return true;
}

void wf_watcher_set_fork_child(void)
{
	if (wf_watcher_set_fd() < 0)
		return; /* there was no set, so all buckets are empty */
	wf_sys(SYS_close, wf_watcher_set_fd());
	wf_store_relaxed(&set_fd, -1);
	memset(buckets, 0, sizeof(buckets));
}

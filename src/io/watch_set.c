#include "io/watch_set.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <string.h>
#include <sys/epoll.h>

#include "io/attempt.h"
#include "io/kept.h"
#include "os/sys.h"
#include "os/uring.h"

static struct wf_watch_bucket buckets[WF_WATCH_BUCKETS];
static _Atomic int set_fd = -1;

struct wf_watch_bucket *wf_watch_set_lock(uint32_t index)
{
	struct wf_watch_bucket *b = &buckets[index];

	wf_spin_lock(&b->lock);
	if (b->requests.next == NULL) /* for the first time */
		wf_list_init(&b->requests);
	return b;
}

/* --- entries ------------------------------------------------------------- */

bool wf_watch_set_is_accepting_locked(struct wf_watch_bucket *b, int number)
{
	for (struct wf_list *l = b->requests.next; l != &b->requests;
	     l = l->next) {
		const struct wf_request *r = wf_watch_request(l);

		if (r->op == IORING_OP_ACCEPT &&
		    r->watch_state == WF_WATCH_SERVED &&
		    wf_request_fd(r) == number)
			return true;
	}
	return false;
}

/* For what the entry is to be armed; 0: nobody waits. */
static uint32_t events_locked(struct wf_watch_bucket *b, int number)
{
	bool is_accepting = wf_watch_set_is_accepting_locked(b, number);
	uint32_t events = 0;

	for (struct wf_list *l = b->requests.next; l != &b->requests;
	     l = l->next) {
		const struct wf_request *r = wf_watch_request(l);

		if (r->watch_state == WF_WATCH_WAITING &&
		    wf_request_fd(r) == number &&
		    (r->op != IORING_OP_ACCEPT || !is_accepting))
			events |= wf_attempt_events(r) | EPOLLONESHOT;
	}
	return events;
}

int wf_watch_set_arm_locked(struct wf_watch_bucket *b, int number)
{
	uint32_t index = (uint32_t)(b - buckets);
	struct epoll_event event = {
		.events = events_locked(b, number),
		.data.u64 = (uint64_t)index << 32 | (uint32_t)number,
	};
	long err;

	if (event.events == 0)
		return 0;
	err = wf_sys(SYS_epoll_ctl, wf_watch_set_fd(), EPOLL_CTL_MOD, number,
		     &event);
	if (err == -ENOENT)
		err = wf_sys(SYS_epoll_ctl, wf_watch_set_fd(), EPOLL_CTL_ADD,
			     number, &event);
	return (int)err;
}

/* --- keeping files ------------------------------------------------------- */

void wf_watch_set_drop(struct wf_request *r)
{
	int kept = wf_load_relaxed(&r->kept_fd);

	if (kept < 0)
		return;
	wf_sys(SYS_epoll_ctl, wf_watch_set_fd(), EPOLL_CTL_DEL, kept, NULL);
	wf_kept_close(kept);
	wf_store_relaxed(&r->kept_fd, -1);
}

void wf_watch_set_keep_locked(struct wf_watch_bucket *b, struct wf_request *r)
{
	int kept = wf_kept_make(r->fd);

	wf_store_relaxed(&r->kept_fd, kept);
	if (kept >= 0 && wf_watch_set_arm_locked(b, kept) < 0)
		wf_watch_set_drop(r);
}

/* --- the set ------------------------------------------------------------- */

int wf_watch_set_fd(void)
{
	/* acquire: pairs with wf_watch_set_publish. */
	return wf_load_acquire(&set_fd);
}

int wf_watch_set_make(void)
{
	long fd = wf_sys(SYS_epoll_create1, EPOLL_CLOEXEC);

	return fd < 0 ? (int)fd : wf_uring_move_high((int)fd, WF_KEPT_HIGH_FD);
}

void wf_watch_set_publish(int fd)
{
	/* release: who sees it may push, and somebody waits for events. */
	wf_store_release(&set_fd, fd);
}

unsigned int wf_watch_set_first_own(unsigned int first)
{
	unsigned int set = (unsigned int)wf_watch_set_fd();
	unsigned int own = set >= first ? set : ~0U;
	unsigned int kept = wf_kept_first(first);

	return kept < own ? kept : own;
}

bool wf_watch_set_make_way(int fd)
{
	long other;

	if (fd < 0 || wf_watch_set_fd() != fd)
		return true;
	other = wf_sys(SYS_fcntl, fd, F_DUPFD_CLOEXEC, fd + 1);
	if (other < 0)
		other = wf_sys(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 3);
	if (other < 0)
		return false;
	wf_store_relaxed(&set_fd, (int)other);
	return true;
}

void wf_watch_set_fork_child(void)
{
	if (wf_watch_set_fd() < 0)
		return; /* nothing has been touched */
	wf_sys(SYS_close, wf_watch_set_fd());
	wf_store_relaxed(&set_fd, -1);
	memset(buckets, 0, sizeof(buckets));
}

/* SPDX-License-Identifier: MIT */
/*
 * A table of epoll proxies, in buckets by the number of the socket. A thread
 * that begins to wait finds the number's epoll proxy or makes it, and makes
 * sure that the socket is in its set. A thread that is about to close the
 * number takes the epoll proxy out of its bucket.
 *
 * EPOLL_PROXY-1. A number has at most one epoll proxy, and so has a bucket.
 *     While threads wait for one number of a bucket, the bucket's other numbers
 *     have none. Both change under the bucket's lock.
 * EPOLL_PROXY-2. The set of an epoll proxy has its number's file, and no other.
 *     So each thread that begins to wait adds the file to the set, or finds it
 *     there. Before a number is closed its epoll proxy leaves the bucket, and
 *     no thread gets one until the close is over. The waiting thread has pinned
 *     the file, so the file's entry stays in the set (io/file/pin.c, PIN-2).
 * EPOLL_PROXY-3. A closing thread counts itself before it checks for an epoll
 *     proxy. A thread that makes one puts it into the bucket before it checks
 *     for closing threads. So one of the two sees the other, and a close takes
 *     no lock where there is no epoll proxy.
 * EPOLL_PROXY-4. An epoll proxy outside of the buckets stays until no thread
 *     uses it. Otherwise the set's number might be another file's before the
 *     kernel has the request.
 *
 * Rejected: the set of the watcher (io/backend/watcher.c). Each wait would cost
 * two more switches between kernel threads.
 */
#include "io/file/epoll_proxy.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/atomic.h"
#include "base/spin.h"
#include "io/file/private_fd.h"
#include "os/sys.h"
#include "sched/runtime.h"
#include "wait/closed.h"

enum { NR_BUCKETS = 64, NR_PROXIES = 2 * NR_BUCKETS };

struct wf_epoll_proxy {
	_Atomic bool is_taken;
	bool is_in_bucket;	   /* under the bucket's lock */
	_Atomic uint32_t nr_users; /* written under it; any thread reads */
	int number;
	int set;
};

struct bucket {
	struct wf_spin lock;
	_Atomic uint32_t nr_closing;	      /* EPOLL_PROXY-3 */
	struct wf_epoll_proxy *_Atomic proxy; /* written under the lock */
} WF_ALIGNED(WF_CACHE_LINE);

static struct bucket buckets[NR_BUCKETS];
static struct wf_epoll_proxy proxies[NR_PROXIES];

static struct bucket *bucket_of(int number)
{
	return &buckets[(unsigned int)number % NR_BUCKETS];
}

/* --- the table ------------------------------------------------------------ */

static struct wf_epoll_proxy *make(int number)
{
	struct wf_epoll_proxy *p = proxies;
	int set;

	while (p < proxies + NR_PROXIES && atomic_exchange(&p->is_taken, true))
		p++;
	if (p == proxies + NR_PROXIES)
		return NULL;
	set = wf_private_fd_make_set();
	if (set < 0) {
		/* release: pairs with the exchange above. */
		wf_store_release(&p->is_taken, false);
		return NULL;
	}
	p->nr_users = 0;
	p->number = number;
	p->set = set;
	return p;
}

/* EPOLL_PROXY-4. Frees p unless a thread uses it or it is in its bucket. */
static void free_locked(struct wf_epoll_proxy *p)
{
	if (p->is_in_bucket || p->nr_users > 0)
		return;
	wf_private_fd_close(p->set);
	/* release: no thread uses p any more; pairs with the exchange in
	 * make. */
	wf_store_release(&p->is_taken, false);
}

static void detach_locked(struct bucket *b)
{
	struct wf_epoll_proxy *p = atomic_load(&b->proxy);

	atomic_store(&b->proxy, NULL);
	p->is_in_bucket = false;
	free_locked(p);
}

/* EPOLL_PROXY-2. Adds the number's file to the set, if it is not there. */
static bool put_in(const struct wf_epoll_proxy *p)
{
	struct epoll_event event = { .events = EPOLLIN };
	long err =
		wf_sys(SYS_epoll_ctl, p->set, EPOLL_CTL_ADD, p->number, &event);

	return err == 0 || err == -EEXIST;
}

static bool is_ready(const struct wf_epoll_proxy *p)
{
	struct epoll_event event;

	return wf_sys(SYS_epoll_wait, p->set, &event, 1, 0) > 0;
}

/* The epoll proxy of fd in the bucket, made if there is none; or NULL. */
static struct wf_epoll_proxy *find_locked(struct bucket *b, int fd,
					  bool is_in_doubt)
{
	struct wf_epoll_proxy *p = atomic_load(&b->proxy);

	if (p != NULL && p->number == fd && !(is_in_doubt && is_ready(p)))
		return p;
	if (p != NULL && p->number != fd && p->nr_users > 0)
		return NULL;
	if (p != NULL)
		detach_locked(b);
	p = make(fd);
	if (p != NULL) {
		p->is_in_bucket = true;
		atomic_store(&b->proxy, p); /* seq_cst: EPOLL_PROXY-3 */
	}
	return p;
}

struct wf_epoll_proxy *wf_epoll_proxy_get(int fd, bool is_in_doubt)
{
	struct bucket *b = bucket_of(fd);
	struct wf_epoll_proxy *p;

	wf_spin_lock(&b->lock, WF_RANK_EPOLL_PROXY);
	p = find_locked(b, fd, is_in_doubt);
	if (p != NULL) {
		/* seq_cst: EPOLL_PROXY-3. */
		if (atomic_load(&b->nr_closing) == 0 && put_in(p)) {
			p->nr_users++;
		} else {
			detach_locked(b);
			p = NULL;
		}
	}
	wf_spin_unlock(&b->lock);
	return p;
}

void wf_epoll_proxy_put(struct wf_epoll_proxy *p)
{
	struct bucket *b;

	if (p == NULL)
		return;
	b = bucket_of(p->number);
	wf_spin_lock(&b->lock, WF_RANK_EPOLL_PROXY);
	p->nr_users--;
	free_locked(p);
	wf_spin_unlock(&b->lock);
}

int wf_epoll_proxy_set(const struct wf_epoll_proxy *p)
{
	return p->set;
}

bool wf_epoll_proxy_is_shared(const struct wf_epoll_proxy *p)
{
	return atomic_load(&p->nr_users) > 1;
}

void wf_epoll_proxy_wake_next(const struct wf_epoll_proxy *p, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	/* The kernel wakes a thread when a ready file is added to the set, but
	 * not for a file that is in it already. */
	wf_sys(SYS_epoll_ctl, p->set, EPOLL_CTL_DEL, fd, NULL);
	wf_sys(SYS_epoll_ctl, p->set, EPOLL_CTL_ADD, fd, &event);
}

/* --- closing -------------------------------------------------------------- */

static void detach_from(struct bucket *b, unsigned int first, unsigned int last)
{
	struct wf_thread *me = wf_runtime_enter();
	uint64_t mask = wf_signals_close(me);
	struct wf_epoll_proxy *p;

	wf_spin_lock(&b->lock, WF_RANK_EPOLL_PROXY);
	p = atomic_load(&b->proxy);
	if (p != NULL && (unsigned int)p->number >= first &&
	    (unsigned int)p->number <= last)
		detach_locked(b);
	wf_spin_unlock(&b->lock);
	wf_signals_open(me, mask);
	wf_runtime_leave(me);
}

static uint32_t nr_buckets(unsigned int first, unsigned int last)
{
	return last - first < NR_BUCKETS ? last - first + 1 : NR_BUCKETS;
}

void wf_epoll_proxy_before_close(unsigned int first, unsigned int last)
{
	for (uint32_t i = 0; i < nr_buckets(first, last); i++) {
		struct bucket *b = bucket_of((int)(first + i));

		/* seq_cst: EPOLL_PROXY-3. */
		atomic_fetch_add(&b->nr_closing, 1);
		if (atomic_load(&b->proxy) != NULL)
			detach_from(b, first, last);
	}
}

void wf_epoll_proxy_after_close(unsigned int first, unsigned int last)
{
	for (uint32_t i = 0; i < nr_buckets(first, last); i++)
		atomic_fetch_sub(&bucket_of((int)(first + i))->nr_closing, 1);
}

bool wf_epoll_proxy_is_closing(int fd)
{
	/* seq_cst: EPOLL_PROXY-3. */
	return atomic_load(&bucket_of(fd)->nr_closing) != 0;
}

void wf_epoll_proxy_fork_child(void)
{
	/* The sets are closed with all private descriptors. */
	memset(buckets, 0, sizeof(buckets));
	memset(proxies, 0, sizeof(proxies));
}

/* SPDX-License-Identifier: MIT */
/*
 * The requests that wait for descriptors without a ring, sorted by number, and
 * the epoll set that reports their events (io/backend/watcher.c, WATCHER-1 to
 * WATCHER-5).
 *
 *     b = wf_watcher_set_lock(wf_watcher_set_index(fd));
 *     ...                     requests come, go and change their states
 *     err = wf_watcher_set_arm_locked(b, fd);
 *     wf_spin_unlock(&b->lock);
 */
#ifndef WEFT_IO_BACKEND_WATCHER_SET_H
#define WEFT_IO_BACKEND_WATCHER_SET_H

#include "base/list.h"
#include "base/spin.h"
#include "io/backend/request.h"

enum { WF_WATCHER_BUCKETS = 1024 };

/* struct wf_request.watcher_state; WATCHER-1 in watcher.c */
enum {
	WF_WATCHER_OUT = 0,
	WF_WATCHER_WAITING,
	WF_WATCHER_TRYING,
	WF_WATCHER_SERVED,
};

struct wf_watcher_bucket {
	struct wf_spin lock;
	uint64_t entries;	 /* WATCHER_SET-1 */
	struct wf_list requests; /* oldest first */
};

static inline struct wf_request *wf_watcher_request(struct wf_list *link)
{
	return wf_container_of(link, struct wf_request, watcher_link);
}

static inline uint32_t wf_watcher_set_index(int fd)
{
	return (uint32_t)fd % WF_WATCHER_BUCKETS;
}

struct wf_watcher_bucket *wf_watcher_set_lock(uint32_t index);

/*
 * Arms the number's entry for the events of all requests that wait for it. The
 * event's data.u64 has the bucket's index in the high half and the number in
 * the low half. Returns 0, or -Exxx if the number cannot be in a set: a request
 * for it would wait for ever.
 */
int wf_watcher_set_arm_locked(struct wf_watcher_bucket *b, int number);
/*
 * Removes the number's entry, if there may be one: the number is about to be
 * closed, and a duplicate of its file would keep the entry.
 */
void wf_watcher_set_remove_locked(struct wf_watcher_bucket *b, int number);
/* WATCHER-3. Returns true if a worker is in an accept on the number. */
bool wf_watcher_set_is_accepting_locked(struct wf_watcher_bucket *b,
					int number);

/*
 * WATCHER-4. Gives r, which waits, a duplicate with an entry in the set. If
 * there is no free descriptor or no room in the set, r stays with the number.
 */
void wf_watcher_set_pin_locked(struct wf_watcher_bucket *b,
			       struct wf_request *r);
/* Removes and closes the duplicate of r, if there is one. */
void wf_watcher_set_drop(struct wf_request *r);

/* Returns the epoll set; -1 if there is none. */
int wf_watcher_set_fd(void);
/*
 * Makes the epoll set. Returns its descriptor or -Exxx. Other threads find the
 * set once it is published.
 */
int wf_watcher_set_make(void);
void wf_watcher_set_publish(int fd);

/*
 * These do for the watcher's set what wf_ring_first_private and
 * wf_ring_make_way do for rings.
 */
unsigned int wf_watcher_set_first_private(unsigned int first);
bool wf_watcher_set_make_way(int fd);

void wf_watcher_set_fork_child(void);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * One io_uring, by raw system calls. The caller serialises pushing and taking:
 * a ring is used by the owner of the VP that it belongs to.
 *
 *     struct io_uring_sqe *sqe = wf_uring_next_sqe(ring);
 *     ... fill it ...
 *     wf_uring_push(ring);
 *     wf_uring_submit(ring, WF_URING_ALL);
 *     while (wf_uring_take_cqe(ring, &cqe))
 *             ...
 */
#ifndef WEFT_OS_URING_H
#define WEFT_OS_URING_H

#include <linux/io_uring.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"

struct wf_uring {
	int fd;
	uint32_t features;
	/* Shared with the kernel. */
	_Atomic uint32_t *sq_head, *sq_tail, *sq_flags;
	_Atomic uint32_t *cq_head, *cq_tail;
	uint32_t sq_entries, sq_mask, cq_mask;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
	void *queues, *entries; /* the two mappings */
	size_t queues_bytes, entries_bytes;
};

/*
 * Makes a ring whose descriptor is close-on-exec and at least min_fd if there
 * is room. Returns 0, or -Exxx if the kernel or its administrator refuses.
 */
int wf_uring_init(struct wf_uring *ring, uint32_t nr_entries, int min_fd);
void wf_uring_destroy(struct wf_uring *ring);

/* Moves a close-on-exec descriptor to min_fd or above, if there is room, else
 * as high as half of that, and so on. Returns its number. */
int wf_uring_move_high(int fd, int min_fd);

/* Does the kernel have all of these operations? */
bool wf_uring_has_ops(const struct wf_uring *ring, const uint8_t *ops,
		      size_t nr);

/* Has it all that weft cannot do without? Nothing has been pushed yet. */
bool wf_uring_suffices(struct wf_uring *ring);

/* A cleared entry, or NULL: submit first. */
struct io_uring_sqe *wf_uring_next_sqe(struct wf_uring *ring);
void wf_uring_push(struct wf_uring *ring);

/*
 * Submits the oldest of what has been pushed, `most` at most; what the kernel
 * has in hand for the caller is done on the way. Returns how many, or -Exxx.
 */
#define WF_URING_ALL UINT32_MAX
int wf_uring_submit(struct wf_uring *ring, uint32_t most);
/*
 * Submits all, then waits until there is a completion or the CLOCK_MONOTONIC
 * deadline has passed (ns). Returns 0 or -Exxx; -EINTR and -ETIME only end the
 * wait.
 */
int wf_uring_wait(struct wf_uring *ring, int64_t deadline_ns);

/*
 * Asks for an early completion of a request that anybody has submitted. Anybody
 * may call this. The request completes in any case, if it has not yet, with
 * -ECANCELED or with what it has done. Returns -Exxx if the kernel is not to
 * give it up.
 */
int wf_uring_give_up(struct wf_uring *ring, uint64_t user_data);
/* The same for all that have been submitted. */
void wf_uring_cancel_all(struct wf_uring *ring);
/*
 * Has what the kernel is to give up, and waited for a file or a word, done
 * nothing, and will it do nothing? Older kernels may just be at it.
 */
bool wf_uring_gives_up_surely(const struct wf_uring *ring);

/* Takes one completion; false if there is none. */
bool wf_uring_take_cqe(struct wf_uring *ring, struct io_uring_cqe *ret_cqe);

/* Pushed and not yet seen by the kernel. Also by others than the owner. */
static inline uint32_t wf_uring_unsubmitted(const struct wf_uring *ring)
{
	/* acquire: what the tail's reader submits has been written. */
	return wf_load_acquire(ring->sq_tail) - wf_load_relaxed(ring->sq_head);
}

/*
 * Does an entry that the kernel has not seen name one of these descriptors?
 * Anybody may ask; what the kernel takes meanwhile may be counted, too.
 */
bool wf_uring_names(const struct wf_uring *ring, unsigned int first,
		    unsigned int last);

/* Completions that have come. Also by others than the owner. */
static inline uint32_t wf_uring_nr_cqes(const struct wf_uring *ring)
{
	return wf_load_relaxed(ring->cq_tail) - wf_load_relaxed(ring->cq_head);
}

/*
 * The kernel has completions that it posts when the ring is entered, by anybody
 * or by the kernel thread that has submitted them.
 */
static inline bool wf_uring_wants_enter(const struct wf_uring *ring)
{
	return (wf_load_relaxed(ring->sq_flags) &
		(IORING_SQ_CQ_OVERFLOW | IORING_SQ_TASKRUN)) != 0;
}

/* The same, of those that it posts for anybody. */
static inline bool wf_uring_has_overflow(const struct wf_uring *ring)
{
	return (wf_load_relaxed(ring->sq_flags) & IORING_SQ_CQ_OVERFLOW) != 0;
}

#endif

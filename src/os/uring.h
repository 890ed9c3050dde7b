/* SPDX-License-Identifier: MIT */
/*
 * One io_uring, by raw system calls. The caller serialises pushing and taking:
 * only the owner of the ring's VP uses it.
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
	/* shared with the kernel */
	_Atomic uint32_t *sq_head, *sq_tail, *sq_flags;
	_Atomic uint32_t *cq_head, *cq_tail;
	uint32_t sq_entries, sq_mask, cq_mask;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
	void *queues, *entries; /* the two mappings */
	size_t queues_bytes, entries_bytes;
};

/*
 * Makes a ring with a close-on-exec descriptor, at least min_fd if there is
 * room. Returns 0, or -Exxx if the kernel or its administrator refuses.
 */
int wf_uring_init(struct wf_uring *ring, uint32_t nr_entries, int min_fd);
void wf_uring_destroy(struct wf_uring *ring);

/*
 * Moves a close-on-exec descriptor to min_fd or above. If the limit on
 * descriptors is too low, tries half of min_fd, and so on. Returns the new
 * number.
 */
int wf_uring_move_high(int fd, int min_fd);

/* True if the kernel has all these operations. */
bool wf_uring_has_ops(const struct wf_uring *ring, const uint8_t *ops,
		      size_t nr);

/* True if the ring has all that weft needs. Call it before the first push. */
bool wf_uring_suffices(struct wf_uring *ring);

/* A cleared entry, or NULL if the queue is full: then submit first. */
struct io_uring_sqe *wf_uring_next_sqe(struct wf_uring *ring);
void wf_uring_push(struct wf_uring *ring);

/*
 * Submits up to `most` of the pushed entries, the oldest first. The kernel also
 * runs the work that it has queued for the caller. Returns the number of
 * entries, or -Exxx.
 */
#define WF_URING_ALL UINT32_MAX
int wf_uring_submit(struct wf_uring *ring, uint32_t most);
/*
 * Submits all entries, then waits for a completion or the CLOCK_MONOTONIC
 * deadline in ns. Returns 0 or -Exxx; -EINTR and -ETIME only end the wait.
 */
int wf_uring_wait(struct wf_uring *ring, int64_t deadline_ns);

/*
 * Asks the kernel to complete a submitted request early. Any kernel thread may
 * call this. The request completes in any case, with -ECANCELED or with its
 * partial result. Returns -Exxx if the kernel does not cancel it.
 */
int wf_uring_give_up(struct wf_uring *ring, uint64_t user_data);
/* Asks the kernel to complete all submitted requests early. */
void wf_uring_cancel_all(struct wf_uring *ring);
/*
 * True if a cancelled request that waited for a file or a word surely has no
 * effect, then or later. On older kernels it may be executing just then.
 */
bool wf_uring_gives_up_surely(const struct wf_uring *ring);

/* Takes one completion; false if there is none. */
bool wf_uring_take_cqe(struct wf_uring *ring, struct io_uring_cqe *ret_cqe);

/*
 * Entries that were pushed and that the kernel has not taken. Any thread may
 * call this.
 */
static inline uint32_t wf_uring_unsubmitted(const struct wf_uring *ring)
{
	/* acquire: the entries up to the tail are written. */
	return wf_load_acquire(ring->sq_tail) - wf_load_relaxed(ring->sq_head);
}

/*
 * True if an entry that the kernel has not taken names one of these
 * descriptors. Any thread may call this. Entries that the kernel takes
 * meanwhile may count, too.
 */
bool wf_uring_names(const struct wf_uring *ring, unsigned int first,
		    unsigned int last);

/* Completions that have arrived. Any thread may call this. */
static inline uint32_t wf_uring_nr_cqes(const struct wf_uring *ring)
{
	return wf_load_relaxed(ring->cq_tail) - wf_load_relaxed(ring->cq_head);
}

/*
 * True if the kernel has completions that it posts when any thread enters the
 * ring, or when the kernel thread that submitted them does.
 */
static inline bool wf_uring_wants_enter(const struct wf_uring *ring)
{
	return (wf_load_relaxed(ring->sq_flags) &
		(IORING_SQ_CQ_OVERFLOW | IORING_SQ_TASKRUN)) != 0;
}

/*
 * True if the kernel has completions that it posts when any thread enters the
 * ring.
 */
static inline bool wf_uring_has_overflow(const struct wf_uring *ring)
{
	return (wf_load_relaxed(ring->sq_flags) & IORING_SQ_CQ_OVERFLOW) != 0;
}

#endif

/* A ring, and what those of all VPs share. G1 to G9 are in io/ring.c. */
#ifndef WEFT_IO_RING_INTERNAL_H
#define WEFT_IO_RING_INTERNAL_H

#include "base/atomic.h"
#include "io/ring.h"
#include "io/unasked.h"
#include "io/under_way.h"
#include "os/uring.h"

struct wf_vp_io {
	struct wf_uring ring;
	int wake_fd;
	_Atomic bool is_made; /* the descriptors are there (G6) */
	bool is_wake_armed;
	_Atomic bool naps; /* owner; anybody reads (G7) */
	bool has_napped;   /* for its whole time */
	bool finds_data;   /* G8 */
	uint32_t nr_young; /* handed over since wf_unasked_age */
	uint32_t nr_looks; /* since the kernel has had something to do */
	struct wf_unasked unasked; /* what the ring has */
	struct wf_under_way under_way;

	/* io/move.c */
	const struct wf_carrier *carrier; /* the VP's, when last looked at */
	_Atomic bool was_entered;	  /* by another kernel thread */
	_Atomic bool is_moving;
	/* IORING_SQ_TASKRUN stays set, for another kernel thread. */
	_Atomic bool has_others_flag; /* owner; anybody reads */
	uint32_t era, wake_era;
	uint32_t nr_given_up; /* not known to the kernel's other side yet */
	uint32_t move_next;   /* the first number that was not seen to */
	int64_t move_ns;      /* when to move; 0: nothing is to be moved */
} WF_ALIGNED(WF_CACHE_LINE);

struct wf_rings {
	struct wf_vp_io *by_vp; /* NULL before wf_ring_start */
	_Atomic bool are_refused;
	_Atomic bool are_ending; /* wf_ring_end has just been called */
};
extern struct wf_rings wf_rings;

/* The number of the poll that ends sleeps. */
enum { WF_RING_WAKE = 0 };

/* r, whose id is this, is pushed; it is counted and in its row. Owner. */
void wf_ring_push_as(struct wf_vp *vp, struct wf_request *r, uint64_t id);
/* r is done. Owner. */
void wf_ring_take(struct wf_vp *vp, struct wf_request *r, int result);

/* Has vp another carrier than its requests? Owner. */
static inline bool wf_ring_is_to_follow(const struct wf_vp *vp)
{
	const struct wf_vp_io *io = vp->io;

	return io->carrier != vp->carrier || io->move_ns != 0 ||
	       wf_load_relaxed(&io->was_entered);
}
/* If it has had it for long enough they come to it. Owner. */
void wf_ring_follow(struct wf_vp *vp);
/* As wf_uring_wants_enter, for the calling owner's kernel thread. */
bool wf_ring_wants_enter(const struct wf_vp_io *io);
/* The owner has just entered the ring. */
void wf_ring_has_entered(struct wf_vp_io *io);
/* A descriptor's use has ended: requests on it do not move from now on. */
void wf_ring_wait_for_moves(struct wf_vp_io *io);

#endif

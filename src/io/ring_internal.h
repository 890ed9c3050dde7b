/* SPDX-License-Identifier: MIT */
/*
 * A ring, and what those of all VPs share. IO_RING-1 to IO_RING-9 are in
 * io/ring.c.
 */
#ifndef WEFT_IO_RING_INTERNAL_H
#define WEFT_IO_RING_INTERNAL_H

#include "base/atomic.h"
#include "io/ring.h"
#include "io/nonblock.h"
#include "io/in_flight.h"
#include "os/uring.h"

struct wf_vp_io {
	struct wf_uring ring;
	struct wf_in_flight in_flight;
	/* The VP's carrier; NULL: there is something to follow
	 * (io/migrate.c). */
	_Atomic(const struct wf_carrier *) carrier;
	uint32_t nr_polls; /* since the kernel has had something to do */
	uint32_t nr_young; /* handed over since wf_nonblock_age */
	bool finds_data;   /* IO_RING-8 */
	bool has_napped;   /* for its whole time */
	_Atomic bool naps; /* owner; anybody reads (IO_RING-7) */
	bool is_wake_armed;
	_Atomic bool is_made; /* the descriptors are there (IO_RING-6) */
	int wake_fd;

	/* io/migrate.c */
	/* IORING_SQ_TASKRUN stays set, for another kernel thread. */
	_Atomic bool has_others_flag; /* owner; anybody reads */
	_Atomic bool was_entered;     /* by others, who set carrier after it */
	bool has_migrated; /* the VP: other carriers may have its requests */
	_Atomic bool is_migrating;
	uint32_t nr_given_up;  /* completions to come */
	uint32_t migrate_next; /* the first number that is not yet done */
	int64_t migrate_ns;    /* when to migrate; 0: nothing migrates */
	const struct wf_carrier *last_carrier; /* of the VP */

	struct wf_nonblock nonblock; /* of requests in the ring */
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

/*
 * Submits what the owner has pushed, as somebody else: the caller's kernel
 * thread ends it then. As wf_uring_submit.
 */
int wf_ring_submit_for(struct wf_vp_io *io);

/* Has vp another carrier than its requests? Owner. */
static inline bool wf_ring_is_to_follow(const struct wf_vp *vp)
{
	return wf_load_relaxed(&vp->io->carrier) != vp->carrier;
}
/* If so, determines which requests migrate, and when. Owner, as are the next
 * two. */
void wf_ring_update_carrier(struct wf_vp *vp);
/* Migrates requests if it is time; threads may be ready then. */
void wf_ring_follow(struct wf_vp *vp);
/* As wf_uring_wants_enter, for the calling owner's kernel thread. */
bool wf_ring_wants_enter(const struct wf_vp_io *io);
/* The owner has entered the ring, or IORING_SQ_TASKRUN may be clear again. */
void wf_ring_update_flag(struct wf_vp_io *io);
/* A descriptor's generation has ended: requests on it do not migrate from now
 * on. */
void wf_ring_wait_for_migration(struct wf_vp_io *io);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The parts of a ring, for the files that share them: ring.c, ring_make.c,
 * rings.c and migrate.c. IO_RING-1 to IO_RING-9 are in io/backend/ring.c.
 */
#ifndef WEFT_IO_BACKEND_RING_INTERNAL_H
#define WEFT_IO_BACKEND_RING_INTERNAL_H

#include "base/atomic.h"
#include "io/backend/nonblock.h"
#include "io/backend/ring.h"
#include "io/file/in_flight.h"
#include "os/uring.h"

struct wf_vp_io {
	struct wf_uring ring;
	struct wf_in_flight in_flight;
	/*
	 * The carrier that the requests in flight belong to. If it is not the
	 * VP's carrier, requests migrate (io/backend/migrate.c); NULL starts
	 * that.
	 */
	_Atomic(const struct wf_carrier *) carrier;
	uint32_t nr_polls; /* polls since the ring had work for the kernel */
	uint32_t nr_young; /* handed over since wf_nonblock_age */
	bool finds_data;   /* IO_RING-8 */
	bool has_napped;   /* the last nap was not cut short */
	_Atomic bool naps; /* the owner writes, any thread reads (IO_RING-7) */
	bool is_wake_armed;
	_Atomic bool is_made; /* the descriptors exist (IO_RING-6) */
	int wake_fd;

	/* io/backend/migrate.c */
	/*
	 * IORING_SQ_TASKRUN stays set, because another kernel thread has work.
	 */
	_Atomic bool has_others_flag; /* the owner writes, any thread reads */
	/*
	 * Another kernel thread has entered the ring. It sets `carrier`
	 * afterwards.
	 */
	_Atomic bool was_entered;
	bool has_migrated; /* other carriers may have requests of this VP */
	_Atomic bool is_migrating;
	uint32_t nr_given_up;  /* completions of cancelled entries to come */
	uint32_t migrate_next; /* the next row of in_flight to check */
	int64_t migrate_ns;    /* when to migrate; 0: no request migrates */
	const struct wf_carrier *last_carrier; /* of the VP */

	/* the requests in the ring that are unchecked */
	struct wf_nonblock nonblock;
} WF_ALIGNED(WF_CACHE_LINE);

struct wf_rings {
	struct wf_vp_io *by_vp; /* NULL before wf_ring_start */
	_Atomic bool are_refused;
	_Atomic bool are_ending; /* wf_ring_end has been called */
};
extern struct wf_rings wf_rings;

/* No ring is made from now on. */
void wf_rings_refuse(void);

/* The row of the poll that ends sleeps. */
enum { WF_RING_WAKE = 0 };

/* Pushes r with this id. r is counted and has its row. Owner of the VP. */
void wf_ring_push_as(struct wf_vp *vp, struct wf_request *r, uint64_t id);
/* Completes r. Owner of the VP. */
void wf_ring_take(struct wf_vp *vp, struct wf_request *r, int result);

/*
 * Makes the kernel submit the entries that the owner has pushed. The caller is
 * another thread: the kernel then completes these requests in the caller's
 * kernel thread. Returns as wf_uring_submit.
 */
int wf_ring_submit_for(struct wf_vp_io *io);

/*
 * Returns true if the requests in flight belong to another carrier than that of
 * vp. Owner of the VP.
 */
static inline bool wf_ring_is_to_follow(const struct wf_vp *vp)
{
	return wf_load_relaxed(&vp->io->carrier) != vp->carrier;
}
/*
 * If the requests in flight belong to another carrier, determines which of them
 * migrate and when. The owner of the VP calls this and the next two functions.
 */
void wf_ring_update_carrier(struct wf_vp *vp);
/* Migrates requests if it is time. Threads may become runnable. */
void wf_ring_follow(struct wf_vp *vp);
/*
 * As wf_uring_wants_enter, but only for work in the kernel thread of the owner,
 * which is the caller.
 */
bool wf_ring_wants_enter(const struct wf_vp_io *io);
/*
 * Updates has_others_flag. The owner has entered the ring, or IORING_SQ_TASKRUN
 * may be clear again.
 */
void wf_ring_update_flag(struct wf_vp_io *io);
/*
 * A descriptor's generation has ended. Waits until a migration in progress is
 * over: requests on the descriptor do not migrate from now on.
 */
void wf_ring_wait_for_migration(struct wf_vp_io *io);

#endif

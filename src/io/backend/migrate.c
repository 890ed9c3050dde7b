/* SPDX-License-Identifier: MIT */
/*
 * Migration: requests follow their VP to another carrier (IO_RING-9 in
 * io/backend/ring.c). The kernel completes a request in the kernel thread that
 * has submitted it. If that kernel thread sleeps without its VP, the VP does
 * not get the completion. So the owner of the VP gives such requests up and
 * pushes them again on its carrier.
 *
 * MIGRATE-1. A row says which carrier has handed its request over
 *     (io/file/in_flight.h). Requests of other carriers migrate once some time
 *     has passed. Most carriers that sleep do not sleep for long, and to
 *     migrate a request costs about a microsecond.
 * MIGRATE-2. To migrate a request, the owner of the VP gives it up and pushes
 *     it again, by another id. The owner does so only if the request surely has
 *     done nothing and will do nothing [wf_uring_gives_up_surely]. A later
 *     completion, in the kernel thread that sleeps, bears the old id. Any other
 *     request completes in that kernel thread.
 * MIGRATE-3. A wait is for the file, and the entry names a number. The owner
 *     sets is_migrating, fences, and reads the number's generation for each
 *     entry. The closing thread counts the generation up, fences, waits until
 *     nothing migrates, then makes the kernel take the entries that name the
 *     number. One of the two sees the other. test/model/migrate.pml
 *
 * Rejected: to check how long the old carrier sleeps. It may return, get
 * another VP and sleep again: then nothing says which requests it has.
 */
#include <errno.h>
#include <linux/io_uring.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "io/backend/ring_internal.h"
#include "io/file/descriptor.h"
#include "os/clock.h"
#include "os/sys.h"
#include "sched/carrier.h"
#include "sched/vp_io.h"

enum {
	/* MIGRATE-1: migration takes at most a tenth of the time. */
	AFTER_NS = 2 * WF_NS_PER_MS,
	AFTER_NS_EACH = 13 * WF_NS_PER_US,
	ROWS_AT_ONCE = 256,
};

/* --- work of other kernel threads ----------------------------------------- */

void wf_ring_update_flag(struct wf_vp_io *io)
{
	/* IORING_SQ_TASKRUN stays set while a sleeping kernel thread still has
	 * to complete a request. The kernel may also have set it just now for
	 * the caller. Then the caller's next sleep in the ring completes that
	 * request. */
	wf_store_relaxed(&io->has_others_flag,
			 io->has_migrated && wf_uring_wants_enter(&io->ring));
}

bool wf_ring_wants_enter(const struct wf_vp_io *io)
{
	return wf_load_relaxed(&io->has_others_flag) ?
		       wf_uring_has_overflow(&io->ring) :
		       wf_uring_wants_enter(&io->ring);
}

/* --- migration ------------------------------------------------------------ */

/*
 * Does r wait for a file or a word, and do nothing before the wait is over? An
 * exclusive wait, for which the kernel wakes one of several, must not migrate.
 * Such a wait stays in the file's queue until the kernel thread that sleeps has
 * removed it, and takes wakes from the other waits.
 */
static bool does_all_or_nothing(const struct wf_request *r)
{
	switch (r->op) {
	case IORING_OP_RECV:
	case IORING_OP_RECVMSG:
	case IORING_OP_SENDMSG:
		return (r->op_flags & MSG_WAITALL) == 0;
	case IORING_OP_POLL_ADD:
		return (r->op_flags & EPOLLEXCLUSIVE) == 0;
	case IORING_OP_READV: /* only of streams */
		return r->off == UINT64_MAX;
	case WF_RING_OP_FUTEX_WAIT:
		return true;
	default:
		return false;
	}
}

/* MIGRATE-3. Is the number still that of the file that r waits for? */
static bool names_its_file(const struct wf_request *r)
{
	return wf_descriptor_counts_generations(r->fd) &&
	       wf_descriptor_generation(r->fd) == r->fd_generation;
}

/* MIGRATE-2. Gives r up; true if r will surely do nothing. */
static bool is_given_up(struct wf_vp_io *io, const struct wf_request *r,
			uint64_t id)
{
	int err = wf_uring_give_up(&io->ring, id);

	/* A futex wait that the kernel has no more has had its wake, and does
	 * nothing else. */
	return err >= 0 || (err == -ENOENT && r->op == WF_RING_OP_FUTEX_WAIT);
}

static void migrate(struct wf_vp *vp, uint32_t i)
{
	struct wf_vp_io *io = vp->io;
	struct wf_in_flight *u = &io->in_flight;
	struct wf_request *r = u->rows[i].r;
	uint64_t id = wf_in_flight_id(u, i);
	bool is_futex = r->op == WF_RING_OP_FUTEX_WAIT;

	if (!does_all_or_nothing(r) || (!is_futex && !names_its_file(r)) ||
	    !is_given_up(io, r, id))
		return;
	io->nr_given_up++;
	wf_count_own(&vp->counters, migrations);
	if (is_futex) {
		/* A wake may come in between and need not change the word. So
		 * the request ends, and the thread checks whether it still has
		 * to wait. */
		wf_in_flight_take(u, id);
		wf_ring_take(vp, r, 0);
		return;
	}
	wf_ring_push_as(vp, r, wf_in_flight_renew(u, i, vp->carrier->number));
}

static void migrate_some(struct wf_vp *vp)
{
	struct wf_vp_io *io = vp->io;
	const struct wf_in_flight *u = &io->in_flight;
	uint32_t nr = 0;

	/* The kernel gives up only what has been submitted. */
	wf_vp_io_submit(vp);
	if (wf_uring_unsubmitted(&io->ring) > 0)
		return;
	/* seq_cst, with the fence: MIGRATE-3. */
	atomic_store(&io->is_migrating, true);
	wf_fence_seq_cst();
	for (; io->migrate_next <= u->nr_used && nr < ROWS_AT_ONCE;
	     io->migrate_next++) {
		const struct wf_in_flight_row *row = &u->rows[io->migrate_next];

		if (row->r == NULL || row->by == vp->carrier->number)
			continue;
		migrate(vp, io->migrate_next);
		nr++;
	}
	/* release: the entries; pairs with wf_ring_wait_for_migration. */
	wf_store_release(&io->is_migrating, false);
	if (io->migrate_next > u->nr_used)
		io->migrate_ns = 0;
}

/*
 * Notes that the new carrier submits the entries that are pushed but not yet
 * submitted.
 */
static void take_over_pushed(struct wf_vp *vp)
{
	struct wf_uring *ring = &vp->io->ring;
	uint32_t i = wf_load_relaxed(ring->sq_head);

	for (; i != wf_load_relaxed(ring->sq_tail); i++) {
		uint64_t id = ring->sqes[i & ring->sq_mask].user_data;

		vp->io->in_flight.rows[(uint32_t)id].by = vp->carrier->number;
	}
}

/*
 * Another kernel thread has submitted some of the VP's requests. It is not
 * known which, so all of them get an unknown carrier.
 */
static void note_others(struct wf_vp_io *io)
{
	for (uint32_t i = 0; i <= io->in_flight.nr_used; i++) {
		struct wf_in_flight_row *row = &io->in_flight.rows[i];

		if (i == WF_RING_WAKE || row->r != NULL)
			row->by = WF_IN_FLIGHT_UNKNOWN;
	}
}

/* Sets the time to migrate, if the VP has requests and none is set. */
static void schedule(struct wf_vp *vp)
{
	struct wf_vp_io *io = vp->io;
	uint32_t nr = wf_load_relaxed(&vp->nr_requests);

	io->has_migrated = true;
	io->migrate_next = 1;
	if (io->migrate_ns == 0 && nr > 0 &&
	    wf_uring_gives_up_surely(&io->ring))
		io->migrate_ns =
			wf_os_now() + AFTER_NS + nr * (int64_t)AFTER_NS_EACH;
}

void wf_ring_update_carrier(struct wf_vp *vp)
{
	struct wf_vp_io *io = vp->io;
	bool was_entered;

	/* acq_rel: pairs with wf_ring_submit_for. Either the caller reads
	 * was_entered after this, or the other thread sets the carrier to NULL
	 * again. */
	atomic_exchange_explicit(&io->carrier, vp->carrier,
				 memory_order_acq_rel);
	was_entered = atomic_exchange_explicit(&io->was_entered, false,
					       memory_order_relaxed);
	if (was_entered)
		note_others(io);
	if (io->last_carrier != vp->carrier) {
		io->last_carrier = vp->carrier;
		take_over_pushed(vp);
		schedule(vp);
	}
	if (was_entered)
		schedule(vp);
	if (io->migrate_ns != 0)
		wf_store_relaxed(&io->carrier, NULL); /* check again */
}

void wf_ring_follow(struct wf_vp *vp)
{
	struct wf_vp_io *io = vp->io;

	wf_ring_update_carrier(vp);
	if (io->migrate_ns == 0 || wf_os_now() < io->migrate_ns)
		return;
	migrate_some(vp);
	if (io->migrate_ns == 0)
		wf_ring_update_carrier(vp); /* done, or there are new ones */
}

int wf_ring_submit_for(struct wf_vp_io *io)
{
	const uint64_t one = 1;
	int nr = (int)wf_sys(SYS_io_uring_enter, io->ring.fd,
			     wf_uring_unsubmitted(&io->ring), 0, 0, NULL, 0);

	if (nr <= 0)
		return nr;
	wf_store_relaxed(&io->was_entered, true);
	/* release: pairs with wf_ring_update_carrier. */
	wf_store_release(&io->carrier, NULL);
	/* The VP's owner may just have gone to sleep. */
	wf_sys(SYS_write, io->wake_fd, &one, sizeof(one));
	return nr;
}

void wf_ring_wait_for_migration(struct wf_vp_io *io)
{
	const struct timespec nap = { 0, 50 * WF_NS_PER_US };

	wf_fence_seq_cst(); /* MIGRATE-3: after the generation was counted up */
	while (wf_load_acquire(&io->is_migrating))
		wf_sys(SYS_nanosleep, &nap, NULL);
}

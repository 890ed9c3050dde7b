/*
 * Requests follow their VP to another carrier (G9 in io/ring.c).
 *
 * M1. An era of a ring begins when its VP has another carrier, or when somebody
 *     else has handed over what was pushed. Requests of earlier eras are moved,
 *     once some time has passed: most who sleep do not sleep for long, and to
 *     move one costs about a microsecond.
 * M2. A request is moved by being given up and pushed again, by another id. It
 *     is moved only if it surely has done nothing and will do nothing
 *     [wf_uring_gives_up_surely]; what the kernel says of it later, in the
 *     kernel thread that sleeps, bears the old id. Any other ends there.
 * M3. A wait is for the file, and the entry names a number. The mover sets
 *     is_moving, fences, and reads the number's uses for each entry; who ends a
 *     use counts it, fences, and waits until nothing is moving, then makes the
 *     kernel take the entries that name the number. One of the two sees the
 *     other. test/model/move.pml
 *
 * Rejected: to look how long the old carrier sleeps. It may return, have
 * another VP and sleep again, and nobody would know whose requests it has.
 */
#include <linux/io_uring.h>
#include <sys/socket.h>

#include "io/descriptor.h"
#include "io/ring_internal.h"
#include "os/clock.h"
#include "os/sys.h"

enum {
	/* M1: at most a tenth of the time is spent in moving. */
	AFTER_NS = 2 * WF_NS_PER_MS,
	AFTER_NS_EACH = 13 * WF_NS_PER_US,
	ROWS_AT_ONCE = 256,
};

/* --- what the kernel has for others --------------------------------------- */

/* IORING_SQ_TASKRUN may be set for another kernel thread than the owner's. */
static bool may_have_others(const struct wf_vp_io *io)
{
	return io->nr_given_up > 0 || io->move_ns != 0 ||
	       (io->era != 0 && !wf_uring_gives_up_surely(&io->ring));
}

void wf_ring_has_entered(struct wf_vp_io *io)
{
	/* Or it was set just now; a sleep in the ring finds that. */
	wf_store_relaxed(&io->has_others_flag,
			 may_have_others(io) &&
				 wf_uring_wants_enter(&io->ring));
}

bool wf_ring_wants_enter(const struct wf_vp_io *io)
{
	return wf_load_relaxed(&io->has_others_flag) ?
		       wf_uring_has_overflow(&io->ring) :
		       wf_uring_wants_enter(&io->ring);
}

/* --- moving --------------------------------------------------------------- */

/* It waits for a file, or a word, and has done nothing before. */
static bool does_all_or_nothing(const struct wf_request *r)
{
	switch (r->op) {
	case IORING_OP_RECV:
	case IORING_OP_RECVMSG:
	case IORING_OP_SENDMSG:
		return (r->op_flags & MSG_WAITALL) == 0;
	case IORING_OP_ACCEPT:
	case IORING_OP_POLL_ADD:
	case IORING_OP_READV:
	case WF_RING_OP_FUTEX_WAIT:
		return true;
	default:
		return false;
	}
}

/* M3 */
static bool names_its_file(const struct wf_request *r)
{
	return wf_descriptor_counts_uses(r->fd) &&
	       wf_descriptor_uses(r->fd) == r->fd_uses;
}

/* M2 */
static void move(struct wf_vp *vp, uint32_t i)
{
	struct wf_vp_io *io = vp->io;
	struct wf_under_way *u = &io->under_way;
	struct wf_request *r = u->rows[i].r;
	uint64_t id = wf_under_way_id(u, i);
	bool is_futex = r->op == WF_RING_OP_FUTEX_WAIT;

	if (!does_all_or_nothing(r) || (!is_futex && !names_its_file(r)) ||
	    wf_uring_give_up(&io->ring, id) < 0)
		return;
	io->nr_given_up++;
	wf_count_own(&vp->counters, moves);
	if (is_futex) {
		/* A wake may come in between, which does not change the word:
		 * who waits looks whether it still has to. */
		wf_under_way_take(u, id);
		wf_ring_take(vp, r, 0);
		return;
	}
	wf_ring_push_as(vp, r, wf_under_way_renew(u, i, io->era));
}

static void move_some(struct wf_vp *vp)
{
	struct wf_vp_io *io = vp->io;
	const struct wf_under_way *u = &io->under_way;
	uint32_t nr = 0;

	/* seq_cst, with the fence: M3. */
	atomic_store(&io->is_moving, true);
	wf_fence_seq_cst();
	for (; io->move_next <= u->nr_used && nr < ROWS_AT_ONCE;
	     io->move_next++) {
		const struct wf_under_way_row *row = &u->rows[io->move_next];

		if (row->r == NULL || row->era == io->era)
			continue;
		move(vp, io->move_next);
		nr++;
	}
	/* release: the entries; pairs with wf_ring_wait_for_moves. */
	wf_store_release(&io->is_moving, false);
	if (io->move_next > u->nr_used)
		io->move_ns = 0;
}

static void begin_era(struct wf_vp *vp)
{
	struct wf_vp_io *io = vp->io;
	uint32_t nr = wf_load_relaxed(&vp->nr_requests);

	io->last_carrier = vp->carrier;
	io->era++;
	io->move_next = 1;
	if (nr == 0 || !wf_uring_gives_up_surely(&io->ring))
		io->move_ns = 0;
	else if (io->move_ns == 0)
		io->move_ns =
			wf_os_now() + AFTER_NS + nr * (int64_t)AFTER_NS_EACH;
}

void wf_ring_follow(struct wf_vp *vp)
{
	struct wf_vp_io *io = vp->io;

	/* acq_rel: was_entered is set again after this, or seen here; pairs
	 * with wf_ring_enters. */
	atomic_exchange_explicit(&io->carrier, vp->carrier,
				 memory_order_acq_rel);
	if (atomic_exchange_explicit(&io->was_entered, false,
				     memory_order_relaxed) ||
	    io->last_carrier != vp->carrier)
		begin_era(vp);
	if (io->move_ns != 0 && wf_os_now() >= io->move_ns)
		move_some(vp);
	if (io->move_ns != 0)
		wf_store_relaxed(&io->carrier, NULL); /* look again */
}

void wf_ring_wait_for_moves(struct wf_vp_io *io)
{
	const struct timespec nap = { 0, 50 * WF_NS_PER_US };

	wf_fence_seq_cst(); /* M3: after the use was counted */
	while (wf_load_acquire(&io->is_moving))
		wf_sys(SYS_nanosleep, &nap, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * Each VP has a ring. A thread pushes requests on the ring of its VP and parks.
 * The owner of the VP takes the completions at its scheduling points.
 *
 * IO_RING-1. Only the owner of the VP pushes and takes, with in_runtime set.
 *     Entries are published at once, so that any thread can make the kernel
 *     submit them (wf_ring_flush, wf_ring_cancel).
 * IO_RING-2. vp->nr_requests counts the requests that are pushed and not yet
 *     taken. The owner changes it and the monitor reads it. If a carrier sleeps
 *     in the kernel and its VP has requests, the monitor takes the VP.
 * IO_RING-3. The memory of a request belongs to its thread, which continues as
 *     soon as *nr_done says so. Nothing is read from the request after that.
 * IO_RING-4. A write to an eventfd, which the ring polls, wakes a sleeping
 *     owner. The owner sets sleeps_in_ring before it enters the idle list
 *     (sched/idle.h, IDLE-2). So a thread that takes the VP out of the list
 *     reads how it sleeps.
 * IO_RING-5. The owner submits requests when the VP has nothing to run: SOME at
 *     a time, the oldest first. It submits all requests when a CPU-bound thread
 *     begins to run, when MOST_PUSHED have come together, or after a number of
 *     scheduling points (enum wf_starvation). Work that the kernel still has
 *     for requests (IORING_SQ_TASKRUN) is done in the carrier's next system
 *     call of any kind, or at the same points.
 * IO_RING-6. A VP makes its ring at its first request. So a program in which no
 *     thread waits for a descriptor has no descriptor of weft's.
 * IO_RING-7. Most sleeps of a busy server are short, and most end by an
 *     unchecked request. So before it sleeps the owner checks only the FEW
 *     oldest. If more are left, it naps for NAP_NS and then checks all. During
 *     the nap unchecked requests do not count as waiting work.
 * IO_RING-8. On a busy server data has often come by the time of the
 *     submission, since other threads run first. If half of the submitted
 *     requests were done at once, the next receives try before they wait: a
 *     wait costs more than a receive.
 * IO_RING-9. The kernel completes a request in the kernel thread that has
 *     submitted it. If that sleeps, as for a disk, the VP would not get the
 *     completion. So a VP's requests follow it to its new carrier
 *     (io/backend/migrate.c). The first carrier that sleeps in the ring renews
 *     the poll that ends sleeps.
 *
 * Rejected: to submit all requests when a VP has nothing to run. No thread
 * answers their data meanwhile, so the peers run dry and sleep.
 */
#include "io/backend/ring.h"

#include <errno.h>
#include <poll.h>

#include "base/log.h"
#include "io/backend/nonblock.h"
#include "io/backend/ring_internal.h"
#include "io/file/descriptor.h"
#include "os/clock.h"
#include "os/futex.h"
#include "os/mem.h"
#include "os/sys.h"
#include "os/uring.h"
#include "sched/vp_io.h"

enum {
	/*
	 * With thousands of connections a VP always has threads to run, so
	 * requests collect. If one system call submits many, more of them find
	 * data at once.
	 */
	MOST_PUSHED = 128,
	/*
	 * Fewer requests in each system call make a request measurably dearer.
	 * More have another cost: when the kernel frees 32 packets of another
	 * CPU in a row, it interrupts that CPU. Under a hypervisor that takes
	 * tens of microseconds.
	 */
	SOME = 28,
	/*
	 * The check of 4 requests costs little more than the timer of a nap.
	 * All requests are checked soon, unless new ones come at each sleep.
	 */
	FEW = 4,
	/*
	 * The program may make a descriptor non-blocking in a way that weft
	 * does not see. Its waiting thread notices that after one nap at most.
	 * Few sleeps are longer than this.
	 */
	NAP_NS = 10 * WF_NS_PER_MS,
};

struct wf_rings wf_rings;

/* --- taking -------------------------------------------------------------- */

/*
 * After wf_ring_end the completions are those of cancelled requests, and their
 * threads would run these again. So the caller waits for the exit of the
 * process. If the process still runs after 10 ms, the threads may run the
 * requests again.
 */
static WF_COLD void wait_for_exit(void)
{
	struct timespec pause = { 0, 10 * WF_NS_PER_MS };

	while (wf_sys(SYS_nanosleep, &pause, &pause) == -EINTR)
		;
	wf_store_relaxed(&wf_rings.are_ending, false);
}

static void count(struct wf_vp *vp, int by)
{
	wf_store_relaxed(&vp->nr_requests,
			 wf_load_relaxed(&vp->nr_requests) + (uint32_t)by);
}

/* The owner of vp wakes threads. Returns the `me` argument for these wakes. */
static struct wf_thread *idle_self(struct wf_vp *vp)
{
	struct wf_thread *me = &vp->carrier->idle_self;

	me->vp = vp;
	return me;
}

void wf_ring_take(struct wf_vp *vp, struct wf_request *r, int result)
{
	struct wf_thread *me = idle_self(vp);

	count(vp, -1);
	if (r->is_unchecked)
		wf_nonblock_drop(&vp->io->nonblock, r);
	wf_request_complete(me, r, result); /* IO_RING-3 */
}

/*
 * Takes the completion of a request that was given up, or of the poll that ends
 * sleeps.
 */
static WF_COLD void take_other(struct wf_vp_io *io,
			       const struct io_uring_cqe *cqe)
{
	bool is_wake = (uint32_t)cqe->user_data == WF_RING_WAKE;
	bool is_over = (cqe->flags & IORING_CQE_F_MORE) == 0;

	if (is_wake &&
	    cqe->user_data == wf_in_flight_id(&io->in_flight, WF_RING_WAKE)) {
		io->is_wake_armed = !is_over;
		return;
	}
	/* A futex wait that was given up may have been woken: its result is
	 * 0. */
	WF_CHECK(is_wake || cqe->res <= 0,
		 "a request that was given up has been done");
	io->nr_given_up -= is_over;
}

static void take_all(struct wf_vp *vp)
{
	struct wf_vp_io *io = vp->io;
	struct io_uring_cqe cqe;

	if (WF_UNLIKELY(wf_load_relaxed(&wf_rings.are_ending)))
		wait_for_exit();
	while (wf_uring_take_cqe(&io->ring, &cqe)) {
		struct wf_request *r =
			(uint32_t)cqe.user_data != WF_RING_WAKE ?
				wf_in_flight_take(&io->in_flight,
						  cqe.user_data) :
				NULL;

		if (WF_LIKELY(r != NULL))
			wf_ring_take(vp, r, cqe.res);
		else
			take_other(io, &cqe);
	}
}

/* --- pushing ------------------------------------------------------------- */

static int enter(struct wf_vp_io *io, uint32_t most)
{
	int nr = wf_uring_submit(&io->ring, most);

	wf_ring_update_flag(io);
	return nr;
}

/*
 * Returns a free entry. If the kernel accepts no entry, takes completions: the
 * kernel may wait for that.
 */
static struct io_uring_sqe *next_sqe(struct wf_vp *vp)
{
	struct wf_uring *ring = &vp->io->ring;
	struct io_uring_sqe *sqe;

	while ((sqe = wf_uring_next_sqe(ring)) == NULL) {
		if (wf_uring_submit(ring, WF_URING_ALL) < 0)
			take_all(vp);
	}
	return sqe;
}

void wf_ring_push_as(struct wf_vp *vp, struct wf_request *r, uint64_t id)
{
	struct wf_vp_io *io = vp->io;
	struct io_uring_sqe *sqe = next_sqe(vp);

	sqe->opcode = r->op;
	sqe->ioprio = io->finds_data && r->op == IORING_OP_RECV ?
			      r->ioprio & ~IORING_RECVSEND_POLL_FIRST :
			      r->ioprio; /* IO_RING-8 */
	sqe->fd = r->fd;
	sqe->addr = r->addr;
	sqe->len = r->len;
	sqe->off = r->off;
	sqe->addr3 = r->addr3;
	sqe->rw_flags = (int)r->op_flags;
	sqe->user_data = id;
	wf_store_relaxed(&r->ring_id, id);
	wf_uring_push(&io->ring);
}

void wf_ring_push(struct wf_vp *vp, struct wf_request *r)
{
	struct wf_vp_io *io = vp->io;

	r->io = io;
	if (!r->is_unchecked)
		r->fd_generation = wf_descriptor_count_generations(r->fd);
	wf_ring_push_as(vp, r,
			wf_in_flight_add(&io->in_flight, r,
					 vp->carrier->number));
	count(vp, 1);
	wf_count_own(&vp->counters, requests);
	if (r->is_unchecked)
		wf_nonblock_add(idle_self(vp), &io->nonblock, r);
}

void wf_ring_cancel(const struct wf_thread *t, const struct wf_request *r)
{
	struct wf_vp_io *io = r->io;

	/* The kernel finds only submitted requests. */
	if (wf_uring_unsubmitted(&io->ring) > 0) {
		if (t->vp != NULL && t->vp->io == io)
			enter(io, WF_URING_ALL);
		else
			wf_ring_submit_for(io);
	}
	/*
	 * If the kernel no longer has the id, the caller tries again
	 * (REQUEST-2).
	 */
	wf_uring_give_up(&io->ring, wf_load_relaxed(&r->ring_id));
}

/* --- polling ------------------------------------------------------------- */

/*
 * Submits the oldest entries, `most` at most, and takes completions. Returns
 * false if there were none of either. Notes whether many of the requests were
 * done at once, since the next ones then most likely are, too (IO_RING-8).
 */
static bool hand_over(struct wf_vp *vp, uint32_t most)
{
	struct wf_vp_io *io = vp->io;
	uint32_t nr_before = wf_uring_nr_cqes(&io->ring);
	int nr = enter(io, most);
	uint32_t nr_done = wf_uring_nr_cqes(&io->ring) - nr_before;

	io->nr_polls = 0;
	if (nr > 0) {
		io->finds_data = 2 * nr_done >= (uint32_t)nr;
		io->nr_young += (uint32_t)nr;
	}
	take_all(vp);
	return nr > 0 || nr_before + nr_done > 0;
}

static void age(struct wf_vp *vp)
{
	vp->io->nr_young = 0;
	wf_nonblock_age(idle_self(vp), &vp->io->nonblock);
}

static void poll_requests(struct wf_vp *vp)
{
	struct wf_vp_io *io = vp->io;
	uint32_t nr;

	if (WF_UNLIKELY(wf_ring_is_to_follow(vp)))
		wf_ring_follow(vp);
	if (WF_UNLIKELY(wf_load_relaxed(&io->has_others_flag)))
		wf_ring_update_flag(io);
	nr = wf_uring_unsubmitted(&io->ring);
	io->nr_polls = nr > 0 || wf_uring_wants_enter(&io->ring) ?
			       io->nr_polls + 1 :
			       0;
	/* IO_RING-5; a switch polls twice */
	if (nr >= MOST_PUSHED ||
	    io->nr_polls >= 2 * wf_load_relaxed(&vp->starvation_bound) ||
	    (io->nr_polls > 0 && wf_vp_runs_cpu_bound(vp))) {
		hand_over(vp, WF_URING_ALL);
		age(vp);
	} else if (wf_uring_nr_cqes(&io->ring) > 0) {
		take_all(vp);
	}
}

static void submit(struct wf_vp *vp)
{
	struct wf_uring *ring = &vp->io->ring;

	if (wf_uring_unsubmitted(ring) > 0 || wf_uring_wants_enter(ring))
		enter(vp->io, WF_URING_ALL);
}

static bool submit_some(struct wf_vp *vp)
{
	struct wf_uring *ring = &vp->io->ring;
	bool brings = (wf_uring_unsubmitted(ring) > 0 ||
		       wf_uring_wants_enter(ring)) &&
		      hand_over(vp, SOME);

	/* age only once SOME were submitted: younger ones need no check yet */
	if (vp->io->nr_young >= SOME)
		age(vp);
	return brings;
}

static bool has_done(const struct wf_vp *vp)
{
	return wf_uring_nr_cqes(&vp->io->ring) > 0 ||
	       wf_ring_wants_enter(vp->io);
}

static bool is_waiting(const struct wf_vp *vp)
{
	const struct wf_vp_io *io = vp->io;

	return has_done(vp) || wf_uring_unsubmitted(&io->ring) > 0 ||
	       (wf_nonblock_any(&io->nonblock) && !wf_load_relaxed(&io->naps));
}

static bool settle(struct wf_vp *vp, bool is_idle)
{
	struct wf_vp_io *io = vp->io;
	/* IO_RING-7 */
	uint32_t most = is_idle && !io->has_napped ? FEW : UINT32_MAX;

	io->has_napped = false;
	return wf_nonblock_check_oldest(idle_self(vp), &io->nonblock, most);
}

/* --- sleeping ------------------------------------------------------------ */

/* Returns false if the kernel accepts no entry now. */
static bool arm_wake(struct wf_vp *vp)
{
	struct wf_vp_io *io = vp->io;
	struct wf_in_flight *u = &io->in_flight;
	uint32_t me = vp->carrier->number;
	struct io_uring_sqe *sqe;

	if (io->is_wake_armed && u->rows[WF_RING_WAKE].by == me)
		return true;
	sqe = wf_uring_next_sqe(&io->ring);
	if (sqe == NULL)
		return false;
	if (io->is_wake_armed) { /* IO_RING-9 */
		int err = wf_uring_give_up(&io->ring,
					   wf_in_flight_id(u, WF_RING_WAKE));

		u->rows[WF_RING_WAKE].by = me;
		/* a seccomp filter refuses the call */
		if (err < 0 && err != -ENOENT)
			return true;
		io->nr_given_up++;
	}
	sqe->opcode = IORING_OP_POLL_ADD;
	sqe->fd = io->wake_fd;
	sqe->poll32_events = POLLIN;
	sqe->len = IORING_POLL_ADD_MULTI;
	sqe->user_data = wf_in_flight_renew(u, WF_RING_WAKE, me);
	wf_uring_push(&io->ring);
	io->is_wake_armed = true;
	return true;
}

/*
 * Sleeps until a completion, a wake or the deadline. Takes no completions: this
 * makes no thread runnable.
 */
static void sleep_in_ring(struct wf_vp *vp, int64_t deadline_ns)
{
	struct wf_vp_io *io = vp->io;
	bool naps = wf_nonblock_any(&io->nonblock); /* IO_RING-7 */
	int64_t until_ns = naps ? wf_os_now() + NAP_NS : WF_OS_FOREVER;
	int err;

	if (WF_UNLIKELY(wf_ring_is_to_follow(vp)))
		wf_ring_update_carrier(vp);
	if (io->migrate_ns != 0 && io->migrate_ns < until_ns) {
		naps = false;
		until_ns = io->migrate_ns;
	}
	if (!arm_wake(vp))
		return;
	wf_store_relaxed(&io->naps, naps);
	err = wf_uring_wait(&io->ring,
			    until_ns < deadline_ns ? until_ns : deadline_ns);
	wf_store_relaxed(&io->naps, false);
	wf_ring_update_flag(io);
	io->has_napped = naps && err == -ETIME;
	io->nr_polls = 0;
}

static long write_one(int fd)
{
	uint64_t one = 1;

	return wf_sys(SYS_write, fd, &one, sizeof(one));
}

/*
 * Wakes the sleeping owner by a fresh copy of the eventfd. The caller, as the
 * monitor, has a private descriptor table: in it, wake_fd may still name a
 * descriptor that is being closed (monitor/private_table.c).
 */
static WF_COLD void wake_from_outside(int wake_fd)
{
	enum { TIMES = 4 };
	bool is_closed = true;

	for (int i = 0; i < TIMES && is_closed; i++) {
		long self = wf_sys(SYS_pidfd_open, wf_os_getpid(), 0);
		long copy = wf_sys(SYS_pidfd_getfd, self, wake_fd, 0);

		is_closed = copy == -EBADF || write_one((int)copy) == -EBADF;
		wf_sys(SYS_close, copy);
		wf_sys(SYS_close, self);
	}
}

static void wake(struct wf_vp *vp)
{
	if (write_one(vp->io->wake_fd) == -EBADF)
		wake_from_outside(vp->io->wake_fd);
}

static const struct wf_vp_io_ops ops = {
	.poll = poll_requests,
	.submit = submit,
	.submit_some = submit_some,
	.settle = settle,
	.has_done = has_done,
	.is_waiting = is_waiting,
	.sleep = sleep_in_ring,
	.wake = wake,
};

/* --- starting ------------------------------------------------------------ */

int wf_ring_start(void)
{
	uint32_t nr = wf_sched.nr_vps;

	wf_vp_io_ops = &ops;
	if (wf_rings.by_vp == NULL)
		wf_rings.by_vp = wf_os_reserve(
			wf_align_up(nr * sizeof(*wf_rings.by_vp), WF_PAGE));
	return wf_rings.by_vp != NULL ? 0 : -ENOMEM;
}

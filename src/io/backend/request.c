/* SPDX-License-Identifier: MIT */
/*
 * A thread runs requests: it hands them to its VP's ring, to the watcher or to
 * workers, and parks until one is done. Then it cancels the rest and waits
 * until all have ended.
 *
 * REQUEST-1. A request lies on its thread's stack and points to the program's
 *     memory. The thread neither continues nor runs a handler, which might not
 *     return, before the request is done.
 * REQUEST-2. If the wait ends before the request, the thread asks the kernel to
 *     cancel it. It then waits for its completion without a limit, and the
 *     request's result counts: no byte that was read is lost.
 * REQUEST-3. The completing thread changes *nr_done last (io/backend/ring.c,
 *     IO_RING-3).
 * REQUEST-4. Without a ring the thread sets WAIT in *nr_done before it parks.
 *     The exchange that counts a request as done returns whether a thread has
 *     to be woken. A request that is done by then costs no wake. Before it
 *     parks, the thread also checks the status of its worker, so that the
 *     worker need not report (io/backend/worker.c, WORKER-6).
 * REQUEST-5. One call's requests are all in one ring, or none is in any.
 * REQUEST-6. Only the owner of a ring counts and refuses the requests in it. So
 *     *nr_done has one writer, which needs no exchange, but has to check for a
 *     waiting thread each time.
 */
#include "io/backend/request.h"
#include "io/backend/attempt.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <stdbool.h>

#include "base/upcall.h"
#include "io/backend/nonblock.h"
#include "io/backend/ring.h"
#include "io/backend/watcher.h"
#include "io/backend/worker.h"
#include "os/clock.h"
#include "sched/runtime.h"
#include "sched/vp_io.h"
#include "wait/ufutex_internal.h"

static bool is_done(const struct wf_request *r)
{
	return wf_load_relaxed(&r->is_done);
}

/* Was r cancelled before it did anything? */
static bool was_ended(const struct wf_request *r)
{
	return r->result == -ECANCELED || r->result == -EINTR;
}

/* REQUEST-3. Adds `by` to *nr_done; nothing of r is read after that. */
static void report(struct wf_thread *me, const struct wf_request *r,
		   uint32_t by)
{
	_Atomic uint32_t *nr_done = r->nr_done;
	bool has_ring = r->io != NULL;
	uint32_t before = wf_load_relaxed(nr_done);

	/*
	 * Release: the result and the kernel's data; pairs with nr_done_of and
	 * begin_wait.
	 */
	if (WF_LIKELY(has_ring))
		wf_store_release(nr_done, before + by); /* REQUEST-6 */
	else
		before = atomic_fetch_add_explicit(nr_done, by,
						   memory_order_acq_rel);
	if (has_ring || (before & WF_REQUEST_WAIT) != 0) /* REQUEST-4 */
		wf_ufutex_wake_first(me, nr_done);
}

void wf_request_complete(struct wf_thread *me, struct wf_request *r, int result)
{
	r->result = result;
	wf_store_relaxed(&r->is_done, true);
	report(me, r, 1);
}

void wf_request_refuse(struct wf_thread *me, struct wf_request *r)
{
	/* At most once: r is the only request of its call. */
	report(me, r, WF_REQUEST_REFUSED);
}

static uint32_t nr_done_of(_Atomic uint32_t *nr_done)
{
	/* acquire: pairs with wf_request_complete. */
	return wf_load_acquire(nr_done) & ~WF_REQUEST_BITS;
}

/* REQUEST-4. Returns the value for which the thread waits in *nr_done. */
static uint32_t begin_wait(_Atomic uint32_t *nr_done, bool has_ring)
{
	if (has_ring)
		return wf_load_acquire(nr_done); /* REQUEST-6: as nr_done_of */
	return atomic_fetch_or(nr_done, WF_REQUEST_WAIT) | WF_REQUEST_WAIT;
}

/* Pushes r to the watcher or to a worker, where there is no ring. */
static int push_outside(struct wf_thread *t, struct wf_request *r)
{
	r->io = NULL;
	wf_store_relaxed(&r->pinned_fd, -1);
	wf_store_relaxed(&r->worker, 0);
	r->is_repeated = false;
	if (r->is_unchecked && wf_nonblock_is_refused(r)) {
		wf_request_refuse(t, r);
		wf_request_complete(t, r, -ECANCELED);
		return 0;
	}
	if (wf_attempt_serves(r))
		return wf_watcher_push(t, r);
	return wf_worker_handles(r) ? wf_worker_push(r, WF_WORKER_YET) :
				      -ENOSYS;
}

/*
 * REQUEST-4, for requests of workers. Each request that is done is completed
 * here; its worker will report any other.
 */
static void check_workers(struct wf_thread *t, struct wf_request *r,
			  uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		if (r[i].io == NULL && wf_worker_handles(&r[i]))
			wf_worker_check(t, &r[i]);
	}
}

static void cancel(struct wf_thread *t, struct wf_request *r)
{
	if (r->io != NULL)
		wf_ring_cancel(t, r);
	else if (wf_attempt_serves(r))
		wf_watcher_cancel(t, r);
	else
		wf_worker_cancel(r);
}

/* Returns the number of requests that were pushed. */
static uint32_t push_all(struct wf_thread *t, struct wf_request *r, uint32_t nr,
			 _Atomic uint32_t *nr_done, bool has_ring)
{
	for (uint32_t i = 0; i < nr; i++) {
		wf_store_relaxed(&r[i].is_done, false);
		r[i].nr_done = nr_done;
		if (has_ring)
			wf_ring_push(t->vp, &r[i]);
		else if (push_outside(t, &r[i]) < 0)
			return i;
	}
	return nr;
}

/*
 * REQUEST-2. Cancels the requests that are not done and waits for them. Cancels
 * repeatedly, after pauses from 1 ms to about 1 s. The kernel does not find a
 * request that it is just starting again, and a worker may not have begun the
 * call.
 */
static void end_all(struct wf_thread *t, struct wf_request *r, uint32_t nr,
		    _Atomic uint32_t *nr_done)
{
	bool has_ring = nr > 0 && r->io != NULL;
	int64_t pause_ns = WF_NS_PER_MS;

	while (nr_done_of(nr_done) != nr) {
		int err;

		for (uint32_t i = 0; i < nr; i++) {
			if (!is_done(&r[i]))
				cancel(t, &r[i]);
		}
		wf_vp_io_poll(t->vp);
		do {
			uint32_t word = begin_wait(nr_done, has_ring);

			if ((word & ~WF_REQUEST_BITS) == nr)
				break;
			err = wf_ufutex_wait_inside(
				t, nr_done, word, wf_os_now() + pause_ns, true);
		} while (err != -ETIMEDOUT);
		if (pause_ns < WF_NS_PER_S)
			pause_ns *= 2;
	}
}

static int reason_to_end(struct wf_thread *t, int err,
			 const uint32_t *nr_handlers)
{
	if (err == -ETIMEDOUT)
		return err;
	if (wf_load_relaxed(&t->is_cancelled) && wf_upcall.wait_is_cancelled(t))
		return -ECANCELED;
	if (nr_handlers != NULL)
		return t->nr_handlers != *nr_handlers ? -EINTR : -ERESTART;
	return t->interrupted ? -EINTR : -ERESTART;
}

/*
 * Returns true if all the requests go to a ring (REQUEST-5), and makes the ring
 * if there is none. It makes none for a request that avoids rings.
 */
static bool ensure_ring(struct wf_vp *vp, const struct wf_request *r,
			uint32_t nr)
{
	if ((nr > 0 && r->avoids_ring) || wf_ring_ensure(vp) < 0)
		return false;
	/* Kernels before 6.7 have a ring that cannot wait for futexes. */
	return nr == 0 || r->op != WF_RING_OP_FUTEX_WAIT ||
	       !wf_ring_lacks_futex();
}

/*
 * Hands over all requests or none. Not inlined, so that the waiting thread's
 * stack does not have this frame.
 */
static WF_NOINLINE int push_or_end(struct wf_thread *t, struct wf_request *r,
				   uint32_t nr, _Atomic uint32_t *nr_done)
{
	bool has_ring = ensure_ring(t->vp, r, nr);
	uint32_t nr_pushed = push_all(t, r, nr, nr_done, has_ring);

	if (!has_ring)
		check_workers(t, r, nr_pushed);
	if (nr_pushed < nr) {
		end_all(t, r, nr_pushed, nr_done);
		return -ENOSYS;
	}
	wf_vp_io_poll(t->vp);
	return 0;
}

/* Is any of the requests done without having been cancelled? */
static bool is_any_done(const struct wf_request *r, uint32_t nr)
{
	bool any = false;

	for (uint32_t i = 0; i < nr; i++)
		any |= !was_ended(&r[i]);
	return any;
}

WF_INLINE int run_any(struct wf_request *r, uint32_t nr, int64_t deadline_ns,
		      const uint32_t *nr_handlers)
{
	struct wf_thread *t = wf_runtime_enter();
	struct wf_request_wait wait = { 0, nr, r };
	_Atomic uint32_t *nr_done = &wait.nr_done;
	struct wf_request_scope *scope = nr > 0 ? r->scope : NULL;
	bool any;
	uint32_t word;
	int err;

	if (scope != NULL)
		scope->begin(scope);
	t->interrupted = false;
	if (nr_handlers != NULL && t->nr_handlers != *nr_handlers)
		err = -EINTR;
	else if (t->kind != WF_THREAD_MULTIPLEXED || t->vp == NULL)
		err = -ENOSYS; /* bound after many handoffs */
	else
		err = push_or_end(t, r, nr, nr_done);
	if (scope != NULL && scope->handed_over != NULL)
		scope->handed_over(scope);
	if (err < 0) {
		if (scope != NULL)
			scope->end(scope, false);
		wf_runtime_leave(t);
		return err;
	}
	do {
		word = begin_wait(nr_done, nr > 0 && r->io != NULL);
		if ((word & ~WF_REQUEST_WAIT) != 0)
			break;
		err = wf_ufutex_wait_inside(t, nr_done, word, deadline_ns,
					    false);
	} while (nr_done_of(nr_done) == 0 && err == 0);
	end_all(t, r, nr, nr_done); /* REQUEST-1 */
	any = is_any_done(r, nr);
	if (scope != NULL)
		scope->end(scope, any);
	wf_runtime_leave(t);
	if (!any && (wf_load_relaxed(nr_done) & WF_REQUEST_REFUSED) != 0)
		return -EAGAIN;
	return any ? 0 : reason_to_end(t, err, nr_handlers);
}

int wf_request_run_any(struct wf_request *r, uint32_t nr, int64_t deadline_ns,
		       const uint32_t *nr_handlers)
{
	return run_any(r, nr, deadline_ns, nr_handlers);
}

/*
 * run_any is inlined here. So each of many waiting threads has one stack frame
 * less.
 */
int wf_request_run(struct wf_request *r, int64_t deadline_ns)
{
	int err = run_any(r, 1, deadline_ns, NULL);

	return err == 0 ? r->result : err;
}

int wf_request_try(struct wf_thread *t, struct wf_request *r)
{
	struct wf_request_wait wait = { 0, 1, r };

	if (wf_ring_ensure(t->vp) < 0 ||
	    push_or_end(t, r, 1, &wait.nr_done) < 0)
		return -ENOSYS;
	wf_vp_io_submit(t->vp);
	wf_vp_io_poll(t->vp);
	end_all(t, r, 1, &wait.nr_done);
	return was_ended(r) ? -EAGAIN : r->result;
}

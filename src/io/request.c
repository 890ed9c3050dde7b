/*
 * X1. A request lies on its thread's stack and points to the program's memory.
 *     The thread neither goes on nor runs a handler, which might not return,
 *     before the request is done.
 * X2. A wait that ends otherwise asks the kernel to give the request up, and
 *     then waits firmly for its end, whose result counts: no byte that was
 *     read is lost.
 * X3. Whoever completes a request changes *nr_done last (io/ring.c, G3).
 */
#include "io/request.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <stdbool.h>

#include "io/ring.h"
#include "os/clock.h"
#include "sched/runtime.h"
#include "sched/vp_io.h"
#include "wait/ufutex.h"
#include "wait/ufutex_internal.h"

static bool is_done(const struct wf_request *r)
{
	return wf_load_relaxed(&r->is_done);
}

/* Given up before anything came of it? */
static bool was_ended(const struct wf_request *r)
{
	return r->result == -ECANCELED || r->result == -EINTR;
}

static void push_all(struct wf_thread *t, struct wf_request *r, uint32_t nr,
		     _Atomic uint32_t *nr_done)
{
	for (uint32_t i = 0; i < nr; i++) {
		wf_store_relaxed(&r[i].is_done, false);
		r[i].nr_done = nr_done;
		wf_ring_push(t->vp, &r[i]);
	}
}

/*
 * X2. A request that the kernel is just about to start again is not found, so
 * it is asked for more than once.
 */
static void end_all(struct wf_thread *t, struct wf_request *r, uint32_t nr,
		    _Atomic uint32_t *nr_done)
{
	int64_t pause_ns = WF_NS_PER_MS;
	/* acquire: pairs with the release in io/ring.c. */
	uint32_t seen = wf_load_acquire(nr_done);

	while (seen != nr) {
		for (uint32_t i = 0; i < nr; i++) {
			if (!is_done(&r[i]))
				wf_ring_cancel(&r[i]);
		}
		wf_vp_io_look(t->vp);
		while ((seen = wf_load_acquire(nr_done)) != nr &&
		       wf_ufutex_wait_inside(t, nr_done, seen,
					     wf_os_now() + pause_ns,
					     true) != -ETIMEDOUT)
			;
		if (pause_ns < WF_NS_PER_S)
			pause_ns *= 2;
	}
}

static int reason_to_end(struct wf_thread *t, int err,
			 const uint32_t *nr_handlers)
{
	if (err == -ETIMEDOUT)
		return err;
	if (wf_load_relaxed(&t->is_cancelled) && wf_ufutex_is_cancelled(t))
		return -ECANCELED;
	if (nr_handlers != NULL)
		return t->nr_handlers != *nr_handlers ? -EINTR : -ERESTART;
	return t->interrupted ? -EINTR : -ERESTART;
}

int wf_request_run_any(struct wf_request *r, uint32_t nr, int64_t deadline_ns,
		       const uint32_t *nr_handlers)
{
	struct wf_thread *t = wf_runtime_enter();
	_Atomic uint32_t nr_done = 0;
	bool any = false;
	int err;

	if (nr_handlers != NULL && t->nr_handlers != *nr_handlers) {
		wf_runtime_leave(t);
		return -EINTR;
	}
	err = wf_ring_ensure(t->vp);
	if (err < 0) {
		wf_runtime_leave(t);
		return err;
	}
	t->interrupted = false;
	push_all(t, r, nr, &nr_done);
	wf_vp_io_look(t->vp);
	do {
		err = wf_ufutex_wait_inside(t, &nr_done, 0, deadline_ns, false);
	} while (wf_load_acquire(&nr_done) == 0 && err == 0);
	end_all(t, r, nr, &nr_done); /* X1 */
	wf_runtime_leave(t);
	for (uint32_t i = 0; i < nr; i++)
		any |= !was_ended(&r[i]);
	return any ? 0 : reason_to_end(t, err, nr_handlers);
}

int wf_request_run(struct wf_request *r, int64_t deadline_ns)
{
	int err = wf_request_run_any(r, 1, deadline_ns, NULL);

	return err == 0 ? r->result : err;
}

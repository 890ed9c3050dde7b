/* SPDX-License-Identifier: MIT */
/*
 * Requests that a thread waits for without holding its VP. Its VP's ring
 * carries them out; where there is none, kernel threads do (io/watcher.h,
 * io/worker.h).
 *
 *     struct wf_request r = { .op = IORING_OP_RECV, .fd = fd,
 *                             .addr = (uintptr_t)buf, .len = bytes };
 *     int n = wf_request_run(&r, WF_FOREVER);
 *
 * The fields have the meaning that the entry of io_uring gives them.
 */
#ifndef WEFT_IO_REQUEST_H
#define WEFT_IO_REQUEST_H

#include <stdint.h>

#include "base/atomic.h"
#include "base/list.h"

struct wf_vp_io;
struct wf_thread;

/* Any system call: addr is its struct wf_call (io/call.h), avoids_ring set. */
enum { WF_REQUEST_OP_CALL = 255 };

/*
 * Of one call's requests: what is done just before they are handed over, just
 * after that (NULL: nothing), and when all are done (has one come to its end by
 * itself?). In the runtime, so that no handler runs in between; none may block.
 */
struct wf_request_scope {
	void (*begin)(struct wf_request_scope *scope);
	void (*end)(struct wf_request_scope *scope, bool is_done);
	void (*handed_over)(struct wf_request_scope *scope);
};

struct wf_request {
	uint8_t op; /* enum io_uring_op */
	int fd;
	uint64_t addr;
	uint32_t len;
	uint64_t off; /* or the second address */
	uint64_t addr3;
	uint32_t op_flags; /* msg_flags, rw_flags, poll32_events, ... */
	uint16_t ioprio;
	bool avoids_ring; /* which would do something else */
	/* The O_NONBLOCK check is deferred (io/nonblock.h). */
	bool is_unchecked;
	struct wf_request_scope *scope; /* of the first; or NULL */
	/* wf_descriptor_generation when the call began; if it is not
	 * is_unchecked, when a ring got it. */
	uint32_t fd_generation;

	uint32_t unchecked_row; /* io/nonblock.c */
	int32_t result;		/* >= 0 or -Exxx, once it is done */
	_Atomic bool is_done;
	_Atomic uint32_t *nr_done; /* of those run together; waited on */
	struct wf_vp_io *io;	   /* where it was pushed; NULL: no ring */
	_Atomic uint64_t ring_id;  /* there; io/in_flight.h */

	/* Without a ring. */
	_Atomic uint32_t worker; /* number + 1 of the one that carries it out */
	bool is_repeated;	 /* its first worker was lost in the call */
	struct wf_list watcher_link; /* io/watcher.c; so are the others */
	uint8_t watcher_state;
	uint8_t nr_futile;
	int nr_bytes; /* received so far */
	/* A duplicate of fd, which has been closed; or -1. */
	_Atomic int pinned_fd;
};

/* In *nr_done, beside the number: */
#define WF_REQUEST_WAIT (1U << 31)    /* the thread waits for a change of it */
#define WF_REQUEST_REFUSED (1U << 30) /* the thread is not to wait */
#define WF_REQUEST_BITS (WF_REQUEST_WAIT | WF_REQUEST_REFUSED)

/*
 * Runs it to its end, or to the deadline (os/deadline.h). The caller is a
 * multiplexed thread with in_runtime 0. Returns the result, or
 *   -ETIMEDOUT  the deadline passed and nothing had been done
 *   -EINTR      a handler without SA_RESTART ran and nothing had been done
 *   -ERESTART   interrupted otherwise and nothing had been done: run it again,
 *               unless any handler ends the call
 *   -ECANCELED  the thread is to end; nothing had been done
 *   -EAGAIN     is_unchecked, the descriptor is non-blocking; nothing was done
 *   -ENOSYS     it cannot wait so; nothing has been done
 * What was done meanwhile is always reported.
 */
int wf_request_run(struct wf_request *r, int64_t deadline_ns);

/*
 * Runs nr requests together until one is done, then ends the others; nr may be
 * 0. Any handler that runs after *nr_handlers (struct wf_thread) was read ends
 * it; NULL is as wf_request_run. Returns 0 if one was done by itself, else as
 * wf_request_run.
 */
int wf_request_run_any(struct wf_request *r, uint32_t nr, int64_t deadline_ns,
		       const uint32_t *nr_handlers);

/*
 * Hands r to the ring of t's VP, and gives it up at once if it waits: returns
 * its result, -EAGAIN if so, -ENOSYS if there is no ring. t is the caller, in
 * the runtime.
 */
int wf_request_try(struct wf_thread *t, struct wf_request *r);

/*
 * r has come to its end; its memory may be gone when this returns. `me` as in
 * wf_ready_woken.
 */
void wf_request_complete(struct wf_thread *me, struct wf_request *r,
			 int result);

/* The program made r's descriptor non-blocking. `me` as in wf_ready_woken. */
void wf_request_refuse(struct wf_thread *me, struct wf_request *r);

static inline int wf_request_fd(const struct wf_request *r)
{
	int pinned = wf_load_relaxed(&r->pinned_fd);

	return pinned >= 0 ? pinned : r->fd;
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Requests: operations that a thread waits for without its VP. The ring of the
 * VP carries them out. Without a ring, kernel threads do (io/backend/watcher.h,
 * io/backend/worker.h).
 *
 *     struct wf_request r = { .op = IORING_OP_RECV, .fd = fd,
 *                             .addr = (uintptr_t)buf, .len = bytes };
 *     int n = wf_request_run(&r, WF_FOREVER);
 *
 * The fields have the meaning that the entry of io_uring gives them.
 */
#ifndef WEFT_IO_BACKEND_REQUEST_H
#define WEFT_IO_BACKEND_REQUEST_H

#include <stdint.h>

#include "base/atomic.h"
#include "base/list.h"

struct wf_vp_io;
struct wf_thread;

/*
 * The operation for any system call: addr points to its struct wf_call
 * (io/backend/call.h), and avoids_ring is set.
 */
enum { WF_REQUEST_OP_CALL = 255 };

/*
 * Functions that run for the requests of one call. `begin` runs just before the
 * requests are handed over. `handed_over` runs just after that, and may be
 * NULL. `end` runs when all are done; is_done says whether at least one
 * completed without being cancelled. They run in the runtime, so that no
 * handler runs in between, and must not block.
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
	uint64_t off; /* offset, or second address */
	uint64_t addr3;
	uint32_t op_flags; /* msg_flags, rw_flags, poll32_events, ... */
	uint16_t ioprio;
	bool avoids_ring; /* a ring would do something else */
	/* the O_NONBLOCK check is deferred (io/backend/nonblock.h) */
	bool is_unchecked;
	/* only that of the first request counts; or NULL */
	struct wf_request_scope *scope;
	/*
	 * wf_descriptor_generation: if is_unchecked is set, when the call
	 * began; else when the request was pushed on a ring.
	 */
	uint32_t fd_generation;

	uint32_t unchecked_row; /* io/backend/nonblock.c */
	int32_t result;		/* >= 0 or -Exxx; valid once is_done */
	_Atomic bool is_done;
	/* counts the completed requests of the call; the thread waits on it */
	_Atomic uint32_t *nr_done;
	/* the ring that it was pushed on; NULL: none */
	struct wf_vp_io *io;
	_Atomic uint64_t ring_id; /* its id in that ring; io/file/in_flight.h */

	/* The rest is for requests without a ring. */
	_Atomic uint32_t worker; /* number + 1 of its worker; 0: none yet */
	/* its first worker was killed during the call */
	bool is_repeated;
	/* io/backend/watcher.c; the next three, too */
	struct wf_list watcher_link;
	uint8_t watcher_state;
	uint8_t nr_futile;
	int nr_bytes; /* bytes received so far */
	/* a duplicate of fd if fd has been closed, else -1 */
	_Atomic int pinned_fd;
};

/*
 * One wait of a thread for requests. It lies in the thread's frame, and a
 * reader outside the process finds it by the address that the thread waits for.
 */
struct wf_request_wait {
	_Atomic uint32_t nr_done; /* as in struct wf_request */
	uint32_t nr;
	const struct wf_request *requests;
};

/* Bits of *nr_done beside the number: */
/* The thread waits for a change of the word. */
#define WF_REQUEST_WAIT (1U << 31)
#define WF_REQUEST_REFUSED (1U << 30) /* the descriptor is non-blocking */
#define WF_REQUEST_BITS (WF_REQUEST_WAIT | WF_REQUEST_REFUSED)

/*
 * Runs r until it is done or until the deadline (os/deadline.h). The caller is
 * a multiplexed thread with in_runtime 0. Returns the result, or
 *
 *     -ETIMEDOUT  the deadline passed and nothing had been done
 *     -EINTR      a handler without SA_RESTART ran and nothing had been done
 *     -ERESTART   interrupted otherwise and nothing had been done: the caller
 *                 runs r again, unless any handler ends its call
 *     -ECANCELED  the thread is cancelled; nothing had been done
 *     -EAGAIN     is_unchecked, and the descriptor is non-blocking: not done
 *     -ENOSYS     neither a ring nor a worker can run r; nothing was done
 *
 * If a part has been done when the wait ends, the part's result is returned.
 */
int wf_request_run(struct wf_request *r, int64_t deadline_ns);

/*
 * Runs nr requests together until one is done, then cancels the rest; nr may be
 * 0. With nr_handlers, any handler that runs after *nr_handlers (struct
 * wf_thread) was read ends the wait. With NULL, handlers act as in
 * wf_request_run. Returns 0 if one request was done without being cancelled,
 * else as wf_request_run.
 */
int wf_request_run_any(struct wf_request *r, uint32_t nr, int64_t deadline_ns,
		       const uint32_t *nr_handlers);

/*
 * Hands r to the ring of t's VP and cancels it at once if it would wait.
 * Returns its result; -EAGAIN if it was cancelled; -ENOSYS if there is no ring.
 * t is the calling thread, in the runtime.
 */
int wf_request_try(struct wf_thread *t, struct wf_request *r);

/*
 * r is done with `result`. Its memory may be gone when this returns. `me` as in
 * wf_ready_woken.
 */
void wf_request_complete(struct wf_thread *me, struct wf_request *r,
			 int result);

/*
 * The descriptor of r is non-blocking, so its thread may not wait. `me` as in
 * wf_ready_woken.
 */
void wf_request_refuse(struct wf_thread *me, struct wf_request *r);

static inline int wf_request_fd(const struct wf_request *r)
{
	int pinned = wf_load_relaxed(&r->pinned_fd);

	return pinned >= 0 ? pinned : r->fd;
}

#endif

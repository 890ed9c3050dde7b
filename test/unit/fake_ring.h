/* SPDX-License-Identifier: MIT */
/*
 * One VP with a real ring, and requests without threads. The test is the owner
 * of the VP.
 */
#ifndef FAKE_RING_H
#define FAKE_RING_H

#include "base/options.h"
#include "io/backend/ring.h"
#include "io/backend/ring_internal.h"
#include "sched/carrier.h"
#include "sched/vp_io.h"

static struct wf_carrier carrier;
static struct wf_vp vp = { .carrier = &carrier };

struct wf_options wf_options;
__thread struct wf_thread *wf_self;

/* No request is refused in these tests. */
void wf_request_refuse(struct wf_thread *me, struct wf_request *r)
{
	fail();
}

void wf_request_complete(struct wf_thread *me, struct wf_request *r, int result)
{
	r->result = result;
	wf_store_relaxed(&r->is_done, true);
}

static int start(void **state)
{
	carrier.idle_self.carrier = &carrier;
	wf_self = &carrier.idle_self;
	wf_sched.vps = &vp;
	wf_sched.nr_vps = 1;
	wf_store_relaxed(&vp.starvation_bound, WF_STARVATION_MOST);
	return wf_ring_start();
}

/*
 * Pushes a receive. Returns whether the kernel waits for data before it tries.
 */
static bool push_receive(struct wf_request *receive, int fd, char *byte)
{
	const struct wf_uring *ring = &vp.io->ring;
	uint32_t tail = wf_load_relaxed(ring->sq_tail);

	*receive = (struct wf_request){ .op = IORING_OP_RECV,
					.fd = fd,
					.ioprio = IORING_RECVSEND_POLL_FIRST,
					.addr = (uintptr_t)byte,
					.len = 1 };
	wf_ring_push(&vp, receive);
	return (ring->sqes[tail & ring->sq_mask].ioprio &
		IORING_RECVSEND_POLL_FIRST) != 0;
}

#endif

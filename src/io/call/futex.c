/* SPDX-License-Identifier: MIT */
/*
 * Waits for a futex that other processes may wake. A thread parks, and its VP's
 * ring or a worker waits in the kernel's queue of the word. A bound thread
 * waits there itself, by a call that also waits for the word by which signals
 * and cancellation end the wait. If neither is possible the thread makes the
 * plain system call, and its carrier blocks.
 */
#include "io/call/futex.h"

#include <errno.h>
#include <linux/futex.h>

#include "io/backend/request.h"
#include "io/backend/ring.h"
#include "io/backend/worker.h"
#include "io/io.h"
#include "os/futex.h"
#include "sched/runtime.h"
#include "signal/sigwait.h"
#include "wait/ufutex.h"

/* FUTEX2_SIZE_U32 of Linux 6.7, which older headers lack. */
enum { FLAG_U32 = 2 };

bool wf_io_can_wait_futex(void)
{
	return wf_io_can_park();
}

/*
 * Does the calling thread wait in the kernel? A bound thread does, where
 * signals and cancellation can end that wait.
 */
static bool waits_in_kernel(void)
{
	return wf_self != NULL && wf_self->kind == WF_THREAD_BOUND &&
	       wf_os_futex_can_wait_beside();
}

bool wf_io_will_wait_futex(void)
{
	struct wf_thread *t;
	bool will_wait = false;

	if (waits_in_kernel())
		return true;
	if (!wf_io_can_wait_futex())
		return false;
	t = wf_runtime_enter();
	if (t->kind == WF_THREAD_MULTIPLEXED && t->vp != NULL)
		will_wait = (wf_ring_ensure(t->vp) == 0 &&
			     !wf_ring_lacks_futex()) ||
			    wf_worker_is_free();
	wf_runtime_leave(t);
	return will_wait;
}

/* The wait of other threads: in a ring or on a worker. */
static int wait_elsewhere(struct wf_request *r, int64_t deadline_ns)
{
	int rc = wf_io_can_wait_futex() ? wf_request_run(r, deadline_ns) :
					  -ENOSYS;

	/* All workers are busy, or the ring does not know the operation. */
	if (rc == -ENOSYS || rc == -EINVAL)
		rc = wf_os_futex_wait_bits((const void *)r->addr, 0,
					   (uint32_t)r->off, (uint32_t)r->addr3,
					   deadline_ns);
	return rc;
}

int wf_io_futex_wait(const void *word, uint32_t expected, uint32_t bits,
		     int64_t deadline_ns)
{
	struct wf_request r = {
		.op = WF_RING_OP_FUTEX_WAIT,
		.fd = FLAG_U32,
		.addr = (uintptr_t)word,
		.off = expected,
		.addr3 = bits,
	};
	int rc;

	if (bits == FUTEX_BITSET_MATCH_ANY && waits_in_kernel())
		rc = wf_ufutex_wait_shared(word, expected, deadline_ns);
	else
		rc = wait_elsewhere(&r, deadline_ns);
	wf_signal_take_preceding();
	return rc;
}

/* SPDX-License-Identifier: MIT */
/*
 * Makes the ring of a VP at the VP's first request (IO_RING-6 in
 * io/backend/ring.c), if the kernel, its administrator and the limits permit
 * it. A refusal that may pass, as a lack of memory or descriptors, holds for
 * one request. After any other refusal no VP tries again.
 */
#include <errno.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

#include "base/options.h"
#include "io/backend/ring_internal.h"
#include "io/file/private_fd.h"
#include "os/fallback.h"
#include "os/mem.h"
#include "os/sys.h"
#include "os/uring.h"

enum {
	NR_ENTRIES = 512,
	FIRST_ROWS = 1024, /* whole pages */
};

static _Atomic bool lacks_futex;

/* Leaves three quarters of the descriptors to the program. */
static bool has_room(void)
{
	struct rlimit limit;

	return wf_sys(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &limit) < 0 ||
	       2 * (rlim_t)wf_sched.nr_vps <= limit.rlim_cur / 4;
}

static int make_io(struct wf_vp_io *io)
{
	int err = has_room() ? wf_uring_init(&io->ring, NR_ENTRIES,
					     WF_PRIVATE_FD_HIGH) :
			       -ENOSYS;

	if (err < 0)
		return err;
	if (!wf_uring_suffices(&io->ring)) {
		wf_uring_destroy(&io->ring);
		return -ENOSYS;
	}
	if (!wf_uring_has_ops(&io->ring,
			      (const uint8_t[]){ WF_RING_OP_FUTEX_WAIT }, 1))
		wf_store_relaxed(&lacks_futex, true);
	io->wake_fd = (int)wf_sys(SYS_eventfd2, 0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (io->wake_fd < 0) {
		wf_uring_destroy(&io->ring);
		return io->wake_fd;
	}
	io->wake_fd = wf_uring_move_high(io->wake_fd, WF_PRIVATE_FD_HIGH);
	return 0;
}

/* Makes the first rows, or twice as many as before. Returns 0 or -ENOMEM. */
static WF_COLD int make_rows(struct wf_in_flight *u)
{
	size_t bytes = wf_in_flight_bytes(u);
	size_t more = bytes != 0 ? 2 * bytes : FIRST_ROWS * sizeof(*u->rows);
	void *rows = wf_os_regrow(u->rows, bytes, more);

	if (rows == NULL)
		return -ENOMEM;
	u->rows = rows;
	u->nr_rows = (uint32_t)(more / sizeof(*u->rows));
	return 0;
}

static bool has_rows(const struct wf_vp *vp)
{
	enum { MOST_OF_A_CALL = 64 };

	return wf_load_relaxed(&vp->nr_requests) + MOST_OF_A_CALL <
	       vp->io->in_flight.nr_rows;
}

void wf_rings_refuse(void)
{
	wf_store_relaxed(&wf_rings.are_refused, true);
	wf_fallback_note(WF_FALLBACK_IO_URING);
}

bool wf_ring_is_refused(void)
{
	return wf_options.io != WF_IO_URING ||
	       wf_load_relaxed(&wf_rings.are_refused);
}

int wf_ring_ensure(struct wf_vp *vp)
{
	struct wf_vp_io *io;
	int err;

	if (WF_LIKELY(vp->io != NULL))
		return !wf_load_relaxed(&wf_rings.are_refused) &&
				       (has_rows(vp) ||
					make_rows(&vp->io->in_flight) == 0) ?
			       0 :
			       -ENOSYS;
	if (wf_ring_is_refused() || wf_rings.by_vp == NULL)
		return -ENOSYS;
	io = &wf_rings.by_vp[vp->id];
	err = io->in_flight.rows != NULL ? 0 : make_rows(&io->in_flight);
	if (err == 0)
		err = make_io(io);
	if (err < 0) {
		/*
		 * these resources may be free later: the next request tries
		 * again
		 */
		if (err != -EMFILE && err != -ENFILE && err != -ENOMEM)
			wf_rings_refuse();
		return -ENOSYS;
	}
	io->last_carrier = vp->carrier;
	wf_store_relaxed(&io->carrier, vp->carrier);
	vp->io = io;
	/* release: the descriptors, for threads that walk all rings */
	wf_store_release(&io->is_made, true);
	return 0;
}

bool wf_ring_lacks_futex(void)
{
	return wf_load_relaxed(&lacks_futex);
}

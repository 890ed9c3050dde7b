/* SPDX-License-Identifier: MIT */
/*
 * Operations on the rings of all VPs. They are for descriptors that are about
 * to be closed, for numbers that the program wants, for the process's end, and
 * for fork. Any thread may call them, so they find the rings through is_made.
 * IO_RING-1 to IO_RING-9 are in io/backend/ring.c.
 */
#include "io/backend/ring.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>

#include "io/backend/ring_internal.h"
#include "os/clock.h"
#include "os/fallback.h"
#include "os/mem.h"
#include "os/sys.h"
#include "sched/carrier.h"

/* The ring of VP i, or NULL if it has made none. */
static struct wf_vp_io *made(uint32_t i)
{
	struct wf_vp_io *io = &wf_rings.by_vp[i];

	/* acquire: pairs with wf_ring_ensure. */
	return wf_load_acquire(&io->is_made) ? io : NULL;
}

static uint32_t nr_rings(void)
{
	return wf_rings.by_vp != NULL ? wf_sched.nr_vps : 0;
}

static bool has_requests(uint32_t i)
{
	return wf_load_relaxed(&wf_sched.vps[i].nr_requests) > 0;
}

/*
 * Makes the kernel submit the entries that name the numbers. If the kernel has
 * no memory for that (EAGAIN), naps and tries again. A kernel thread that may
 * exit leaves this to the owner: the kernel cancels at its exit all requests
 * that it has submitted.
 */
static void submit_named(struct wf_vp_io *io, unsigned int first,
			 unsigned int last)
{
	enum { MOST_NAPS = 1000 };
	const struct timespec nap = { 0, WF_NS_PER_MS };
	int naps = 0;

	wf_ring_wait_for_migration(io);
	while (wf_uring_names(&io->ring, first, last) && naps < MOST_NAPS) {
		if (!wf_carrier_may_exit() && wf_ring_submit_for(io) > 0)
			continue;
		wf_sys(SYS_nanosleep, &nap, NULL);
		naps++;
	}
}

/*
 * Submits only the entries that name the numbers: programs close files often,
 * and other requests wait for their time (IO_RING-5).
 */
void wf_ring_flush(unsigned int first, unsigned int last)
{
	for (uint32_t i = 0; i < nr_rings(); i++) {
		struct wf_vp_io *io = made(i);

		if (io != NULL)
			submit_named(io, first, last);
	}
}

/*
 * Cancels all requests, so that they end with the kernel threads that submitted
 * them, before the process has ended. Otherwise the kernel cancels them when it
 * destroys the ring, some time after the end. Until then the sockets keep their
 * ports.
 */
void wf_ring_end(void)
{
	wf_store_relaxed(&wf_rings.are_ending, true);
	for (uint32_t i = 0; i < nr_rings(); i++) {
		struct wf_vp_io *io = made(i);

		if (io != NULL && has_requests(i))
			wf_uring_cancel_all(&io->ring);
	}
}

bool wf_ring_give_up(void)
{
	bool any = false;

	wf_rings_refuse();
	for (uint32_t i = 0; i < nr_rings(); i++) {
		struct wf_vp_io *io = made(i);

		if (io == NULL || !has_requests(i))
			continue;
		any = true;
		submit_named(io, 0, UINT_MAX);
		wf_uring_cancel_all(&io->ring);
	}
	return any;
}

void wf_ring_keep_on(void)
{
	wf_store_relaxed(&wf_rings.are_refused, false);
	wf_fallback_forget(WF_FALLBACK_IO_URING);
}

void wf_ring_dismiss(void)
{
	for (uint32_t i = 0; i < nr_rings(); i++) {
		struct wf_vp_io *io = made(i);

		if (io != NULL)
			wf_uring_destroy(&io->ring);
	}
}

void wf_ring_fork_child(void)
{
	wf_store_relaxed(&wf_rings.are_ending, false);
	/* the child inherits the descriptors of the rings, not the mappings */
	for (uint32_t i = 0; i < nr_rings(); i++) {
		struct wf_vp_io *io = made(i);

		if (io != NULL) {
			wf_sys(SYS_close, io->ring.fd);
			wf_sys(SYS_close, io->wake_fd);
			wf_os_release(io->in_flight.rows,
				      wf_in_flight_bytes(&io->in_flight));
		}
		memset(&wf_rings.by_vp[i], 0, sizeof(wf_rings.by_vp[i]));
		wf_sched.vps[i].io = NULL;
		wf_store_relaxed(&wf_sched.vps[i].nr_requests, 0);
	}
}

/* --- private descriptors ------------------------------------------------- */

unsigned int wf_ring_first_private(unsigned int first)
{
	unsigned int own = ~0U;

	for (uint32_t i = 0; i < nr_rings(); i++) {
		const struct wf_vp_io *io = made(i);
		unsigned int ring, wake;

		if (io == NULL)
			continue;
		ring = (unsigned int)io->ring.fd;
		wake = (unsigned int)io->wake_fd;
		own = ring >= first && ring < own ? ring : own;
		own = wake >= first && wake < own ? wake : own;
	}
	return own;
}

/* The mappings and the requests of a ring do not depend on its number. */
bool wf_ring_make_way(int fd)
{
	for (uint32_t i = 0; i < nr_rings(); i++) {
		struct wf_vp_io *io = made(i);
		int *own = NULL;
		long other;

		if (io != NULL && io->ring.fd == fd)
			own = &io->ring.fd;
		else if (io != NULL && io->wake_fd == fd)
			own = &io->wake_fd;
		if (own == NULL)
			continue;
		other = wf_sys(SYS_fcntl, fd, F_DUPFD_CLOEXEC, fd + 1);
		if (other < 0)
			other = wf_sys(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 3);
		if (other < 0)
			return false;
		*own = (int)other;
	}
	return true;
}

/* SPDX-License-Identifier: MIT */
/*
 * The order of the steps around a close, which other files carry out. Before
 * the close, waits on the numbers get duplicates of their files, and requests
 * that name the numbers reach the kernel. After the close weft forgets what it
 * knows about the numbers. Waits that began in between begin anew. This file
 * also says which descriptors are private: those of the rings, of the watcher,
 * and all in io/file/private_fd.h.
 */
#include "io/call/closing.h"

#include "io/backend/ring.h"
#include "io/backend/watcher.h"
#include "io/backend/watcher_set.h"
#include "io/call/many.h"
#include "io/file/descriptor.h"
#include "io/file/epoll_proxy.h"
#include "io/file/pin.h"
#include "io/file/private_fd.h"
#include "os/sys.h"
#include "sched/vfork_child.h"
#include "sched/carrier.h"

/*
 * A vfork child has a copy of the descriptors, and so has a thread that has
 * unshared its table. Their closes concern neither the other threads' waits nor
 * what is known about the descriptors. Generations come first
 * (io/call/pinned_call.c). Rings and the watcher come last: requests that
 * pinned waits hand over until then are still for the old file.
 */
void wf_io_before_close(unsigned int first, unsigned int last)
{
	if (wf_has_own_files())
		return;
	if (first == last)
		wf_descriptor_generation_ends((int)first);
	else
		wf_descriptor_generations_end(first, last);
	wf_epoll_proxy_before_close(first, last);
	wf_pin_before_close(first, last);
	wf_many_before_close(first, last);
	wf_ring_flush(first, last);
	wf_watcher_before_close(first, last);
}

void wf_io_after_close(unsigned int first, unsigned int last)
{
	if (wf_has_own_files())
		return;
	/* Other threads may have learnt about the old files meanwhile. */
	wf_descriptor_forget_all(first, last);
	wf_epoll_proxy_after_close(first, last);
	wf_watcher_after_close(first, last);
	wf_many_after_close(first, last);
}

/*
 * Waits while weft closes a private descriptor with this number: the number may
 * already be a file of the program's. Such a close may take long, with
 * SO_LINGER, so the number of yields is limited.
 */
static void wait_while_closing(int fd)
{
	enum { MOST_YIELDS = 1000 };

	for (int i = 0; i < MOST_YIELDS && wf_private_fd_is_closing(fd); i++)
		wf_sys(SYS_sched_yield);
}

bool wf_io_is_private(int fd)
{
	wait_while_closing(fd);
	return fd >= 0 &&
	       wf_io_first_private((unsigned int)fd) == (unsigned int)fd;
}

unsigned int wf_io_first_private(unsigned int first)
{
	unsigned int ring = wf_ring_first_private(first);
	unsigned int watch = wf_watcher_set_first_private(first);

	return ring < watch ? ring : watch;
}

bool wf_io_make_way(int fd)
{
	if (wf_is_vfork_child())
		return true;
	if (wf_has_own_files())
		return !wf_io_is_private(fd);
	wait_while_closing(fd);
	/* A duplicate that a wait has pinned does not move. */
	return wf_ring_make_way(fd) && wf_watcher_set_make_way(fd) &&
	       (fd < 0 ||
		wf_private_fd_first((unsigned int)fd) != (unsigned int)fd);
}

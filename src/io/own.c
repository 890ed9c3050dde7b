#include "io/own.h"

#include "io/descriptor.h"
#include "io/hold.h"
#include "io/kept.h"
#include "io/many.h"
#include "io/proxy.h"
#include "io/ring.h"
#include "io/watch.h"
#include "io/watch_set.h"
#include "os/sys.h"
#include "sched/borrow.h"
#include "sched/carrier.h"

/*
 * A borrower's descriptors are copies, as are those of a thread with a table of
 * its own: what waits for the others', by which numbers, and what is known of
 * these is none of its business. The uses come first (io/held.c). Rings and the
 * watcher come last: what those that hold the number hand over until then is to
 * be for the file.
 */
void wf_io_close_comes(unsigned int first, unsigned int last)
{
	if (wf_has_own_files())
		return;
	if (first == last)
		wf_descriptor_use_ends((int)first);
	else
		wf_descriptor_uses_end(first, last);
	wf_proxy_close_comes(first, last);
	wf_hold_keep(first, last);
	wf_many_keep(first, last);
	wf_ring_flush(first, last);
	wf_watch_keep(first, last);
}

void wf_io_close_done(unsigned int first, unsigned int last)
{
	if (wf_has_own_files())
		return;
	/* What others have learnt meanwhile of the files that they were. */
	wf_descriptor_forget_all(first, last);
	wf_proxy_close_done(first, last);
	wf_watch_closed(first, last);
	wf_many_closed(first, last);
}

/*
 * The program's file must not be taken for weft's that had its number. Who
 * closes that may take long, with SO_LINGER: the number is the program's then.
 */
static void wait_while_closing(int fd)
{
	enum { MOST_YIELDS = 1000 };

	for (int i = 0; i < MOST_YIELDS && wf_kept_is_closing(fd); i++)
		wf_sys(SYS_sched_yield);
}

bool wf_io_is_own(int fd)
{
	wait_while_closing(fd);
	return fd >= 0 && wf_io_first_own((unsigned int)fd) == (unsigned int)fd;
}

unsigned int wf_io_first_own(unsigned int first)
{
	unsigned int ring = wf_ring_first_own(first);
	unsigned int watch = wf_watch_set_first_own(first);

	return ring < watch ? ring : watch;
}

bool wf_io_make_way(int fd)
{
	if (wf_is_borrower())
		return true;
	if (wf_has_own_files())
		return !wf_io_is_own(fd);
	wait_while_closing(fd);
	/* The file of a wait whose number was closed does not make way. */
	return wf_ring_make_way(fd) && wf_watch_set_make_way(fd) &&
	       (fd < 0 || wf_kept_first((unsigned int)fd) != (unsigned int)fd);
}

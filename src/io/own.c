#include "io/own.h"

#include "io/hold.h"
#include "io/kept.h"
#include "io/many.h"
#include "io/proxy.h"
#include "io/ring.h"
#include "io/watch.h"
#include "io/watch_set.h"
#include "sched/borrow.h"

/*
 * A borrower's descriptors are copies: what waits for the lender's, by which
 * numbers, is none of its business. Rings and the watcher come last: what those
 * that hold the number hand over until then is to be for the file (io/held.c).
 */
void wf_io_close_comes(unsigned int first, unsigned int last)
{
	if (wf_is_borrower())
		return;
	wf_proxy_close_comes(first, last);
	wf_hold_keep(first, last);
	wf_many_keep(first, last);
	wf_ring_flush(first, last);
	wf_watch_keep(first, last);
}

void wf_io_close_done(unsigned int first, unsigned int last)
{
	if (wf_is_borrower())
		return;
	wf_proxy_close_done(first, last);
	wf_watch_closed(first, last);
	wf_many_closed(first, last);
}

bool wf_io_is_own(int fd)
{
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
	/* The file of a wait whose number was closed does not make way. */
	return wf_ring_make_way(fd) && wf_watch_set_make_way(fd) &&
	       (fd < 0 || wf_kept_first((unsigned int)fd) != (unsigned int)fd);
}

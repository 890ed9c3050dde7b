/* SPDX-License-Identifier: MIT */
/*
 * Waits for asynchronous I/O. As natively, kernel threads of libc carry out the
 * requests, and end a wait by a futex inside libc. Only a kernel thread can
 * wait there. So weft binds the caller, which then waits in libc's function. If
 * weft cannot bind it, the caller blocks its carrier, and the monitor hands off
 * the VP.
 *
 * Rejected: a helper thread that waits for the caller. It needs a kernel thread
 * for each waiting thread, too, and two more wakes for each wait. Rejected:
 * requests on weft threads. A `pread` of a file on a disk blocks a carrier, so
 * libc's threads suit it.
 */
/* Otherwise libc's headers rename each function to its 64-bit variant. */
#undef _FILE_OFFSET_BITS
#include <aio.h>
#include <pthread.h>

#include "api/api.h"
#include "io/call/run.h"
#include "io/io.h"
#include "libc/real.h"
#include "os/deadline.h"
#include "wait/sleep.h"

/* Is there a request in the list, and are all of them in flight? */
static bool would_wait(const struct aiocb *const list[], int nr)
{
	bool is_any = false;

	for (int i = 0; i < nr; i++) {
		if (list[i] == NULL)
			continue;
		if (aio_error(list[i]) != EINPROGRESS)
			return false;
		is_any = true;
	}
	return is_any;
}

/*
 * libc's wait ends for weft's signals, too. It is repeated until a request is
 * done, the time is up, or a handler of the program has run.
 */
static int suspend(const struct aiocb *const list[], int nr,
		   const struct timespec *timeout)
{
	uint32_t nr_handlers = wf_self != NULL ? wf_self->nr_handlers : 0;
	int64_t deadline_ns, left_ns;
	struct timespec left;
	int rc;

	if (wf_self == NULL || wf_deadline_from_rel(timeout, &deadline_ns) < 0)
		return wf_real.aio_suspend(list, nr, timeout);
	for (;;) {
		rc = wf_real.aio_suspend(list, nr, timeout);
		if (rc == 0 || errno != EINTR ||
		    wf_self->nr_handlers != nr_handlers)
			return rc;
		if (timeout == NULL)
			continue;
		left_ns = wf_deadline_left(deadline_ns);
		left = wf_os_timespec(left_ns > 0 ? left_ns : 0);
		timeout = &left;
	}
}

WF_API(int, aio_suspend, const struct aiocb *const list[], int nr,
       const struct timespec *timeout)
{
	if (wf_io_can_park() && would_wait(list, nr))
		wf_io_bind(true);
	return suspend(list, nr, timeout);
}

/* struct aiocb64 has the same layout. */
WF_API(int, aio_suspend64, const struct aiocb64 *const list[], int nr,
       const struct timespec *timeout)
{
	return aio_suspend((const struct aiocb *const *)list, nr, timeout);
}

WF_API(int, lio_listio, int mode, struct aiocb *const list[], int nr,
       struct sigevent *event)
{
	if (mode == LIO_WAIT && nr > 0 && wf_io_can_park())
		wf_io_bind(true);
	return wf_real.lio_listio(mode, list, nr, event);
}

WF_API(int, lio_listio64, int mode, struct aiocb64 *const list[], int nr,
       struct sigevent *event)
{
	return lio_listio(mode, (struct aiocb *const *)list, nr, event);
}

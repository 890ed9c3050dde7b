/* SPDX-License-Identifier: MIT */
/*
 * Waits for children. The thread first makes the call that does not wait, then
 * a worker makes the one that waits. The worker is of the same process, so it
 * has the same children. The kernel decides which of several waiting threads
 * gets a child. It also deals with stops, continuations and traced children.
 *
 * When a requester asks a worker to end its wait, the kernel checks the
 * children once more. So a handler of SIGCHLD does not hide the child that the
 * signal is about. If all workers are busy, the thread waits for the end of a
 * single child by a pidfd.
 *
 * Rejected: to use a pidfd always. It reports neither stops nor traced
 * children, and there is none for "any child".
 */
#include "io/call/child.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

#include "io/backend/call.h"
#include "io/call/run.h"
#include "io/file/private_fd.h"
#include "libc/cleanup.h"
#include "os/sys.h"
#include "wait/ufutex.h"

enum {
	/* Limits a wait to the children of the calling kernel thread. That is a
	 * carrier, which has made children for several threads. So weft drops
	 * the flag: all children are checked. */
	NOT_MEANT = __WNOTHREAD,
};

static void leave(void *fd)
{
	wf_private_fd_close(*(int *)fd);
}

/* Waits until pid has ended. 0, -EINTR, -ECANCELED, or another -Exxx. */
static int wait_for_end(pid_t pid)
{
	WF_CLEANUP struct wf_cleanup cleanup = WF_CLEANUP_NONE;
	int given = (int)wf_sys(SYS_pidfd_open, pid, 0);
	int fd, err;

	if (given < 0)
		return -ENOSYS;
	fd = wf_private_fd_duplicate(given);
	wf_sys(SYS_close, given);
	if (fd < 0)
		return -ENOSYS;
	wf_cleanup_begin_own(&cleanup, leave, &fd);
	err = wf_io_wait_ready(fd, POLLIN, WF_FOREVER);
	wf_cleanup_end(&cleanup);
	wf_private_fd_close(fd);
	return err;
}

int wf_io_wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
	int n, err;

	options &= ~NOT_MEANT;
	n = (int)wf_sys(SYS_wait4, pid, status, options | WNOHANG, usage);
	if (n != 0 || (options & WNOHANG) != 0)
		return n;
	n = (int)wf_call_wait(
		WF_CALL(SYS_wait4, pid, (long)status, options, (long)usage));
	if (n != -ENOSYS || pid <= 0 || options != 0)
		return n;
	err = wait_for_end(pid);
	n = (int)wf_sys(SYS_wait4, pid, status, WNOHANG, usage);
	if (n != 0)
		return n;
	return err < 0 ? err : -ENOSYS; /* its tracer has not released it */
}

int wf_io_waitid(idtype_t type, id_t id, siginfo_t *ret_info, int options)
{
	siginfo_t unused = { 0 };
	siginfo_t *info = ret_info != NULL ? ret_info : &unused;
	int err;

	options &= ~NOT_MEANT;
	err = (int)wf_sys(SYS_waitid, type, id, info, options | WNOHANG, NULL);
	if (err != 0 || (options & WNOHANG) != 0 || info->si_pid != 0)
		return err;
	return (int)wf_call_wait(
		WF_CALL(SYS_waitid, type, id, (long)ret_info, options, 0));
}

/* SPDX-License-Identifier: MIT */
/*
 * flock and fcntl locks. The thread makes the call that does not wait; if
 * another owner has the lock, a worker makes the call that waits. The worker
 * shares the process's table of descriptors, so the kernel takes it for the
 * same owner of locks. So the result is the caller's, EDEADLK too.
 */
#include "io/call/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>

#include "io/backend/call.h"
#include "os/sys.h"

int wf_io_flock(int fd, int operation)
{
	int n = (int)wf_sys(SYS_flock, fd, operation | LOCK_NB);

	if (n != -EWOULDBLOCK || (operation & LOCK_NB) != 0)
		return n;
	return (int)wf_call_wait(WF_CALL(SYS_flock, fd, operation));
}

int wf_io_lock_record(int fd, int command, const void *lock)
{
	int now = command == F_SETLKW ? F_SETLK : F_OFD_SETLK;
	int n = (int)wf_sys(SYS_fcntl, fd, now, lock);

	if (n != -EAGAIN && n != -EACCES)
		return n;
	return (int)wf_call_wait(WF_CALL(SYS_fcntl, fd, command, (long)lock));
}

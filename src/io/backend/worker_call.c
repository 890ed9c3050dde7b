/* SPDX-License-Identifier: MIT */
/*
 * The calls that workers make. The kernel attributes a call to the process that
 * makes it, not to the thread that asked for it. If a call reveals its process
 * or acts on it, no I/O server makes it, but a kernel thread of the program's
 * process. This file decides that, and whether a call may be repeated after its
 * server was killed.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "io/backend/call.h"
#include "io/backend/ring.h"
#include "io/backend/worker_table.h"
#include "os/sys.h"

static int call(const struct wf_request *r, int fd)
{
	uint32_t done = (uint32_t)r->nr_bytes;
	int n;

	switch (r->op) {
	case WF_RING_OP_FUTEX_WAIT:
		return (int)wf_sys(SYS_futex, r->addr, FUTEX_WAIT_BITSET,
				   r->off, NULL, NULL, r->addr3);
	case IORING_OP_CONNECT:
		n = (int)wf_sys(SYS_connect, fd, r->addr, r->off);
		return n == -EISCONN && r->is_repeated ? 0 : n;
	case IORING_OP_ACCEPT:
		return (int)wf_sys(SYS_accept4, fd, r->addr, r->off,
				   r->op_flags);
	case IORING_OP_RECVMSG:
		return (int)wf_sys(SYS_recvmsg, fd, r->addr, r->op_flags);
	case IORING_OP_RECV: /* the part that the watcher has not received */
		return (int)wf_sys(SYS_recvfrom, fd, r->addr + done,
				   r->len - done, r->op_flags);
	case IORING_OP_SENDMSG:
		return (int)wf_sys(SYS_sendmsg, fd, r->addr,
				   r->op_flags | MSG_NOSIGNAL);
	case IORING_OP_READV:
		return (int)wf_sys(SYS_readv, fd, r->addr, r->len);
	case WF_REQUEST_OP_CALL:
		return (int)wf_call_make((struct wf_call *)r->addr);
	default:
		return -EINVAL;
	}
}

int wf_worker_call(const struct wf_request *r)
{
	int fd, n;

	do {
		fd = wf_request_fd(r);
		n = call(r, fd);
		/* WATCHER-4 in watcher.c */
	} while (n == -EBADF && wf_request_fd(r) != fd);
	return n;
}

/*
 * Calls that have the same effect from a process with the program's memory,
 * descriptors, root and credentials. All other calls depend on the program's
 * process: its children, its locks, which show their owner, and messages, which
 * carry its id.
 */
static const struct process_call {
	long nr;
	bool may_repeat;   /* the call may be repeated, with the same result */
	bool heeds_limits; /* limits on descriptors or the sizes of files */
} process_calls[] = {
	{ SYS_read, false, false }, /* the file's position has moved */
	{ SYS_readv, false, false },
	{ SYS_write, false, true },
	{ SYS_writev, false, true },
	{ SYS_preadv, true, false },
	{ SYS_pwritev, false, true }, /* it appends to some files */
	{ SYS_fsync, false, false },  /* reports an error only once */
	{ SYS_fdatasync, false, false },
	{ SYS_syncfs, false, false },
	{ SYS_msync, false, false },
	{ SYS_sync_file_range, false, false },
	{ SYS_sync, true, false },
	{ SYS_ftruncate, true, true },
	{ SYS_truncate, true, true },
	{ SYS_fallocate, false, true },
	{ SYS_copy_file_range, false, true },
	{ SYS_flock, true, false }, /* the lock belongs to the description */
	{ SYS_openat, true, true },
};

static const struct process_call *find(const struct wf_call *c)
{
	for (size_t i = 0; i < WF_ARRAY_LEN(process_calls); i++) {
		if (process_calls[i].nr == c->nr)
			return &process_calls[i];
	}
	return NULL;
}

/*
 * Is fd the process's terminal? When the terminal stops the program, the
 * program's reads stop, but those of an I/O server would continue.
 */
static bool is_own_terminal(long fd)
{
	int group;

	return wf_sys(SYS_ioctl, fd, TIOCGPGRP, &group) == 0;
}

static bool is_call_for_process(const struct wf_call *c)
{
	if (find(c) == NULL || c->is_own)
		return false;
	return c->nr != SYS_readv || !is_own_terminal(c->args[0]);
}

static bool may_repeat(const struct wf_request *r)
{
	const struct wf_call *c = (const struct wf_call *)r->addr;

	/* the killed server may have created the file */
	if (c->nr == SYS_openat && (c->args[2] & O_EXCL) != 0)
		return false;
	return find(c)->may_repeat;
}

/* Can the peer ask which process has connected or sent? */
static bool tells_process(int fd)
{
	int domain = AF_UNIX;
	socklen_t bytes = sizeof(domain);

	return wf_sys(SYS_getsockopt, fd, SOL_SOCKET, SO_DOMAIN, &domain,
		      &bytes) < 0 ||
	       domain == AF_UNIX;
}

bool wf_worker_call_is_for_process(const struct wf_request *r)
{
	switch (r->op) {
	/*
	 * ACCEPT is not in the list: a connection that a killed server has
	 * accepted would have no owner, and its peer would wait for ever.
	 */
	case WF_RING_OP_FUTEX_WAIT:
	case IORING_OP_RECVMSG:
	case IORING_OP_RECV:
	case IORING_OP_READV:
		return true;
	case IORING_OP_CONNECT:
	case IORING_OP_SENDMSG:
		return !tells_process(wf_request_fd(r));
	case WF_REQUEST_OP_CALL:
		return is_call_for_process((const struct wf_call *)r->addr);
	default:
		return false;
	}
}

/*
 * Reads of fanotify depend on limits, too. But their users have the privilege
 * to exceed limits, so the table says false.
 */
bool wf_worker_call_heeds_limits(const struct wf_request *r)
{
	if (r->op == WF_REQUEST_OP_CALL)
		return find((const struct wf_call *)r->addr)->heeds_limits;
	return r->op == IORING_OP_RECVMSG; /* descriptors may be received */
}

int wf_worker_call_lost(const struct wf_request *r)
{
	switch (r->op) {
	case WF_RING_OP_FUTEX_WAIT:
		/* the server may have got the wake, so the requester wakes */
		return 0;
	case IORING_OP_CONNECT:
		return -ERESTART;
	case WF_REQUEST_OP_CALL:
		return may_repeat(r) ? -ERESTART : -EIO;
	default:
		return -EIO; /* bytes may have been moved */
	}
}

/* SPDX-License-Identifier: MIT */
/*
 * weft's lines go to the file that was standard error at the start. Before each
 * line, device and inode of descriptor 2 are compared with that file's. If they
 * differ, a kernel thread with a descriptor table of its own writes to a copy
 * of the program's descriptor.
 */
#include "os/output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include "base/atomic.h"
#include "base/log.h"
#include "os/kthread.h"
#include "os/sys.h"

enum { STDERR = 2 };

static struct file {
	uint64_t device, inode;
} log_file;
static enum { NOT_ASKED, OPEN, CLOSED } log_state;

static _Atomic int sharer_tid;

void wf_os_stderr_shared_by(int tid)
{
	wf_store_relaxed(&sharer_tid, tid);
}

static bool ask(int fd, struct file *ret_file)
{
	struct stat st;
	long err = wf_sys(SYS_fstat, fd, &st);

	if (err == 0)
		*ret_file = (struct file){ st.st_dev, st.st_ino };
	return err == 0;
}

void wf_os_stderr_init(void)
{
	log_state = ask(STDERR, &log_file) ? OPEN : CLOSED;
}

static bool is_log_file(int fd)
{
	struct file now;

	return ask(fd, &now) && now.device == log_file.device &&
	       now.inode == log_file.inode;
}

bool wf_os_stderr_is_there(void)
{
	return log_state == OPEN ? is_log_file(STDERR) : log_state == NOT_ASKED;
}

/* write(2) has queued SIGPIPE to this kernel thread, which blocks it. */
static void take_broken_pipe(void)
{
	const uint64_t set = 1ULL << (SIGPIPE - 1);
	const struct timespec at_once = { 0, 0 };

	wf_sys(SYS_rt_sigtimedwait, &set, NULL, &at_once, 8);
}

void wf_os_write_quietly(int fd, const char *bytes, size_t nr)
{
	uint64_t mask = wf_os_close_signals();

	while (nr > 0) {
		long n = wf_sys(SYS_write, fd, bytes, nr);

		if (n == -EPIPE)
			take_broken_pipe();
		if (n == -EINTR)
			continue;
		if (n <= 0)
			break;
		bytes += n;
		nr -= (size_t)n;
	}
	wf_os_set_signal_mask(mask);
}

/*
 * Copies descriptor 2 of the process's first kernel thread, or of sharer_tid if
 * that one has ended.
 */
static int copy_stderr(void)
{
	int self = (int)wf_sys(SYS_pidfd_open, wf_os_getpid(), 0);
	int copy = (int)wf_sys(SYS_pidfd_getfd, self, STDERR, 0);
	char path[64];

	if (self >= 0)
		wf_sys(SYS_close, self);
	if (copy >= 0)
		return copy;
	wf_format(path, sizeof(path), "/proc/self/task/%d/fd/%d",
		  wf_load_relaxed(&sharer_tid), STDERR);
	return (int)wf_sys(SYS_openat, AT_FDCWD, path,
			   O_WRONLY | O_APPEND | O_NOCTTY | O_NONBLOCK);
}

int wf_os_stderr_copy(void)
{
	int copy = log_state == OPEN ? copy_stderr() : -EBADF;

	if (copy < 0 || is_log_file(copy))
		return copy;
	wf_sys(SYS_close, copy);
	return -EBADF;
}

/*
 * Writes for a kernel thread with a descriptor table of its own, as the monitor
 * (monitor/private_table.h).
 */
static void write_from_outside(const char *line, size_t len)
{
	int copy = wf_os_stderr_copy();

	if (copy < 0)
		return;
	wf_os_write_quietly(copy, line, len);
	wf_sys(SYS_close, copy);
}

void wf_os_log_write(const char *line, size_t len)
{
	if (wf_os_stderr_is_there())
		wf_os_write_quietly(STDERR, line, len);
	else if (log_state == OPEN)
		write_from_outside(line, len);
}

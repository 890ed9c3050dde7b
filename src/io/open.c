/* SPDX-License-Identifier: MIT */
/*
 * An open is the plain call, whose time is taken. Where two in a row took long
 * on one file system, and of a FIFO, which waits for the other side, the next
 * ones are made by a worker, until they are quick again. So a local file costs
 * no call more, and the first opens of a slow file system hold up a VP until
 * the monitor notices.
 *
 * Two in a row: on a busy machine any call may take long now and then. Where
 * nothing is known the clock is that of the kernel's ticks, which costs a third
 * and overlooks some of the opens that take less than a tick.
 *
 * Rejected: the ring. It opens a FIFO for reading without waiting for a writer,
 * and what has to be waited for keeps one of the few kernel threads that carry
 * out its reads of disks. O_NONBLOCK first: it stays on the description, and to
 * take it away is a second call.
 */
#include "io/open.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "base/options.h"
#include "io/call.h"
#include "io/descriptor.h"
#include "os/sys.h"
#include "signal/memory.h"

static bool is_long(int64_t ns)
{
	return ns > WF_CALL_QUICK_NS;
}

/* --- learning ------------------------------------------------------------- */

struct file {
	mode_t mode;
	uint32_t major, minor; /* of its file system */
};

/* Without asking a worker in the network for what is not known here. */
static bool is_found(int dirfd, const char *path, struct file *ret)
{
	struct statx st;

	if (wf_sys(SYS_statx, dirfd, path, AT_EMPTY_PATH | AT_STATX_DONT_SYNC,
		   STATX_TYPE, &st) < 0)
		return false;
	*ret = (struct file){ st.stx_mode, st.stx_dev_major, st.stx_dev_minor };
	return true;
}

/* A path's beginning: the root, or dirfd itself, if nothing is left. */
static bool is_on(const struct file *file, int dirfd, const char *path,
		  bool is_absolute)
{
	struct file above;

	if (path[0] == '\0' && is_absolute)
		path = "/";
	return is_found(dirfd, path, &above) && above.major == file->major &&
	       above.minor == file->minor;
}

/* The shortest beginning of the path that is on the file's file system. */
static void suspect_file_system(const struct wf_open *o,
				const struct file *file)
{
	char path[512];
	size_t len = strnlen(o->path, sizeof(path)), least = len;

	if (len == sizeof(path))
		return;
	memcpy(path, o->path, len + 1);
	while (len > 0) {
		do
			len--;
		while (len > 0 && !wf_path_latency_is_end(path, len));
		path[len] = '\0';
		if (!is_on(file, o->dirfd, path, o->path[0] == '/'))
			break;
		least = len;
	}
	wf_path_latency_set(wf_path_latency_key(o->dirfd, o->path, least),
			    WF_PATH_MAYBE_SLOW);
}

/* Would it wait for the other side, if it is a FIFO? */
static bool meets(const struct wf_open *o)
{
	return (o->flags & (O_NONBLOCK | O_PATH)) == 0 &&
	       (o->flags & O_ACCMODE) != O_RDWR;
}

/* Devices, which may wait for what they like, are opened by the caller. */
static void learn(const struct wf_open *o, int fd)
{
	struct file file;

	if (!is_found(fd, "", &file))
		return;
	if (S_ISFIFO(file.mode) && meets(o))
		wf_path_latency_set(wf_path_latency_key(o->dirfd, o->path,
							strlen(o->path)),
				    WF_PATH_FIFO);
	else if (S_ISREG(file.mode) || S_ISDIR(file.mode))
		suspect_file_system(o, &file);
}

/* Under the name of a FIFO. */
static void check_fifo(const struct wf_path_latency *p, int fd)
{
	struct file file;

	if (is_found(fd, "", &file) && !S_ISFIFO(file.mode))
		wf_path_latency_set(p->key, WF_PATH_UNKNOWN);
}

/* --- opening -------------------------------------------------------------- */

static int64_t now(const struct wf_open *o)
{
	return o->latency.state == WF_PATH_UNKNOWN ?
		       wf_os_clock(CLOCK_MONOTONIC_COARSE) :
		       wf_os_now();
}

bool wf_open_may_wait(struct wf_open *o)
{
	/* A path that leads nowhere is the kernel's to refuse. */
	if (wf_load_relaxed(&wf_path_latency_nr) != 0 &&
	    wf_memory_is_string(o->path, PATH_MAX))
		o->latency = wf_path_latency_find(o->dirfd, o->path);
	o->begin_ns = now(o);
	return o->latency.state == WF_PATH_SLOW ||
	       (o->latency.state == WF_PATH_FIFO && meets(o));
}

/* Another process would find itself in /proc, and not the same terminal. */
static bool leads_to_process(const char *path)
{
	return strncmp(path, "/proc/", 6) == 0 ||
	       strncmp(path, "/dev/", 5) == 0;
}

/*
 * The open of a FIFO is not made by an I/O server. If that process is killed
 * when the other side has just opened, the other side's open has succeeded, and
 * the repeated open waits for ever.
 */
static bool is_for_own_process(const struct wf_open *o)
{
	struct file file;

	return leads_to_process(o->path) || o->latency.state == WF_PATH_FIFO ||
	       (wf_options.io == WF_IO_PROCESS && meets(o) &&
		is_found(o->dirfd, o->path, &file) && S_ISFIFO(file.mode));
}

long wf_open_wait(struct wf_open *o)
{
	struct wf_call *c =
		WF_CALL(SYS_openat, o->dirfd, (long)o->path, o->flags, o->mode);
	long n;

	c->is_own = is_for_own_process(o);
	n = wf_call_wait(c);
	if (n < 0)
		return n;
	wf_descriptor_generation_ends((int)n);
	if (o->latency.state == WF_PATH_FIFO && !is_long(c->ns))
		check_fifo(&o->latency, (int)n);
	wf_path_latency_took(&o->latency, is_long(c->ns));
	/* So are its first reads, most likely. */
	wf_descriptor_set_slow((int)n, is_long(c->ns));
	return n;
}

void wf_open_made(const struct wf_open *o, int fd)
{
	bool took_long = is_long(now(o) - o->begin_ns);

	if (fd < 0)
		return;
	wf_descriptor_generation_ends(fd);
	if (o->latency.state != WF_PATH_UNKNOWN)
		wf_path_latency_took(&o->latency, took_long);
	else if (took_long)
		learn(o, fd);
}

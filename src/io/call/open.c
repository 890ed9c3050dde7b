/* SPDX-License-Identifier: MIT */
/*
 * The thread makes an open by the plain call and measures it. If two opens in a
 * row took long on one file system, an I/O worker makes the next ones until
 * they are quick again. A worker also opens a FIFO, on which an open waits
 * until another thread or process opens it, too. So an open of a local file
 * costs no further system call. The first opens on a slow file system block a
 * VP until the monitor hands it off.
 *
 * Why two in a row: on a busy machine any call may take long now and then.
 * Where the cache knows nothing, the clock is the coarse one, which counts the
 * kernel's ticks. It costs a third of the precise clock and misses some opens
 * that take less than a tick.
 *
 * Rejected: the ring. It opens a FIFO for reading without waiting for a writer.
 * An open that waits would occupy one of the few kernel threads that carry out
 * the ring's disk reads. Rejected: O_NONBLOCK first. The flag stays on the
 * description, and a second call has to remove it.
 */
#include "io/call/open.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "base/options.h"
#include "io/backend/call.h"
#include "io/file/descriptor.h"
#include "os/sys.h"
#include "signal/memory.h"

static bool is_long(int64_t ns)
{
	return ns > WF_CALL_QUICK_NS;
}

/* --- learning ------------------------------------------------------------- */

struct file {
	mode_t mode;
	uint32_t major, minor; /* device of its file system */
};

/*
 * Gets the file's type and device from the kernel, which does not ask a server
 * of a network file system.
 */
static bool is_found(int dirfd, const char *path, struct file *ret)
{
	struct statx st;

	if (wf_sys(SYS_statx, dirfd, path, AT_EMPTY_PATH | AT_STATX_DONT_SYNC,
		   STATX_TYPE, &st) < 0)
		return false;
	*ret = (struct file){ st.stx_mode, st.stx_dev_major, st.stx_dev_minor };
	return true;
}

/*
 * Returns true if `path`, a prefix of a path, is on the file's file system. An
 * empty prefix is the root, or dirfd itself.
 */
static bool is_on(const struct file *file, int dirfd, const char *path,
		  bool is_absolute)
{
	struct file above;

	if (path[0] == '\0' && is_absolute)
		path = "/";
	return is_found(dirfd, path, &above) && above.major == file->major &&
	       above.minor == file->minor;
}

/* Marks the shortest prefix of the path that is on the file's file system. */
static void doubt_file_system(const struct wf_open *o, const struct file *file)
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

/*
 * Returns true if this open of a FIFO waits until a peer opens the FIFO, too.
 */
static bool meets(const struct wf_open *o)
{
	return (o->flags & (O_NONBLOCK | O_PATH)) == 0 &&
	       (o->flags & O_ACCMODE) != O_RDWR;
}

/*
 * Learns from an open that took long. The caller itself opens devices, on which
 * an open may wait for anything.
 */
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
		doubt_file_system(o, &file);
}

/* An open of a name that is cached as a FIFO was quick: is it still a FIFO? */
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
	/* A bad pointer: the kernel returns EFAULT. */
	if (wf_load_relaxed(&wf_path_latency_nr) != 0 &&
	    wf_memory_is_string(o->path, PATH_MAX))
		o->latency = wf_path_latency_find(o->dirfd, o->path);
	o->begin_ns = now(o);
	return o->latency.state == WF_PATH_SLOW ||
	       (o->latency.state == WF_PATH_FIFO && meets(o));
}

/*
 * Does the path's meaning depend on the process? An I/O server would find
 * itself in /proc, and another terminal in /dev.
 */
static bool leads_to_process(const char *path)
{
	return strncmp(path, "/proc/", 6) == 0 ||
	       strncmp(path, "/dev/", 5) == 0;
}

/*
 * Returns true if an I/O server must not make the open. If a server is killed
 * just after a peer opened the FIFO, the peer's open has succeeded, and the
 * repeated open would wait for ever.
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
	/* the first reads are most likely slow, too */
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

/* SPDX-License-Identifier: MIT */
/*
 * Translates paths below /proc with ids of weft's threads, which the kernel
 * does not know: /proc/self/task/TID and /proc/TID.
 *
 *     struct wf_proc_path p;
 *
 *     return wf_real.access(wf_proc_path(path, &p), mode);
 */
#ifndef WEFT_API_PROC_PROC_H
#define WEFT_API_PROC_PROC_H

#include <errno.h>
#include <stdbool.h>

#include "sched/vp.h"
#include "thread/thread_count.h"

struct wf_proc_path {
	char text[128];
};

/*
 * The path for the kernel: `path`, which is below /proc/, or a translation in
 * buf.
 */
const char *wf_proc_path_slow(const char *path, struct wf_proc_path *buf);

/*
 * Is path below /proc/, and has the runtime started? False also for an address
 * that cannot be read: the kernel then returns the error.
 */
bool wf_proc_is_below(const char *path);

static inline const char *wf_proc_path(const char *path,
				       struct wf_proc_path *buf)
{
	return wf_proc_is_below(path) ? wf_proc_path_slow(path, buf) : path;
}

/*
 * If weft makes the file's contents, returns a descriptor with the contents of
 * this moment, else -ENOENT. is_stream: the program reads the file once, from
 * its beginning.
 */
int wf_proc_open_slow(const char *path, int flags, bool is_stream);

static inline int wf_proc_open(const char *path, int flags, bool is_stream)
{
	return wf_proc_is_below(path) ?
		       wf_proc_open_slow(path, flags, is_stream) :
		       -ENOENT;
}

/*
 * The program is about to open path, which may be relative, or to read its
 * attributes. If they may contain the number of threads, and the caller is the
 * program's only thread, the runtime ends first. Otherwise the kernel would
 * count weft's kernel threads. Sandboxes rely on that number.
 */
void wf_proc_ask_slow(const char *path);

static inline void wf_proc_ask(const char *path)
{
	const struct wf_thread *t = wf_self;

	if (wf_is_started() && t != NULL && t->is_first &&
	    wf_thread_count_nr() == 1)
		wf_proc_ask_slow(path);
}

/*
 * The rest of path, which is below /proc/, behind the directory of this
 * process: "/proc/self/stat" gives "/stat". NULL: path is not in it.
 */
const char *wf_proc_skip_own(const char *path);

#endif

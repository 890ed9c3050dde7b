/* SPDX-License-Identifier: MIT */
/*
 * Paths below /proc that name threads of weft's: /proc/self/task/TID, and
 * /proc/TID. The kernel knows no such ids.
 *
 *     struct wf_proc_path p;
 *
 *     return wf_real.access(wf_proc_path(path, &p), mode);
 */
#ifndef WEFT_API_PROC_H
#define WEFT_API_PROC_H

#include <errno.h>
#include <stdbool.h>

#include "sched/vp.h"
#include "thread/thread_count.h"

struct wf_proc_path {
	char text[128];
};

/* What path, below /proc/, means to the kernel: itself, or in buf. */
const char *wf_proc_path_slow(const char *path, struct wf_proc_path *buf);

/* Does the runtime know the threads there? A path that leads nowhere is the
 * kernel's to refuse. */
bool wf_proc_is_below(const char *path);

static inline const char *wf_proc_path(const char *path,
				       struct wf_proc_path *buf)
{
	return wf_proc_is_below(path) ? wf_proc_path_slow(path, buf) : path;
}

/*
 * A descriptor from which the file's contents can be read as they are now, if
 * they are not as the kernel has them; else -ENOENT. is_stream: who reads it
 * begins once.
 */
int wf_proc_open_slow(const char *path, int flags, bool is_stream);

static inline int wf_proc_open(const char *path, int flags, bool is_stream)
{
	return wf_proc_is_below(path) ?
		       wf_proc_open_slow(path, flags, is_stream) :
		       -ENOENT;
}

/*
 * path, relative or not, is about to be asked about or opened. If it may be
 * where the kernel tells how many threads the process has, and the caller is
 * its only one, the runtime ends first: others' answers would count kernel
 * threads of weft's, and sandboxes go by them.
 */
void wf_proc_ask_slow(const char *path);

static inline void wf_proc_ask(const char *path)
{
	const struct wf_thread *t = wf_self;

	if (wf_is_started() && t != NULL && t->is_first &&
	    wf_thread_count_nr() == 1)
		wf_proc_ask_slow(path);
}

/* What follows the directory of the own process, NULL if path is elsewhere. */
const char *wf_proc_skip_own(const char *path);

#endif

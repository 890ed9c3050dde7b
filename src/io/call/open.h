/* SPDX-License-Identifier: MIT */
/*
 * Opens files. If an open is known to take long or to wait for a peer, an I/O
 * worker makes it and the thread parks.
 *
 *     struct wf_open o = wf_open_of(dirfd, path, flags, mode);
 *
 *     if (wf_open_may_wait(&o))
 *             n = wf_open_wait(&o);           -ENOSYS: nothing has been done
 *     else
 *             fd = openat(...);
 *             wf_open_made(&o, fd);           notes how long the open took
 */
#ifndef WEFT_IO_CALL_OPEN_H
#define WEFT_IO_CALL_OPEN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "io/file/path_latency.h"

struct wf_open {
	int dirfd;
	const char *path;
	int flags;
	mode_t mode;
	struct wf_path_latency latency;
	int64_t begin_ns;
};

static inline struct wf_open wf_open_of(int dirfd, const char *path, int flags,
					mode_t mode)
{
	return (struct wf_open){
		.dirfd = dirfd, .path = path, .flags = flags, .mode = mode
	};
}

/*
 * Returns true if opens below this path have taken long of late. Also if the
 * path names a FIFO on which the open waits for a peer.
 */
bool wf_open_may_wait(struct wf_open *o);

/*
 * A worker opens the file while the caller parks. Result as in io/io.h; the
 * wait is a cancellation point.
 */
long wf_open_wait(struct wf_open *o);

/*
 * The caller has made the plain call right after wf_open_may_wait, which
 * returned false. fd is its result, negative if it failed.
 */
void wf_open_made(const struct wf_open *o, int fd);

#endif

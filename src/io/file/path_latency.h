/* SPDX-License-Identifier: MIT */
/*
 * The path latency cache: whether opens below a path take long. It knows two
 * kinds of names: the roots of file systems on which opens take long, and
 * FIFOs, on which an open may wait until another thread or process opens the
 * FIFO, too.
 *
 *     struct wf_path_latency p = wf_path_latency_find(dirfd, path);
 *
 *     if (p.state == WF_PATH_SLOW)
 *             ...                     a worker makes the open, in `ns`
 *     wf_path_latency_took(&p, ns > quick_ns);
 *
 * A name may come to mean another file, and two names may have one hash. So an
 * entry affects only the speed of an open, never its result.
 */
#ifndef WEFT_IO_FILE_PATH_LATENCY_H
#define WEFT_IO_FILE_PATH_LATENCY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"

/*
 *     UNKNOWN -> MAYBE_SLOW    an open took long [wf_path_latency_set]
 *     MAYBE_SLOW -> SLOW       the next open took long [wf_path_latency_took]
 *     MAYBE_SLOW -> UNKNOWN    the next open was quick
 *     SLOW -> MAYBE_SLOW       an open was quick
 *     any -> FIFO              an open found a FIFO
 *     FIFO -> UNKNOWN          an open found another kind of file
 */
enum wf_path_latency_state {
	WF_PATH_UNKNOWN,
	WF_PATH_MAYBE_SLOW,
	WF_PATH_SLOW,
	WF_PATH_FIFO,
};

struct wf_path_latency {
	uint64_t key;
	enum wf_path_latency_state state;
};

/* Number of names in the cache. */
extern _Atomic uint32_t wf_path_latency_nr;

/* Does what wf_path_latency_find does. The path must be readable. */
struct wf_path_latency wf_path_latency_find_slow(int dirfd, const char *path);

/*
 * Returns the entry of the path's longest prefix that the cache knows, or
 * UNKNOWN. A relative path is hashed together with dirfd: equal paths below two
 * directories are two names.
 */
static inline struct wf_path_latency wf_path_latency_find(int dirfd,
							  const char *path)
{
	if (wf_load_relaxed(&wf_path_latency_nr) == 0)
		return (struct wf_path_latency){ 0, WF_PATH_UNKNOWN };
	return wf_path_latency_find_slow(dirfd, path);
}

/*
 * Returns true if path[i] ends a component: it is the first '/' after the
 * component, or the end of the string.
 */
bool wf_path_latency_is_end(const char *path, size_t i);
/*
 * The key of the first `len` bytes of the path. 0 bytes mean the root, or the
 * directory of dirfd if the path is relative.
 */
uint64_t wf_path_latency_key(int dirfd, const char *path, size_t len);

void wf_path_latency_set(uint64_t key, enum wf_path_latency_state state);
/*
 * Reports that an open below p took long (is_long) or was quick. The state of p
 * changes as in the list above; it must not be UNKNOWN.
 */
void wf_path_latency_took(const struct wf_path_latency *p, bool is_long);

#endif

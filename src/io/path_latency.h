/* SPDX-License-Identifier: MIT */
/*
 * The path latency cache: whether opens below a path take long. It knows, by
 * the names that the program has for them, the roots of file systems whose
 * opens take long, and FIFOs, where each open may have to wait for the other
 * side's.
 *
 *     struct wf_path_latency p = wf_path_latency_find(dirfd, path);
 *
 *     if (p.state == WF_PATH_SLOW)
 *             ...                     made by a worker, in `ns`
 *     wf_path_latency_took(&p, ns > quick_ns);
 *
 * A name may come to mean another file. So an entry decides between fast and
 * slow, never between right and wrong.
 */
#ifndef WEFT_IO_PATH_LATENCY_H
#define WEFT_IO_PATH_LATENCY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"

/*
 * UNKNOWN -> MAYBE_SLOW    an open took long [wf_path_latency_set]
 * MAYBE_SLOW -> SLOW       the next one did, too [wf_path_latency_took]
 * MAYBE_SLOW -> UNKNOWN    it did not
 * SLOW -> MAYBE_SLOW       an open did not
 * any -> FIFO -> UNKNOWN   it is a FIFO, it is none any more
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

/* Names in the cache. */
extern _Atomic uint32_t wf_path_latency_nr;

/* Reads the path. */
struct wf_path_latency wf_path_latency_find_slow(int dirfd, const char *path);

/*
 * The longest of the path's beginnings of which anything is known. Relative
 * paths of one directory have nothing to do with those of another.
 */
static inline struct wf_path_latency wf_path_latency_find(int dirfd,
							  const char *path)
{
	if (wf_load_relaxed(&wf_path_latency_nr) == 0)
		return (struct wf_path_latency){ 0, WF_PATH_UNKNOWN };
	return wf_path_latency_find_slow(dirfd, path);
}

/* Does a name end before path[i]? Not the end is what follows it. */
bool wf_path_latency_is_end(const char *path, size_t i);
/* Of the first `len` bytes; of none: the root, or dirfd itself. */
uint64_t wf_path_latency_key(int dirfd, const char *path, size_t len);

void wf_path_latency_set(uint64_t key, enum wf_path_latency_state state);
/* An open there, which is not UNKNOWN, took long or did not. */
void wf_path_latency_took(const struct wf_path_latency *p, bool is_long);

#endif

/*
 * What is known of the places where files are opened, by the names that the
 * program has for them: the root of a file system whose opens take long, and
 * FIFOs, of which each open may have to wait for the other side's.
 *
 *     struct wf_place p = wf_place_find(dirfd, path);
 *
 *     if (p.state == WF_PLACE_SLOW)
 *             ...                     made by a server, in `ns`
 *     wf_place_took(&p, ns > quick_ns);
 *
 * A name may come to mean another file, so nothing that is kept here may decide
 * between right and wrong, only between fast and slow.
 */
#ifndef WEFT_IO_PLACE_H
#define WEFT_IO_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"

/*
 * UNKNOWN -> SUSPECT       an open took long [wf_place_set]
 * SUSPECT -> SLOW          so did the next [wf_place_took]
 * SUSPECT -> UNKNOWN       it did not
 * SLOW -> SUSPECT          one did not
 * any -> MEETING -> UNKNOWN    it is a FIFO, it is none any more
 */
enum wf_place_state {
	WF_PLACE_UNKNOWN,
	WF_PLACE_SUSPECT,
	WF_PLACE_SLOW,
	WF_PLACE_MEETING,
};

struct wf_place {
	uint64_t key;
	enum wf_place_state state;
};

/* Names of which anything is known. */
extern _Atomic uint32_t wf_place_nr;

/* Reads the path. */
struct wf_place wf_place_find_slow(int dirfd, const char *path);

/*
 * The longest of the path's beginnings of which anything is known. Relative
 * paths of one directory have nothing to do with those of another.
 */
static inline struct wf_place wf_place_find(int dirfd, const char *path)
{
	if (wf_load_relaxed(&wf_place_nr) == 0)
		return (struct wf_place){ 0, WF_PLACE_UNKNOWN };
	return wf_place_find_slow(dirfd, path);
}

/* Does a name end before path[i]? Not the end is what follows it. */
bool wf_place_is_end(const char *path, size_t i);
/* Of the first `len` bytes; of none: the root, or dirfd itself. */
uint64_t wf_place_key(int dirfd, const char *path, size_t len);

void wf_place_set(uint64_t key, enum wf_place_state state);
/* An open there, which is not UNKNOWN, took long or did not. */
void wf_place_took(const struct wf_place *p, bool is_long);

#endif

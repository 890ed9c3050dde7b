/* A ring, and what those of all VPs share. G1 to G7 are in io/ring.c. */
#ifndef WEFT_IO_RING_INTERNAL_H
#define WEFT_IO_RING_INTERNAL_H

#include "base/atomic.h"
#include "io/ring.h"
#include "io/unasked.h"
#include "os/uring.h"

struct wf_vp_io {
	struct wf_uring ring;
	int wake_fd;
	_Atomic bool is_made; /* the descriptors are there (G6) */
	bool is_wake_armed;
	_Atomic bool naps; /* owner; anybody reads (G7) */
	bool has_napped;   /* for its whole time */
	bool finds_data;   /* G8 */
	uint32_t nr_young; /* handed over since wf_unasked_age */
	uint32_t nr_looks; /* since the kernel has had something to do */
	struct wf_unasked unasked; /* what the ring has */
} WF_ALIGNED(WF_CACHE_LINE);

struct wf_rings {
	struct wf_vp_io *by_vp; /* NULL before wf_ring_start */
	_Atomic bool are_refused;
	_Atomic bool are_ending; /* wf_ring_end has just been called */
};
extern struct wf_rings wf_rings;

#endif

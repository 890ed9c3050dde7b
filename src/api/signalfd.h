/* SPDX-License-Identifier: MIT */
/*
 * Reads from signalfd descriptors. They also return the signals in weft's
 * queues, which the kernel does not have.
 *
 *     if (wf_signalfd_is_one(fd, &mask))
 *             return wf_signalfd_read(fd, mask, buf, bytes);
 */
#ifndef WEFT_API_SIGNALFD_H
#define WEFT_API_SIGNALFD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/atomic.h"
#include "base/compiler.h"

extern _Atomic uint32_t wf_signalfd_nr;

/*
 * Is fd a signalfd that weft knows? *ret_mask is then its mask.
 */
bool wf_signalfd_find(int fd, uint64_t *ret_mask);

static inline bool wf_signalfd_is_one(int fd, uint64_t *ret_mask)
{
	return WF_UNLIKELY(wf_load_relaxed(&wf_signalfd_nr) != 0) &&
	       wf_signalfd_find(fd, ret_mask);
}

/* Does what read() does, errno included. `mask` is that of wf_signalfd_find. */
ssize_t wf_signalfd_read(int fd, uint64_t mask, void *buf, size_t bytes);

#endif

/* SPDX-License-Identifier: MIT */
/* What read() does about signalfd. */
#ifndef WEFT_API_SIGNALFD_H
#define WEFT_API_SIGNALFD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/atomic.h"
#include "base/compiler.h"

extern _Atomic uint32_t wf_signalfd_nr;

/* Signals weft holds may be for fd, of which *ret_mask is the mask. */
bool wf_signalfd_find(int fd, uint64_t *ret_mask);

static inline bool wf_signalfd_is_one(int fd, uint64_t *ret_mask)
{
	return WF_UNLIKELY(wf_load_relaxed(&wf_signalfd_nr) != 0) &&
	       wf_signalfd_find(fd, ret_mask);
}

/* As read(); the mask is wf_signalfd_find's. */
ssize_t wf_signalfd_read(int fd, uint64_t mask, void *buf, size_t bytes);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The threads of the process, for the program itself (weft_thread_list):
 *
 *     size_t there_are = wf_see_list(threads, nr, sizeof(*threads));
 *
 * Readers outside the process use see/layout.h.
 */
#ifndef WEFT_SEE_LIST_H
#define WEFT_SEE_LIST_H

#include <stddef.h>

/*
 * Fills up to `nr` elements of `size` bytes, each as struct weft_thread with
 * zeros behind it, or cut off. Returns the number of threads. Takes no lock;
 * may be called in a signal handler. The runtime has started.
 */
size_t wf_see_list(void *threads, size_t nr, size_t size);

#endif

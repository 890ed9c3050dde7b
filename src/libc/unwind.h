/* SPDX-License-Identifier: MIT */
/*
 * Finds the extents of functions in the unwind tables of loaded objects.
 *
 *     if (wf_unwind_function(pc, &low, &high))
 *             size = high - low;
 */
#ifndef WEFT_LIBC_UNWIND_H
#define WEFT_LIBC_UNWIND_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Stores the first address of the function that contains pc, and the one behind
 * its last. False if the object's table is missing or of an unknown kind. Takes
 * the loader's lock.
 */
bool wf_unwind_function(uintptr_t pc, uintptr_t *ret_low, uintptr_t *ret_high);

#endif

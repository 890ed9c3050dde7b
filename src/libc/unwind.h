/* SPDX-License-Identifier: MIT */
/* Extents of functions, from the unwind tables of loaded objects. */
#ifndef WEFT_LIBC_UNWIND_H
#define WEFT_LIBC_UNWIND_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Where the function that contains pc begins and ends. False if its object has
 * no table of a kind that is known here. Takes the loader's lock.
 */
bool wf_unwind_function(uintptr_t pc, uintptr_t *ret_low, uintptr_t *ret_high);

#endif

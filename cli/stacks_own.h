/* SPDX-License-Identifier: MIT */
/*
 * Leaves weft's own frames out of a stack, so that threads in the same wait
 * have the same frames.
 *
 *     struct wf_own_code own = wf_own_code_of(see);
 *
 *     wf_stack_cut_own(&own, &objects, &stack);
 */
#ifndef WEFT_CLI_STACKS_OWN_H
#define WEFT_CLI_STACKS_OWN_H

#include "see/stack.h"

/* The addresses of libweft.so. */
struct wf_own_code {
	uint64_t start, end;
};
struct wf_own_code wf_own_code_of(const struct wf_see *see);
bool wf_own_code_has(const struct wf_own_code *own,
		     const struct wf_see_frame *frame);

/*
 * Of the innermost frames in the library the one stays that the program has
 * called, with the address at which that function begins. Those that have
 * called the start routine are left out.
 */
void wf_stack_cut_own(const struct wf_own_code *own,
		      struct wf_see_objects *objects,
		      struct wf_see_stack *stack);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Equal stacks of threads, for weft stacks and what prints them.
 *
 *     wf_stacks_print(see, &objects, groups, nr);
 */
#ifndef WEFT_CLI_STACKS_H
#define WEFT_CLI_STACKS_H

#include "see/objects.h"
#include "see/stack.h"
#include "see/text.h"

/* Threads in one state, with frames at the same addresses. */
struct wf_stack_group {
	enum wf_see_state state;
	enum wf_see_end end;
	uint32_t nr_frames;
	struct wf_see_frame *frames;
	const struct wf_see_thread **threads;
	uint32_t nr;
};

/* A frame in the source and in its file. */
struct wf_stack_place {
	char *function;	    /* NULL: not known. To be freed */
	uint64_t offset;    /* from the function's begin */
	const char *source; /* name of its file without folders, or NULL */
	int line;
	char object[WF_SEE_TEXT]; /* file and offset */
};
void wf_stacks_place_of(const struct wf_see *see,
			struct wf_see_objects *objects,
			const struct wf_see_frame *frame,
			struct wf_stack_place *ret_place);

/*
 * "bill+0x26 at shop.c:5 (shop+0x11df)", with "? " before a guess. To be freed;
 * NULL: no memory.
 */
char *wf_stacks_frame_text(const struct wf_see *see,
			   struct wf_see_objects *objects,
			   const struct wf_see_frame *frame);

/* For people, as JSON, and in the form that flame graphs are made of. */
void wf_stacks_print(const struct wf_see *see, struct wf_see_objects *objects,
		     const struct wf_stack_group *groups, uint32_t nr);
void wf_stacks_json(const struct wf_see *see, struct wf_see_objects *objects,
		    const struct wf_stack_group *groups, uint32_t nr);
void wf_stacks_folded(const struct wf_see *see, struct wf_see_objects *objects,
		      const struct wf_stack_group *groups, uint32_t nr);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Walks a stack by the call frame information of the functions on it.
 *
 *     nr = wf_see_unwind(unwinder, &memory, &registers, frames, room, &end);
 *
 * A function without such information is taken for one with a frame pointer.
 * The frames above it are marked as a guess.
 */
#ifndef WEFT_CLI_SEE_UNWIND_H
#define WEFT_CLI_SEE_UNWIND_H

#include "objects.h"

/* DWARF's numbers of registers; the last is the return address. */
enum {
	WF_SEE_DWARF_RBX = 3,
	WF_SEE_DWARF_RBP = 6,
	WF_SEE_DWARF_RSP = 7,
	WF_SEE_DWARF_RIP = 16,
	WF_SEE_DWARF_REGISTERS = 17
};

struct wf_see_cpu {
	uint64_t value[WF_SEE_DWARF_REGISTERS];
	uint32_t known; /* bit n: register n is known */
};

/* The stack: a copy of a part of it, and the process for all else. */
struct wf_see_memory {
	const struct wf_see *see;
	const char *copy;
	uint64_t start;
	size_t bytes;
	bool was_left; /* the process was read */
};
bool wf_see_memory_word(struct wf_see_memory *memory, uint64_t address,
			uint64_t *ret_word);

struct wf_see_frame {
	uint64_t address; /* of the instruction that goes on */
	bool is_call;	  /* the one before it is a call */
	bool is_guess;
};

enum wf_see_end {
	WF_SEE_END_WHOLE, /* the outermost frame says that it is that */
	WF_SEE_END_ROOM,  /* there are more frames */
	WF_SEE_END_LOST,  /* how to go on is not known */
	WF_SEE_END_TORN,  /* the stack changed each time that it was read */
	WF_SEE_END_RUNS,  /* it runs, and was not stopped */
};

struct wf_see_unwinder;
/* NULL: no memory. */
struct wf_see_unwinder *wf_see_unwinder_new(struct wf_see_objects *objects);
void wf_see_unwinder_free(struct wf_see_unwinder *unwinder);

/* Returns the number of frames, the innermost first. */
uint32_t wf_see_unwind(struct wf_see_unwinder *unwinder,
		       struct wf_see_memory *memory,
		       const struct wf_see_cpu *registers,
		       struct wf_see_frame *frames, uint32_t room,
		       enum wf_see_end *ret_end);

#endif

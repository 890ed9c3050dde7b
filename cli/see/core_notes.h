/* SPDX-License-Identifier: MIT */
/*
 * The notes of a core file in which each thread has its registers, as in a core
 * of a program with a kernel thread for each thread.
 *
 *     err = wf_see_core_notes(see, &table, old, old_bytes, &buffer, &nr);
 */
#ifndef WEFT_CLI_SEE_CORE_NOTES_H
#define WEFT_CLI_SEE_CORE_NOTES_H

#include <elf.h>

#include "notes.h"
#include "see.h"

/*
 * Kernel threads of weft's own get numbers from here on if they have the number
 * of a thread. No thread has such a number: it is the kernel's limit.
 */
#define WF_SEE_SPARE_TIDS ((1 << 22) + 1)

/*
 * Copies the old notes, then appends one for each thread that the kernel did
 * not know. A kernel thread that ran a thread gets this thread's number. The
 * order of the old notes stays: debuggers take the first thread for the one
 * that crashed. Notes that were added before are not added again.
 *
 * Returns 0 or -ENOMEM. *ret_nr: threads that were added.
 */
int wf_see_core_notes(const struct wf_see *see,
		      const struct wf_see_table *table, const char *old,
		      uint64_t old_bytes, struct wf_see_buffer *to,
		      uint32_t *ret_nr);

/* The changes of a core file. Without notes: none. */
struct wf_see_core_plan {
	uint64_t header_at; /* offset of the header of the notes */
	Elf64_Phdr header;  /* as it becomes */
	uint64_t notes_at;  /* offset; here the old file ends, or before */
	struct wf_see_buffer notes;
	uint32_t nr_added;
	uint32_t nr_threads;
};

/*
 * Plans it for an opened core file that has all of its bytes
 * (wf_see_core_check). Returns 0 or an error. The caller frees plan->notes.
 */
int wf_see_core_plan(const struct wf_see *see, struct wf_see_core_plan *plan);

#endif

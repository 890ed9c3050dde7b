/* SPDX-License-Identifier: MIT */
/*
 * The segments of a core of a stopped process: the pages that it has written,
 * as the kernel chooses them for a core (core(5), the default filter).
 *
 *     err = wf_core_pages(pid, &pages);
 */
#ifndef WEFT_CLI_CORE_PAGES_H
#define WEFT_CLI_CORE_PAGES_H

#include <stddef.h>
#include <stdint.h>

#include "see/notes.h"

struct wf_core_segment {
	uint64_t start, end; /* addresses */
	uint64_t bytes;	     /* from start on that go to the file */
	uint32_t flags;	     /* PF_R, ... */
};

struct wf_core_pages {
	struct wf_core_segment *segments; /* by address */
	size_t nr;
	struct wf_see_buffer files; /* the data of the note NT_FILE */
};

/*
 * Reads them; memory is /proc/PID/mem. Returns 0 or -Exxx.
 */
int wf_core_pages(int pid, int memory, struct wf_core_pages *ret_pages);
void wf_core_pages_free(struct wf_core_pages *pages);

#endif

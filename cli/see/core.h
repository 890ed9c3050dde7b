/* SPDX-License-Identifier: MIT */
/*
 * A core file as a source of memory, and its headers.
 *
 *     err = wf_see_core_open_fd(fd, &source);
 *     if (err == 0)
 *             file = wf_see_core_file(source);
 */
#ifndef WEFT_CLI_SEE_CORE_H
#define WEFT_CLI_SEE_CORE_H

#include <elf.h>

#include "source.h"

struct wf_see_core_file {
	const char *bytes; /* mapped */
	size_t size;
	const Elf64_Phdr *segments;
	size_t nr_segments;
};

/* Leaves the descriptor open. Returns 0 or an error. */
int wf_see_core_open_fd(int fd, struct wf_see_source **ret_source);

/*
 * Returns 0 if the file has all bytes that its headers name, or WF_SEE_CUT_OFF
 * or WF_SEE_BROKEN.
 */
int wf_see_core_check(const struct wf_see_source *source);

/* Only of a source that is a core file. Lives as long as the source. */
const struct wf_see_core_file *
wf_see_core_file(const struct wf_see_source *source);

/* The bytes at an offset, or NULL if the file has not all of them. */
const char *wf_see_core_at(const struct wf_see_core_file *file, uint64_t offset,
			   uint64_t bytes);

#endif

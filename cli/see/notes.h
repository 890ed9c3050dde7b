/* SPDX-License-Identifier: MIT */
/*
 * The notes of a core file: reads them, and appends some to a buffer.
 *
 *     while (wf_see_note_next(&at, &left, &note))
 *             if (note.type == NT_PRSTATUS)
 *                     ...
 */
#ifndef WEFT_CLI_SEE_NOTES_H
#define WEFT_CLI_SEE_NOTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/procfs.h>
#include <sys/user.h>

struct wf_see_note {
	uint32_t type;
	const char *start; /* of the whole note, with its header and name */
	uint64_t whole;
	const char *data; /* aligned to 4 bytes */
	uint32_t bytes;
};

/*
 * Takes a note off the front. False: there is no whole one left. The caller
 * checks that the bytes are there.
 */
bool wf_see_note_next(const char **at, uint64_t *left,
		      struct wf_see_note *ret_note);

/* A copy of the status of a kernel thread. False: the note is none. */
bool wf_see_note_status(const struct wf_see_note *note,
			struct elf_prstatus *ret_status);
/* pr_reg has the type of an array. */
struct user_regs_struct wf_see_status_registers(const struct elf_prstatus *s);

struct wf_see_buffer {
	char *bytes;
	size_t nr, room;
	bool has_failed; /* there was no memory */
};

/* Append. The caller looks at has_failed once, at the end. */
void wf_see_append(struct wf_see_buffer *to, const void *bytes, size_t nr);
void wf_see_append_note(struct wf_see_buffer *to, const char *name,
			uint32_t type, const void *data, size_t bytes);
void wf_see_buffer_free(struct wf_see_buffer *buffer);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The ELF note by which the command knows libweft.so, without loading it, and
 * itself:
 *
 *     owner "weft", type WF_NOTE_VERSION, the version as a string
 *
 * A file of another origin under that name has no such note, and one of another
 * release has another version.
 */
#ifndef WEFT_BASE_NOTE_H
#define WEFT_BASE_NOTE_H

#include <stdint.h>

#define WF_NOTE_OWNER "weft"
#define WF_NOTE_VERSION 1

/* As the ELF specification has it: both texts are padded to 4 bytes. */
struct wf_note {
	uint32_t owner_size, text_size; /* with the final 0 */
	uint32_t type;
	char owner[8];
	char text[16];
};

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The ELF note by which the command recognises libweft.so and itself, without
 * loading them:
 *
 *     owner "weft", type WF_NOTE_VERSION, the version as a string
 *
 * A different file of that name has no such note, and another release has
 * another version.
 */
#ifndef WEFT_BASE_NOTE_H
#define WEFT_BASE_NOTE_H

#include <stdint.h>

#define WF_NOTE_OWNER "weft"
#define WF_NOTE_VERSION 1

/* As in the ELF specification: both texts are padded to 4 bytes. */
struct wf_note {
	uint32_t owner_size, text_size; /* with the final 0 */
	uint32_t type;
	char owner[8];
	char text[16];
};

#endif

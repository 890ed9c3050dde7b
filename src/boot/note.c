/* SPDX-License-Identifier: MIT */
/*
 * The ELF note of base/note.h, by which the weft command knows the library and
 * its version. The linker makes a segment of its section.
 */
#include "base/note.h"

#include "weft/weft.h"

_Static_assert(sizeof(WEFT_VERSION) <= sizeof(((struct wf_note *)0)->text),
	       "the version fits");

__attribute__((section(".note.weft"), used,
	       aligned(4))) static const struct wf_note note = {
	.owner_size = sizeof(WF_NOTE_OWNER),
	.text_size = sizeof(note.text),
	.type = WF_NOTE_VERSION,
	.owner = WF_NOTE_OWNER,
	.text = WEFT_VERSION,
};

/* SPDX-License-Identifier: MIT */
/*
 * Strings without malloc, since bare.c runs without libc. They are allocated
 * from a static area first, then from the kernel. They are never freed: the
 * command becomes the program or ends soon.
 */
#include "text.h"

#include <string.h>

#include "base/compiler.h"
#include "os/mem.h"

char *wf_text_new(size_t room)
{
	/* Most strings are short: each page that is touched costs more. */
	static char common[2 * WF_PAGE];
	static size_t used;

	if (room > sizeof(common) - used)
		return wf_os_reserve(wf_align_up(room, WF_PAGE));
	used += room;
	return common + used - room;
}

bool wf_text_append_bytes(char *text, size_t room, const char *more, size_t len)
{
	size_t used = strlen(text);
	bool fits = len < room - used;

	if (!fits)
		len = room - used - 1;
	memcpy(text + used, more, len);
	text[used + len] = '\0';
	return fits;
}

bool wf_text_append(char *text, size_t room, const char *more)
{
	return wf_text_append_bytes(text, room, more, strlen(more));
}

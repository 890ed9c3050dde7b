/* SPDX-License-Identifier: MIT */
#include "notes.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

static uint64_t aligned(uint64_t n)
{
	return (n + 3) & ~3ULL;
}

bool wf_see_note_next(const char **at, uint64_t *left,
		      struct wf_see_note *ret_note)
{
	uint64_t head, all;
	Elf64_Nhdr n;

	if (*left < sizeof(n))
		return false;
	memcpy(&n, *at, sizeof(n));
	head = sizeof(n) + aligned(n.n_namesz);
	all = head + aligned(n.n_descsz);
	if (all > *left)
		return false;
	*ret_note = (struct wf_see_note){ .type = n.n_type,
					  .start = *at,
					  .whole = all,
					  .data = *at + head,
					  .bytes = n.n_descsz };
	*at += all;
	*left -= all;
	return true;
}

bool wf_see_note_status(const struct wf_see_note *note,
			struct elf_prstatus *ret_status)
{
	if (note->type != NT_PRSTATUS || note->bytes < sizeof(*ret_status))
		return false;
	memcpy(ret_status, note->data, sizeof(*ret_status));
	return true;
}

struct user_regs_struct wf_see_status_registers(const struct elf_prstatus *s)
{
	struct user_regs_struct registers;

	_Static_assert(sizeof(registers) == sizeof(s->pr_reg), "same order");
	memcpy(&registers, s->pr_reg, sizeof(registers));
	return registers;
}

void wf_see_append(struct wf_see_buffer *to, const void *bytes, size_t nr)
{
	static const size_t first = 4096;

	while (to->room - to->nr < nr && !to->has_failed) {
		size_t room = to->room == 0 ? first : 2 * to->room;
		char *more = realloc(to->bytes, room);

		to->has_failed = more == NULL;
		if (more == NULL)
			break;
		to->bytes = more;
		to->room = room;
	}
	if (to->has_failed || nr == 0)
		return;
	memcpy(to->bytes + to->nr, bytes, nr);
	to->nr += nr;
}

static void append_aligned(struct wf_see_buffer *to, const void *bytes,
			   size_t nr)
{
	static const char zeros[4];

	wf_see_append(to, bytes, nr);
	wf_see_append(to, zeros, (size_t)aligned(nr) - nr);
}

void wf_see_append_note(struct wf_see_buffer *to, const char *name,
			uint32_t type, const void *data, size_t bytes)
{
	const Elf64_Nhdr head = { .n_namesz = (uint32_t)strlen(name) + 1,
				  .n_descsz = (uint32_t)bytes,
				  .n_type = type };

	wf_see_append(to, &head, sizeof(head));
	append_aligned(to, name, head.n_namesz);
	append_aligned(to, data, bytes);
}

void wf_see_buffer_free(struct wf_see_buffer *buffer)
{
	free(buffer->bytes);
	*buffer = (struct wf_see_buffer){ 0 };
}

/* SPDX-License-Identifier: MIT */
/*
 * Searches .eh_frame_hdr, the sorted table of an object's functions. It has a
 * header and the number of functions. For each function it has two distances
 * from the header: to the function, and to its entry in .eh_frame. An entry has
 * its length, a back reference, the distance from that word to the function,
 * and the function's length. Linkers write only this format on the
 * architectures at hand; any other is refused.
 */
#include "libc/unwind.h"

#include <link.h>
#include <stddef.h>

#include "libc/real.h"

enum {
	/* DW_EH_PE_: pcrel | sdata4, udata4, datarel | sdata4. */
	POINTER_PCREL = 0x1b,
	COUNT_UDATA4 = 0x03,
	TABLE_DATAREL = 0x3b,
};

struct header {
	uint8_t version, pointer, count, table;
	int32_t frames;
	uint32_t nr;
	struct {
		int32_t function, entry;
	} rows[];
};

struct entry {
	uint32_t length, back;
	int32_t function;
	uint32_t bytes;
};

struct search {
	uintptr_t pc;
	uintptr_t low, high; /* 0: not found */
};

static bool is_known(const struct header *h)
{
	return h->version == 1 && h->pointer == POINTER_PCREL &&
	       h->count == COUNT_UDATA4 && h->table == TABLE_DATAREL;
}

static void search_table(const struct header *h, struct search *s)
{
	uintptr_t base = (uintptr_t)h;
	uint32_t low = 0, high = h->nr;
	const struct entry *e;
	uintptr_t function;

	/* Finds the last row at or before pc. */
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (base + (uintptr_t)h->rows[middle].function <= s->pc)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return;
	function = base + (uintptr_t)h->rows[low - 1].function;
	e = (const struct entry *)(base + (uintptr_t)h->rows[low - 1].entry);
	if ((uintptr_t)&e->function + (uintptr_t)e->function != function ||
	    s->pc - function >= e->bytes)
		return;
	s->low = function;
	s->high = function + e->bytes;
}

static int search_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *s = arg;
	const struct header *header = NULL;
	bool is_here = false;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_GNU_EH_FRAME)
			header = (const struct header *)start;
		else if (p->p_type == PT_LOAD && s->pc >= start &&
			 s->pc - start < p->p_memsz)
			is_here = true;
	}
	if (!is_here)
		return 0;
	if (header != NULL && is_known(header))
		search_table(header, s);
	return 1;
}

bool wf_unwind_function(uintptr_t pc, uintptr_t *ret_low, uintptr_t *ret_high)
{
	struct search s = { .pc = pc };

	wf_real.dl_iterate_phdr(search_object, &s);
	if (s.high == 0)
		return false;
	*ret_low = s.low;
	*ret_high = s.high;
	return true;
}

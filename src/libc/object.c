/* SPDX-License-Identifier: MIT */
/*
 * Finds Go's note in the memory of an object: its first page is its ELF header,
 * which leads to the notes. Most start routines are in the program itself, and
 * cost two comparisons. The program is never Go's, since weft does not run Go
 * programs (cli/target.c).
 */
#include "libc/object.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "libc/elf.h"
#include "os/mem.h"

/* The structure of _dl_find_object, with room for later fields. */
struct found {
	unsigned long long flags;
	const void *map_start, *map_end;
	struct link_map *link_map;
	unsigned long long more[16];
};

typedef int find_fn(void *address, struct found *ret_found);

static bool find(const void *address, const char **ret_start,
		 uintptr_t *ret_base)
{
	static _Atomic(find_fn *) known;
	find_fn *fn = wf_load_relaxed(&known);
	struct found found;
	Dl_info info;

	if (fn == NULL) {
		fn = (find_fn *)wf_elf_symbol("ld-linux", "_dl_find_object");
		wf_store_relaxed(&known, fn);
	}
	if (fn != NULL) {
		if (fn((void *)address, &found) != 0)
			return false;
		*ret_start = found.map_start;
		*ret_base = found.link_map->l_addr;
		return true;
	}
	if (dladdr(address, &info) == 0)
		return false; /* in no object, as compiled at run time */
	*ret_start = info.dli_fbase;
	*ret_base = (uintptr_t)info.dli_fbase;
	return true;
}

_Atomic uintptr_t wf_object_program, wf_object_program_bytes;

/* Finds where the program lies, which never changes. */
static void find_program(void)
{
	const Elf64_Phdr *p = (const Elf64_Phdr *)getauxval(AT_PHDR);
	uintptr_t start = UINTPTR_MAX, end = 1;
	/* The program headers lie in the first page. */
	uintptr_t base = (uintptr_t)p & ~(uintptr_t)(WF_PAGE - 1);

	for (size_t i = 0; i < getauxval(AT_PHNUM); i++) {
		if (p[i].p_type == PT_PHDR)
			base = (uintptr_t)p - p[i].p_vaddr;
	}
	for (size_t i = 0; i < getauxval(AT_PHNUM); i++) {
		uintptr_t from = base + p[i].p_vaddr;

		if (p[i].p_type != PT_LOAD)
			continue;
		start = from < start ? from : start;
		end = from + p[i].p_memsz > end ? from + p[i].p_memsz : end;
	}
	wf_store_relaxed(&wf_object_program, start);
	/* release: the start; pairs with the acquire in
	 * wf_object_is_in_program */
	wf_store_release(&wf_object_program_bytes, end - start);
}

static bool is_go_note(const char *note, size_t bytes)
{
	while (bytes >= sizeof(Elf64_Nhdr)) {
		const Elf64_Nhdr *n = (const Elf64_Nhdr *)note;
		size_t size = sizeof(*n) + wf_align_up(n->n_namesz, 4) +
			      wf_align_up(n->n_descsz, 4);

		if (size > bytes)
			return false;
		if (n->n_namesz == 4 && memcmp(n + 1, "Go\0", 4) == 0)
			return true;
		note += size;
		bytes -= size;
	}
	return false;
}

bool wf_object_has_runtime_slow(const void *address)
{
	const Elf64_Phdr *segments;
	const Elf64_Ehdr *header;
	const char *start;
	uintptr_t base;

	if (wf_load_relaxed(&wf_object_program_bytes) == 0)
		find_program();
	if (wf_object_is_in_program(address) || !find(address, &start, &base))
		return false;
	header = (const Elf64_Ehdr *)start;
	if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
		return false;
	segments = (const Elf64_Phdr *)(start + header->e_phoff);
	for (size_t i = 0; i < header->e_phnum; i++) {
		const Elf64_Phdr *p = &segments[i];

		if (p->p_type == PT_NOTE &&
		    is_go_note((const char *)base + p->p_vaddr, p->p_memsz))
			return true;
	}
	return false;
}

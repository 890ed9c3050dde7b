/* SPDX-License-Identifier: MIT */
/*
 * Reads program headers, the dynamic section, notes and section headers.
 *
 * Every offset in the file is checked against the file's size before it is
 * followed (at(), text_at()). So a broken file leads to a message and not to a
 * fault.
 */
#include "elf.h"

#include <elf.h>
#include <stdint.h>
#include <string.h>

#include "base/compiler.h"
#include "base/machine.h"
#include "base/note.h"
#include "os/mem.h"

struct image {
	const char *bytes;
	size_t size;
	const Elf64_Ehdr *header;
	const Elf64_Phdr *segments;
	size_t nr_segments;
};

static bool is_within(const struct image *im, uint64_t offset, uint64_t size)
{
	return offset <= im->size && size <= im->size - offset;
}

/* The `size` bytes at the offset, or NULL. */
static const void *at(const struct image *im, uint64_t offset, uint64_t size)
{
	return is_within(im, offset, size) ? im->bytes + offset : NULL;
}

/* Returns a table at the offset, or NULL. Linkers align tables to 8 bytes. */
static const void *table_at(const struct image *im, uint64_t offset,
			    uint64_t size)
{
	return offset % 8 == 0 ? at(im, offset, size) : NULL;
}

/* The string at the offset, or NULL if it does not end inside the file. */
static const char *text_at(const struct image *im, uint64_t offset)
{
	const char *s = at(im, offset, 1);

	if (s == NULL || memchr(s, '\0', im->size - offset) == NULL)
		return NULL;
	return s;
}

static const Elf64_Phdr *find_segment(const struct image *im, uint32_t type)
{
	for (size_t i = 0; i < im->nr_segments; i++)
		if (im->segments[i].p_type == type)
			return &im->segments[i];
	return NULL;
}

/* The offset in the file of an address of the running program. */
static uint64_t file_offset(const struct image *im, uint64_t address)
{
	for (size_t i = 0; i < im->nr_segments; i++) {
		const Elf64_Phdr *p = &im->segments[i];

		if (p->p_type == PT_LOAD && address >= p->p_vaddr &&
		    address - p->p_vaddr < p->p_filesz)
			return address - p->p_vaddr + p->p_offset;
	}
	return UINT64_MAX;
}

/* The dynamic section; NULL if there is none. */
static const Elf64_Dyn *dynamic_section(const struct image *im, size_t *ret_nr)
{
	const Elf64_Phdr *p = find_segment(im, PT_DYNAMIC);
	const Elf64_Dyn *dyn = NULL;

	if (p != NULL)
		dyn = table_at(im, p->p_offset, p->p_filesz);
	*ret_nr = dyn != NULL ? p->p_filesz / sizeof(*dyn) : 0;
	return dyn;
}

/* Is the file, which names no loader, a library? If not, it is a program. */
static bool is_library(const struct image *im)
{
	size_t nr;
	const Elf64_Dyn *dyn = dynamic_section(im, &nr);
	bool has_name = false;

	if (im->header->e_type != ET_DYN)
		return false;
	for (size_t i = 0; i < nr && dyn[i].d_tag != DT_NULL; i++) {
		if (dyn[i].d_tag == DT_FLAGS_1 &&
		    (dyn[i].d_un.d_val & DF_1_PIE) != 0)
			return false;
		has_name |= dyn[i].d_tag == DT_SONAME;
	}
	return has_name || im->header->e_entry == 0;
}

static bool is_sanitizer(const char *library)
{
	static const char *const prefixes[] = {
		"libasan.so",
		"libtsan.so",
		"libclang_rt.asan",
		"libclang_rt.tsan",
	};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (strncmp(library, prefixes[i], strlen(prefixes[i])) == 0)
			return strlen(library) <= NAME_MAX;
	return false;
}

/* Calls visit for each text with that tag in the dynamic section. */
static void visit_dynamic(const struct image *im, int64_t tag,
			  void (*visit)(const char *text, void *arg), void *arg)
{
	uint64_t strings = UINT64_MAX;
	size_t nr;
	const Elf64_Dyn *dyn = dynamic_section(im, &nr);

	for (size_t i = 0; i < nr && dyn[i].d_tag != DT_NULL; i++)
		if (dyn[i].d_tag == DT_STRTAB)
			strings = file_offset(im, dyn[i].d_un.d_ptr);
	if (strings == UINT64_MAX)
		return;
	for (size_t i = 0; i < nr && dyn[i].d_tag != DT_NULL; i++) {
		const char *text;

		if (dyn[i].d_tag != tag ||
		    dyn[i].d_un.d_val > UINT64_MAX - strings)
			continue;
		text = text_at(im, strings + dyn[i].d_un.d_val);
		if (text != NULL)
			visit(text, arg);
	}
}

/* Notes the library if it is the first one of a sanitizer. */
static void note_sanitizer(const char *library, void *arg)
{
	struct wf_elf *elf = arg;

	if (elf->sanitizer[0] == '\0' && is_sanitizer(library))
		strcpy(elf->sanitizer, library);
}

struct owner {
	const char *name;
	size_t size; /* with one or more final 0s */
};

static const struct owner go = { "Go\0", 4 };
static const struct owner weft = { WF_NOTE_OWNER, sizeof(WF_NOTE_OWNER) };

/*
 * The text of the first note of an owner in one segment; NULL if there is none.
 * Owner and text are padded to 4 bytes.
 */
static const char *find_note_in(const struct image *im, const Elf64_Phdr *p,
				const struct owner *owner, size_t *ret_size)
{
	uint64_t offset = p->p_offset, end = p->p_offset + p->p_filesz;

	if (offset % 4 != 0 || !is_within(im, offset, p->p_filesz))
		return NULL;
	while (end - offset >= sizeof(Elf64_Nhdr)) {
		const Elf64_Nhdr *n = at(im, offset, sizeof(*n));
		uint64_t text = sizeof(*n) + wf_align_up(n->n_namesz, 4);
		uint64_t size = text + wf_align_up(n->n_descsz, 4);

		if (size > end - offset)
			return NULL;
		if (n->n_namesz == owner->size &&
		    memcmp(n + 1, owner->name, owner->size) == 0) {
			*ret_size = n->n_descsz;
			return im->bytes + offset + text;
		}
		offset += size;
	}
	return NULL;
}

/* Searches the notes of all segments. Stripped files keep their notes. */
static const char *find_note(const struct image *im, const struct owner *owner,
			     size_t *ret_size)
{
	for (size_t i = 0; i < im->nr_segments; i++) {
		const char *text = NULL;

		if (im->segments[i].p_type == PT_NOTE)
			text = find_note_in(im, &im->segments[i], owner,
					    ret_size);
		if (text != NULL)
			return text;
	}
	return NULL;
}

static void read_version(const struct image *im, struct wf_elf *elf)
{
	size_t size;
	const char *text = find_note(im, &weft, &size);

	if (text == NULL || size == 0 || size > sizeof(elf->weft_version) ||
	    text[size - 1] != '\0')
		return;
	memcpy(elf->weft_version, text, size);
}

static bool has_go_section(const struct image *im)
{
	const Elf64_Ehdr *h = im->header;
	const Elf64_Shdr *s = table_at(im, h->e_shoff, h->e_shnum * sizeof(*s));

	if (s == NULL || h->e_shstrndx >= h->e_shnum)
		return false;
	for (size_t i = 0; i < h->e_shnum; i++) {
		uint64_t names = s[h->e_shstrndx].sh_offset;
		const char *name = NULL;

		if (names <= im->size)
			name = text_at(im, names + s[i].sh_name);
		if (name != NULL && (strcmp(name, ".go.buildinfo") == 0 ||
				     strcmp(name, ".note.go.buildid") == 0))
			return true;
	}
	return false;
}

/*
 * True if all pages of the segments are in the file. An access to a missing
 * page would end the process. The last page may be incomplete: zeros follow the
 * file's end.
 */
static bool is_whole(const struct image *im)
{
	struct image pages = { .size = wf_align_up(im->size, WF_PAGE) };

	for (size_t i = 0; i < im->nr_segments; i++) {
		const Elf64_Phdr *p = &im->segments[i];

		if (p->p_type == PT_LOAD && p->p_filesz > 0 &&
		    !is_within(&pages, p->p_offset, p->p_filesz))
			return false;
	}
	return true;
}

static enum wf_elf_kind read_header(struct image *im)
{
	const unsigned char *ident = at(im, 0, EI_NIDENT);
	const Elf64_Ehdr *h = at(im, 0, sizeof(*h));

	if (ident == NULL || memcmp(ident, ELFMAG, SELFMAG) != 0)
		return WF_ELF_NONE;
	if (ident[EI_CLASS] == ELFCLASS32)
		return WF_ELF_32BIT;
	if (h == NULL || ident[EI_CLASS] != ELFCLASS64)
		return WF_ELF_BROKEN;
	if (ident[EI_DATA] != ELFDATA2LSB || h->e_machine != WF_NATIVE_MACHINE)
		return WF_ELF_OTHER_CPU;
	if (h->e_type != ET_EXEC && h->e_type != ET_DYN)
		return WF_ELF_OTHER;
	im->header = h;
	im->nr_segments = h->e_phnum;
	im->segments =
		table_at(im, h->e_phoff, h->e_phnum * sizeof(Elf64_Phdr));
	if (im->segments == NULL || h->e_phentsize != sizeof(Elf64_Phdr) ||
	    !is_whole(im))
		return WF_ELF_BROKEN;
	return WF_ELF_NATIVE;
}

void wf_elf_read(const void *bytes, size_t size, struct wf_elf *ret_elf)
{
	struct image im = { .bytes = bytes, .size = size };
	size_t size_of_note;
	const Elf64_Phdr *p;

	*ret_elf = (struct wf_elf){ .kind = read_header(&im) };
	if (ret_elf->kind != WF_ELF_NATIVE)
		return;
	ret_elf->is_go = find_note(&im, &go, &size_of_note) != NULL ||
			 has_go_section(&im);
	read_version(&im, ret_elf);
	p = find_segment(&im, PT_INTERP);
	if (p != NULL) {
		const char *loader = text_at(&im, p->p_offset);

		if (loader == NULL || strlen(loader) >= PATH_MAX) {
			ret_elf->kind = WF_ELF_BROKEN;
			return;
		}
		strcpy(ret_elf->loader, loader);
	} else if (!ret_elf->is_go && is_library(&im)) {
		ret_elf->kind = WF_ELF_LIBRARY;
	}
	visit_dynamic(&im, DT_NEEDED, note_sanitizer, ret_elf);
}

/*
 * The dynamic symbol table, or NULL. Stripped files have it, too. Stores the
 * number of entries and the offset of the names.
 */
static const Elf64_Sym *dynamic_symbols(const struct image *im, size_t *ret_nr,
					uint64_t *ret_names)
{
	const Elf64_Ehdr *h = im->header;
	const Elf64_Shdr *s = table_at(im, h->e_shoff, h->e_shnum * sizeof(*s));

	for (size_t i = 0; s != NULL && i < h->e_shnum; i++) {
		if (s[i].sh_type != SHT_DYNSYM || s[i].sh_link >= h->e_shnum)
			continue;
		*ret_nr = s[i].sh_size / sizeof(Elf64_Sym);
		*ret_names = s[s[i].sh_link].sh_offset;
		return table_at(im, s[i].sh_offset, s[i].sh_size);
	}
	return NULL;
}

void wf_elf_imports(const void *bytes, size_t size,
		    void (*visit)(const char *name, void *arg), void *arg)
{
	struct image im = { .bytes = bytes, .size = size };
	const Elf64_Sym *symbols;
	uint64_t names = 0;
	size_t nr = 0;

	if (read_header(&im) != WF_ELF_NATIVE)
		return;
	symbols = dynamic_symbols(&im, &nr, &names);
	for (size_t i = 0; symbols != NULL && i < nr; i++) {
		const char *name = NULL;

		if (symbols[i].st_shndx == SHN_UNDEF && names <= size)
			name = text_at(&im, names + symbols[i].st_name);
		if (name != NULL)
			visit(name, arg);
	}
}

void wf_elf_runpaths(const void *bytes, size_t size,
		     void (*visit)(const char *folders, void *arg), void *arg)
{
	struct image im = { .bytes = bytes, .size = size };

	if (read_header(&im) != WF_ELF_NATIVE)
		return;
	visit_dynamic(&im, DT_RUNPATH, visit, arg);
	visit_dynamic(&im, DT_RPATH, visit, arg);
}

/* SPDX-License-Identifier: MIT */
/*
 * Names and lines of instructions. The debug file of a stripped object is found
 * by its build id, where Debian's packages of debug data put it. It has the
 * whole table of symbols, so it comes first.
 */
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "objects.h"

/* Far above what any program has. */
enum { MAX_NAMES = 1 << 24 };

static Elf_Scn *section_of(Elf *elf, GElf_Word type, GElf_Shdr *ret_header)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(elf, section)) != NULL)
		if (gelf_getshdr(section, ret_header) != NULL &&
		    ret_header->sh_type == type)
			return section;
	return NULL;
}

/* Bytes from a symbol to the end of its section. */
static uint64_t section_rest(Elf *elf, const GElf_Sym *s)
{
	Elf_Scn *section = elf_getscn(elf, s->st_shndx);
	GElf_Shdr h;

	if (section == NULL || gelf_getshdr(section, &h) == NULL ||
	    s->st_value - h.sh_addr >= h.sh_size)
		return 0;
	return h.sh_size - (s->st_value - h.sh_addr);
}

static void add_name(struct wf_see_object *o, Elf *elf, const GElf_Shdr *h,
		     const GElf_Sym *s)
{
	const char *name;
	int type = GELF_ST_TYPE(s->st_info);

	if (s->st_shndx == SHN_UNDEF ||
	    (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE))
		return;
	name = elf_strptr(elf, h->sh_link, s->st_name);
	if (name == NULL || name[0] == '\0')
		return;
	o->names[o->nr_names++] = (struct wf_see_name){
		.start = s->st_value,
		.bytes = s->st_size != 0 ? s->st_size : section_rest(elf, s),
		.name = name,
		.has_no_size = s->st_size == 0,
	};
}

/* Symbols with a size come before those without at the same address. */
static int by_start(const void *a, const void *b)
{
	const struct wf_see_name *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->has_no_size != y->has_no_size)
		return x->has_no_size ? 1 : -1;
	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return strcmp(x->name, y->name);
}

static bool read_names(struct wf_see_object *o, Elf *elf, GElf_Word type)
{
	GElf_Shdr h;
	Elf_Scn *section = section_of(elf, type, &h);
	Elf_Data *data = section != NULL ? elf_getdata(section, NULL) : NULL;
	size_t nr;
	GElf_Sym s;

	if (data == NULL || h.sh_entsize == 0)
		return false;
	nr = data->d_size / sizeof(Elf64_Sym);
	o->names = calloc(nr + 1, sizeof(*o->names));
	if (nr > MAX_NAMES || o->names == NULL)
		return false;
	for (size_t i = 0; i < nr; i++)
		if (gelf_getsym(data, (int)i, &s) != NULL)
			add_name(o, elf, &h, &s);
	qsort(o->names, o->nr_names, sizeof(*o->names), by_start);
	return o->nr_names > 0;
}

/*
 * libdw's own function for this would link libdwfl, and with it libraries for
 * each way to compress a file.
 */
static const unsigned char *build_id(Elf *elf, size_t *ret_bytes)
{
	Elf_Scn *section = NULL;
	GElf_Shdr h;

	while ((section = elf_nextscn(elf, section)) != NULL) {
		size_t at = 0, name, bytes;
		Elf_Data *data;
		GElf_Nhdr note;

		if (gelf_getshdr(section, &h) == NULL || h.sh_type != SHT_NOTE)
			continue;
		data = elf_getdata(section, NULL);
		while (data != NULL && (at = gelf_getnote(data, at, &note,
							  &name, &bytes)) > 0) {
			*ret_bytes = note.n_descsz;
			if (note.n_type == NT_GNU_BUILD_ID &&
			    note.n_namesz == sizeof("GNU") &&
			    memcmp((char *)data->d_buf + name, "GNU", 4) == 0)
				return (unsigned char *)data->d_buf + bytes;
		}
	}
	return NULL;
}

/* /usr/lib/debug/.build-id/ab/cdef....debug */
static bool debug_path(Elf *elf, char *ret_path, size_t room)
{
	size_t n = 0, len;
	const unsigned char *id = build_id(elf, &n);

	if (id == NULL || n < 2 || n > 64)
		return false;
	len = (size_t)snprintf(ret_path, room, "/usr/lib/debug/.build-id/%02x/",
			       id[0]);
	for (size_t i = 1; i < n; i++)
		len += (size_t)snprintf(ret_path + len, room - len, "%02x",
					id[i]);
	snprintf(ret_path + len, room - len, ".debug");
	return true;
}

static void open_debug(struct wf_see_object *o)
{
	char path[PATH_MAX];

	if (!debug_path(o->elf, path, sizeof(path)))
		return;
	o->debug_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (o->debug_fd < 0)
		return;
	o->debug_elf = elf_begin(o->debug_fd, ELF_C_READ_MMAP, NULL);
}

static void read_symbols(struct wf_see_object *o)
{
	o->has_names = true;
	open_debug(o);
	if (o->debug_elf != NULL)
		o->lines = dwarf_begin_elf(o->debug_elf, DWARF_C_READ, NULL);
	if (o->lines == NULL)
		o->lines = dwarf_begin_elf(o->elf, DWARF_C_READ, NULL);
	if (o->debug_elf != NULL && read_names(o, o->debug_elf, SHT_SYMTAB))
		return;
	free(o->names);
	o->names = NULL;
	if (read_names(o, o->elf, SHT_SYMTAB))
		return;
	free(o->names);
	o->names = NULL;
	read_names(o, o->elf, SHT_DYNSYM);
}

/*
 * The symbol that has the address. One without a size, as of assembly, reaches
 * as far as the next one.
 */
static const struct wf_see_name *find_name(const struct wf_see_object *o,
					   uint64_t address)
{
	size_t low = 0, high = o->nr_names;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (o->names[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	/* A label inside a function comes after the function. */
	for (int i = 0; i < 64 && low > 0; i++) {
		const struct wf_see_name *n = &o->names[--low];

		while (low > 0 && o->names[low - 1].start == n->start)
			n = &o->names[--low];
		if (address - n->start < n->bytes &&
		    (i == 0 || !n->has_no_size))
			return n;
	}
	return NULL;
}

/* The unit of an address. Clang writes no table of them by default. */
static bool find_unit(Dwarf *lines, uint64_t address, Dwarf_Die *ret_unit)
{
	Dwarf_CU *cu = NULL;

	if (dwarf_addrdie(lines, address, ret_unit) != NULL)
		return true;
	while (dwarf_get_units(lines, cu, &cu, NULL, NULL, ret_unit, NULL) == 0)
		if (dwarf_haspc(ret_unit, address) > 0)
			return true;
	return false;
}

static void find_line(struct wf_see_object *o, uint64_t address,
		      struct wf_see_symbol *symbol)
{
	Dwarf_Line *line;
	Dwarf_Die unit;

	if (o->lines == NULL || !find_unit(o->lines, address, &unit))
		return;
	line = dwarf_getsrc_die(&unit, address);
	if (line == NULL || dwarf_lineno(line, &symbol->line) != 0)
		return;
	symbol->file = dwarf_linesrc(line, NULL, NULL);
}

void wf_see_symbol(struct wf_see_object *object, uint64_t address,
		   struct wf_see_symbol *ret_symbol)
{
	const struct wf_see_name *name;

	*ret_symbol = (struct wf_see_symbol){ 0 };
	if (object->elf == NULL)
		return;
	if (!object->has_names)
		read_symbols(object);
	address -= object->bias;
	name = find_name(object, address);
	if (name != NULL) {
		ret_symbol->name = name->name;
		ret_symbol->offset = address - name->start;
	}
	find_line(object, address, ret_symbol);
}

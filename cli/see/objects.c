/* SPDX-License-Identifier: MIT */
#include "objects.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * The address at which a map lies in its file's own addresses. False if no
 * segment has it.
 */
static bool address_in_file(Elf *elf, const struct wf_see_map *map,
			    uint64_t *ret_address)
{
	size_t nr;

	if (elf_getphdrnum(elf, &nr) != 0)
		return false;
	for (size_t i = 0; i < nr; i++) {
		GElf_Phdr p;
		uint64_t begin;

		if (gelf_getphdr(elf, (int)i, &p) == NULL ||
		    p.p_type != PT_LOAD)
			continue;
		begin = p.p_offset & ~0xfffULL; /* maps are whole pages */
		if (map->offset < begin ||
		    map->offset - p.p_offset >= p.p_filesz + 0x1000)
			continue;
		if (map->offset >= p.p_offset + p.p_filesz)
			continue;
		*ret_address = p.p_vaddr - p.p_offset + map->offset;
		return true;
	}
	return false;
}

static void open_object(const struct wf_see *see, const struct wf_see_map *map,
			struct wf_see_object *o)
{
	uint64_t address;

	o->fd = wf_see_open_object(see, map);
	if (o->fd < 0)
		return;
	o->elf = elf_begin(o->fd, ELF_C_READ_MMAP, NULL);
	if (o->elf == NULL || elf_kind(o->elf) != ELF_K_ELF ||
	    !address_in_file(o->elf, map, &address)) {
		elf_end(o->elf);
		o->elf = NULL;
		return;
	}
	o->bias = map->start - address;
	o->cfi = dwarf_getcfi_elf(o->elf);
}

/* A file that is mapped in several parts is one object. */
static bool is_part_of(const struct wf_see_object *o,
		       const struct wf_see_map *map)
{
	uint64_t address;

	if (strcmp(o->path, map->name) != 0)
		return false;
	return o->elf == NULL || (address_in_file(o->elf, map, &address) &&
				  map->start - address == o->bias);
}

struct wf_see_object *wf_see_object_at(struct wf_see_objects *objects,
				       uint64_t address)
{
	const struct wf_see_map *map = wf_see_map_at(objects->see, address);
	struct wf_see_object *o;

	if (map == NULL)
		return NULL;
	for (o = objects->first; o != NULL; o = o->next)
		if (is_part_of(o, map))
			return o;
	o = calloc(1, sizeof(*o));
	if (o == NULL)
		return NULL;
	elf_version(EV_CURRENT);
	o->path = map->name;
	o->debug_fd = -1;
	open_object(objects->see, map, o);
	o->next = objects->first;
	objects->first = o;
	return o;
}

void wf_see_objects_free(struct wf_see_objects *objects)
{
	while (objects->first != NULL) {
		struct wf_see_object *o = objects->first;

		objects->first = o->next;
		free(o->names);
		dwarf_end(o->lines);
		dwarf_cfi_end(o->cfi);
		elf_end(o->debug_elf);
		elf_end(o->elf);
		if (o->debug_fd >= 0)
			close(o->debug_fd);
		if (o->fd >= 0)
			close(o->fd);
		free(o);
	}
}

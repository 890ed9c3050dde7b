/* SPDX-License-Identifier: MIT */
#include "objects.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * The bias of an object of which a segment lies in the map. False if the map
 * has no page of the segment.
 */
static bool bias_of(Elf *elf, size_t segment, const struct wf_see_map *map,
		    uint64_t *ret_bias)
{
	GElf_Phdr p;

	if (gelf_getphdr(elf, (int)segment, &p) == NULL || p.p_type != PT_LOAD)
		return false;
	/* Maps are whole pages. */
	if (map->offset < (p.p_offset & ~0xfffULL) ||
	    map->offset >= p.p_offset + p.p_filesz)
		return false;
	*ret_bias = map->start - (p.p_vaddr - p.p_offset + map->offset);
	return true;
}

/* With this bias the file's first segment is where the file is mapped. */
static bool is_bias(const struct wf_see *see, Elf *elf,
		    const struct wf_see_map *map, uint64_t bias)
{
	const struct wf_see_map *first;
	uint64_t address;
	GElf_Phdr p;

	for (int i = 0; gelf_getphdr(elf, i, &p) != NULL; i++) {
		if (p.p_type != PT_LOAD)
			continue;
		address = bias + (p.p_vaddr & ~0xfffULL);
		first = wf_see_map_at(see, address);
		return first != NULL && strcmp(first->name, map->name) == 0 &&
		       first->offset + (address - first->start) ==
			       (p.p_offset & ~0xfffULL);
	}
	return false;
}

/*
 * lld puts the end of a segment and the begin of the next one into the same
 * page of the file, which is mapped for both. So a map may be a part of either.
 * The later segment is tried first: each map from which the file's first page
 * can be read would pass for the first segment.
 */
static bool find_bias(const struct wf_see *see, Elf *elf,
		      const struct wf_see_map *map, uint64_t *ret_bias)
{
	bool is_there = false;
	uint64_t bias;
	size_t nr;

	if (elf_getphdrnum(elf, &nr) != 0)
		return false;
	while (nr-- > 0) {
		if (!bias_of(elf, nr, map, &bias))
			continue;
		*ret_bias = bias;
		if (is_bias(see, elf, map, bias))
			return true;
		is_there = true;
	}
	return is_there; /* the first segment is not mapped any more */
}

static void open_object(const struct wf_see *see, const struct wf_see_map *map,
			struct wf_see_object *o)
{
	o->fd = wf_see_open_object(see, map);
	if (o->fd < 0)
		return;
	o->elf = elf_begin(o->fd, ELF_C_READ_MMAP, NULL);
	if (o->elf == NULL || elf_kind(o->elf) != ELF_K_ELF ||
	    !find_bias(see, o->elf, map, &o->bias)) {
		elf_end(o->elf);
		o->elf = NULL;
		return;
	}
	o->cfi = dwarf_getcfi_elf(o->elf);
}

/* A file that is mapped in several parts is one object. */
static bool is_part_of(const struct wf_see_object *o,
		       const struct wf_see_map *map)
{
	uint64_t bias;
	size_t nr;

	if (strcmp(o->path, map->name) != 0)
		return false;
	if (o->elf == NULL || elf_getphdrnum(o->elf, &nr) != 0)
		return true;
	while (nr-- > 0)
		if (bias_of(o->elf, nr, map, &bias) && bias == o->bias)
			return true;
	return false;
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

/* SPDX-License-Identifier: MIT */
/*
 * The programs and libraries that a process has mapped, with their tables for
 * unwinding, their symbols and their lines, by libdw.
 *
 *     struct wf_see_object *object = wf_see_object_at(objects, address);
 *
 *     if (object != NULL)
 *             wf_see_symbol(object, address, &symbol);
 *
 * An object is opened at its first use, and stays open.
 */
#ifndef WEFT_CLI_SEE_OBJECTS_H
#define WEFT_CLI_SEE_OBJECTS_H

#include <elfutils/libdw.h>

#include "see.h"

struct wf_see_name {
	uint64_t start, bytes; /* in the object's own addresses */
	const char *name;
	bool has_no_size; /* bytes: as far as its section */
};

struct wf_see_object {
	const char *path;
	uint64_t bias; /* address in the process less the one in the file */
	int fd, debug_fd;
	Elf *elf, *debug_elf; /* NULL: cannot be read; has no debug file */
	Dwarf_CFI *cfi;	      /* NULL: none */
	Dwarf *lines;	      /* NULL: none */
	struct wf_see_name *names;
	size_t nr_names;
	bool has_names; /* they were read */
	struct wf_see_object *next;
};

struct wf_see_objects {
	const struct wf_see *see;
	struct wf_see_object *first;
};

/* The object with this address, or NULL. */
struct wf_see_object *wf_see_object_at(struct wf_see_objects *objects,
				       uint64_t address);
void wf_see_objects_free(struct wf_see_objects *objects);

/* The place of an instruction in the source. Lives as long as the objects. */
struct wf_see_symbol {
	const char *name; /* as in the file; NULL: not known */
	uint64_t offset;  /* from the symbol's begin */
	const char *file; /* of the source; NULL: not known */
	int line;
};
void wf_see_symbol(struct wf_see_object *object, uint64_t address,
		   struct wf_see_symbol *ret_symbol);

#endif

/* SPDX-License-Identifier: MIT */
/* Opens a process or a core file, and finds the objects that it has mapped. */
#include "open.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "grow.h"

int wf_see_map_add(struct wf_see_source *s, const struct wf_see_map *map)
{
	size_t n = s->nr_maps;
	void *more = wf_see_grow(s->maps, n, sizeof(*s->maps));
	char *name;

	if (more == NULL)
		return -ENOMEM;
	s->maps = more;
	name = strdup(map->name);
	if (name == NULL)
		return -ENOMEM;
	s->maps[n] = *map;
	s->maps[n].name = name;
	s->nr_maps++;
	return 0;
}

void wf_see_maps_free(struct wf_see_source *s)
{
	for (size_t i = 0; i < s->nr_maps; i++)
		free((void *)(uintptr_t)s->maps[i].name);
	free(s->maps);
}

int wf_see_open_source(struct wf_see_source *source, struct wf_see **ret_see)
{
	struct wf_see *see = calloc(1, sizeof(*see));
	int err;

	if (see == NULL) {
		source->close(source);
		return -ENOMEM;
	}
	see->source = source;
	err = wf_see_items_read(source, &see->items);
	if (err < 0) {
		wf_see_close(see);
		return err;
	}
	*ret_see = see;
	return 0;
}

int wf_see_process_number(const char *which)
{
	char *end;
	long n = strtol(which, &end, 10);

	return *end == '\0' && n > 0 && n <= INT_MAX ? (int)n : 0;
}

int wf_see_open(const char *which, struct wf_see **ret_see)
{
	int pid = wf_see_process_number(which);
	struct wf_see_source *source;
	int err;

	if (pid > 0)
		err = wf_see_process_open(pid, &source);
	else if (strcmp(which, "-") == 0)
		err = wf_see_stream_open(STDIN_FILENO, &source);
	else
		err = wf_see_core_open(which, &source);
	return err < 0 ? err : wf_see_open_source(source, ret_see);
}

void wf_see_close(struct wf_see *see)
{
	if (see == NULL)
		return;
	see->source->close(see->source);
	wf_see_items_free(&see->items);
	free(see);
}

const char *wf_see_error_text(int err)
{
	switch (err) {
	case -ESRCH:
		return "there is no such process";
	case -EPERM:
	case -EACCES:
		return "no permission to read it: that takes its user, or root "
		       "(ptrace(2) has the rules)";
	case -ENOSYS:
		return "this system does not let a process read another "
		       "(process_vm_readv)";
	case WF_SEE_NOT_WEFT:
		return "does not run on weft, or on one that does not describe "
		       "its data";
	case WF_SEE_NO_THREADS:
		return "it has made no thread yet, so weft has not started";
	case WF_SEE_NOT_CORE:
		return "neither the number of a process nor a core file of "
		       "this kind of CPU";
	case WF_SEE_OTHER_FORM:
		return "runs on a weft that this 'weft' cannot read: use the "
		       "one that was installed with it";
	case WF_SEE_BROKEN:
		return "its memory or file makes no sense: it may be damaged, "
		       "or cut off";
	case WF_SEE_NOT_STREAM:
		return "standard input is not the memory of a process, as "
		       "'weft run --dump-on' sends it";
	case WF_SEE_CUT_OFF:
		return "the core file is cut off: some of its end is missing";
	default:
		return strerror(-err);
	}
}

const char *wf_see_version(const struct wf_see *see)
{
	return see->items.version;
}

int wf_see_pid(const struct wf_see *see)
{
	return see->source->pid;
}

size_t wf_see_read_some(const struct wf_see *see, uint64_t address, void *to,
			size_t bytes)
{
	return see->source->read(see->source, address, to, bytes);
}

bool wf_see_read(const struct wf_see *see, uint64_t address, void *to,
		 size_t bytes)
{
	return wf_see_read_some(see, address, to, bytes) == bytes;
}

const struct wf_see_map *wf_see_maps(const struct wf_see *see, size_t *ret_nr)
{
	*ret_nr = see->source->nr_maps;
	return see->source->maps;
}

const struct wf_see_map *wf_see_map_at(const struct wf_see *see,
				       uint64_t address)
{
	for (size_t i = 0; i < see->source->nr_maps; i++) {
		const struct wf_see_map *map = &see->source->maps[i];

		if (address >= map->start && address < map->end)
			return map;
	}
	return NULL;
}

int wf_see_open_object(const struct wf_see *see, const struct wf_see_map *map)
{
	const int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
	char path[PATH_MAX + 64];
	int fd;

	if (see->source->pid == 0) {
		fd = open(map->name, flags);
		return fd < 0 ? -errno : fd;
	}
	/* Needs root, and is the very file; the other is what has its name. */
	snprintf(path, sizeof(path), "/proc/%d/map_files/%lx-%lx",
		 see->source->pid, (unsigned long)map->start,
		 (unsigned long)map->end);
	fd = open(path, flags);
	if (fd < 0) {
		snprintf(path, sizeof(path), "/proc/%d/root%s",
			 see->source->pid, map->name);
		fd = open(path, flags);
	}
	return fd < 0 ? -errno : fd;
}

bool wf_see_number(const struct wf_see *see, const char *name,
		   uint64_t *ret_value)
{
	for (uint32_t i = 0; i < see->items.nr; i++) {
		const struct wf_layout_item *item = &see->items.items[i];

		if (item->what == WF_LAYOUT_ENUM ||
		    strcmp(item->name, name) != 0)
			continue;
		*ret_value = item->value;
		return true;
	}
	return false;
}

const char *wf_see_enum_word(const struct wf_see *see, const char *of,
			     uint64_t value)
{
	return wf_see_word(&see->items, of, value);
}

/* SPDX-License-Identifier: MIT */
/*
 * CORE_PAGES-1. A page of a private mapping without a file is written out if it
 *     is in memory or swapped. Otherwise it is zero. A mapping of a file is
 *     written out whole if one of its pages was written, since no reader can
 *     tell an unwritten page from a page that the file has.
 * CORE_PAGES-2. The pages decide, and not the mapping's access: a guard, or a
 *     page that was made unreadable, does not hide its neighbours.
 * CORE_PAGES-3. Where the kernel does not tell (/proc/PID/pagemap), all pages
 *     of private mappings are written out, except those of a file's code: a
 *     page that is read-only now may have been relocated. Zeros become holes.
 */
#include "core_pages.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "see/grow.h"

enum { PAGE = 4096, ENTRIES = 32 << 10 };

/* Bits of an entry of pagemap (Documentation/admin-guide/mm/pagemap.rst). */
#define PRESENT (1ULL << 63)
#define SWAPPED (1ULL << 62)
#define OF_FILE (1ULL << 61)
#define GUARD (1ULL << 58)

/*
 * Two runs of pages with fewer pages between them are one: a debugger's time
 * grows with the number of segments.
 */
enum { SHORT_GAP = 16 };

struct mapping {
	uint64_t start, end, offset;
	char access[5];
	const char *name;
};

struct making {
	struct wf_core_pages *pages;
	int memory, pagemap;
	struct wf_see_buffer files, names;
	uint64_t nr_files;
	int err;
};

static void add(struct making *m, const struct mapping *map, uint64_t start,
		uint64_t bytes)
{
	struct wf_core_pages *p = m->pages;
	size_t n = p->nr;
	void *more = wf_see_grow(p->segments, n, sizeof(*p->segments));

	if (more == NULL) {
		m->err = -ENOMEM;
		return;
	}
	p->segments = more;
	if (n > 0 && p->segments[n - 1].end > start)
		p->segments[n - 1].end = start;
	p->segments[p->nr++] = (struct wf_core_segment){
		.start = start,
		.end = map->end,
		.bytes = bytes,
		.flags = (map->access[0] == 'r' ? PF_R : 0) |
			 (map->access[1] == 'w' ? PF_W : 0) |
			 (map->access[2] == 'x' ? PF_X : 0),
	};
}

static void add_all(struct making *m, const struct mapping *map)
{
	m->pages->segments[m->pages->nr - 1].bytes = map->end - map->start;
}

/* A page at an address goes to the core. */
static void add_page(struct making *m, const struct mapping *map, uint64_t at)
{
	struct wf_core_segment *last = &m->pages->segments[m->pages->nr - 1];
	uint64_t end = last->start + last->bytes, gap = at - end;

	if (at < end)
		return; /* the first page of a file */
	if (gap == 0 ||
	    (map->name[0] != '/' && last->bytes > 0 && gap < SHORT_GAP * PAGE))
		last->bytes = at + PAGE - last->start;
	else
		add(m, map, at, PAGE);
}

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), k = strlen(end);

	return n >= k && strcmp(text + n - k, end) == 0;
}

enum choice { NOTHING, ALL, WRITTEN };

static enum choice choice_of(const struct mapping *map)
{
	static const char deleted[] = " (deleted)";

	if (strcmp(map->name, "[vdso]") == 0)
		return ALL;
	if (strncmp(map->name, "[v", 2) == 0)
		return NOTHING; /* the kernel's data */
	if (map->access[3] != 's')
		return WRITTEN;
	/* Shared memory without a file's name; and not a device's. */
	return ends_with(map->name, deleted) ? ALL : NOTHING;
}

static void add_written(struct making *m, const struct mapping *map)
{
	static uint64_t entry[ENTRIES];
	uint64_t at = map->start;

	while (at < map->end && m->err == 0) {
		uint64_t want = (map->end - at) / PAGE;
		ssize_t n;

		if (want > ENTRIES)
			want = ENTRIES;
		n = pread(m->pagemap, entry, want * sizeof(*entry),
			  (off_t)(at / PAGE * sizeof(*entry)));
		if (n < (ssize_t)sizeof(*entry)) {
			if (map->name[0] != '/' || map->access[2] != 'x')
				add_all(m, map); /* CORE_PAGES-3 */
			return;
		}
		for (size_t i = 0; i < (size_t)n / sizeof(*entry); i++) {
			bool is_written = (entry[i] & (PRESENT | SWAPPED)) !=
						  0 &&
					  (entry[i] & (OF_FILE | GUARD)) == 0;

			if (is_written && map->name[0] == '/') {
				add_all(m, map);
				return;
			}
			if (is_written)
				add_page(m, map, at);
			at += PAGE;
		}
	}
}

/* The first page of a program or library: debuggers find its build id there. */
static void add_head(struct making *m, const struct mapping *map)
{
	char magic[SELFMAG];

	if (map->name[0] == '/' && map->offset == 0 &&
	    pread(m->memory, magic, SELFMAG, (off_t)map->start) == SELFMAG &&
	    memcmp(magic, ELFMAG, SELFMAG) == 0)
		m->pages->segments[m->pages->nr - 1].bytes = PAGE;
}

static void add_file(struct making *m, const struct mapping *map)
{
	const uint64_t words[] = { map->start, map->end, map->offset / PAGE };

	wf_see_append(&m->files, words, sizeof(words));
	wf_see_append(&m->names, map->name, strlen(map->name) + 1);
	m->nr_files++;
}

static void add_mapping(struct making *m, const struct mapping *map)
{
	enum choice choice = choice_of(map);

	if (map->name[0] == '/')
		add_file(m, map);
	if (strcmp(map->name, "[vsyscall]") == 0)
		return; /* in the kernel's half */
	add(m, map, map->start, 0);
	if (m->err != 0)
		return;
	if (choice != NOTHING)
		add_head(m, map);
	if (choice == ALL)
		add_all(m, map);
	else if (choice == WRITTEN)
		add_written(m, map);
}

static bool parse(char *line, struct mapping *ret_map)
{
	unsigned long start, end, offset;
	int at = 0;

	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%lx-%lx %4s %lx %*s %*s %n", &start, &end,
		   ret_map->access, &offset, &at) != 4)
		return false;
	ret_map->start = start;
	ret_map->end = end;
	ret_map->offset = offset;
	ret_map->name = at > 0 ? line + at : "";
	return true;
}

static int read_maps(int pid, struct making *m)
{
	struct mapping map;
	char path[64], *line = NULL;
	size_t room = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	file = fopen(path, "re");
	if (file == NULL)
		return -errno;
	while (m->err == 0 && getline(&line, &room, file) > 0)
		if (parse(line, &map))
			add_mapping(m, &map);
	free(line);
	fclose(file);
	return m->err;
}

int wf_core_pages(int pid, int memory, struct wf_core_pages *ret_pages)
{
	struct making m = { .pages = ret_pages, .memory = memory };
	uint64_t head[2];
	char path[64];

	*ret_pages = (struct wf_core_pages){ 0 };
	snprintf(path, sizeof(path), "/proc/%d/pagemap", pid);
	m.pagemap = open(path, O_RDONLY | O_CLOEXEC);
	m.err = read_maps(pid, &m);
	if (m.pagemap >= 0)
		close(m.pagemap);
	head[0] = m.nr_files;
	head[1] = PAGE;
	wf_see_append(&ret_pages->files, head, sizeof(head));
	wf_see_append(&ret_pages->files, m.files.bytes, m.files.nr);
	wf_see_append(&ret_pages->files, m.names.bytes, m.names.nr);
	if (ret_pages->files.has_failed || m.files.has_failed ||
	    m.names.has_failed)
		m.err = -ENOMEM;
	wf_see_buffer_free(&m.files);
	wf_see_buffer_free(&m.names);
	return m.err;
}

void wf_core_pages_free(struct wf_core_pages *pages)
{
	free(pages->segments);
	wf_see_buffer_free(&pages->files);
	*pages = (struct wf_core_pages){ 0 };
}

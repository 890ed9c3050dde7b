/* SPDX-License-Identifier: MIT */
/*
 * The reader of threads with a process or a core file that says anything. It
 * may refuse, but no read may leave its own memory, nothing may go on for ever,
 * and each row has to name only what is there.
 *
 * Every address of the hostile process has bytes of the input, or none. Only
 * the layout is what a real one would be, with some of its items changed by the
 * input: otherwise hardly an input would get beyond it. The same bytes are then
 * the body of a core file.
 */
#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/machine.h"
#include "see/core.h"
#include "see/core_notes.h"
#include "see/items.h"
#include "see/source.h"
#include "see/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	LAYOUT = 0x10000, /* address of the head, and behind it of the items */
	LAYOUT_BYTES = 0x8000,
	SCHED = 0x100000,
	TABLE_USED = 0x200000,
	RECORD_BYTES = 320,
	MOST_VPS = 8,
};

struct hostile {
	struct wf_see_source source;
	struct wf_see_map map;
	const uint8_t *data;
	size_t size;
	char layout[LAYOUT_BYTES];
	uint64_t nr_vps_at;
};

static void require(int holds, const char *what)
{
	if (!holds) {
		fprintf(stderr, "fuzz_see: %s\n", what);
		abort();
	}
}

static uint8_t byte_at(const struct hostile *h, uint64_t address)
{
	return h->data[(address ^ address >> 7 ^ address >> 13) % h->size];
}

static size_t read_memory(const struct wf_see_source *s, uint64_t address,
			  void *to, size_t bytes)
{
	const struct hostile *h = (const struct hostile *)s;

	if (address >= LAYOUT && address - LAYOUT < LAYOUT_BYTES) {
		size_t left = LAYOUT_BYTES - (size_t)(address - LAYOUT);

		bytes = bytes < left ? bytes : left;
		memcpy(to, h->layout + (address - LAYOUT), bytes);
		return bytes;
	}
	for (size_t i = 0; i < bytes; i++) {
		uint64_t at = address + i;

		if (byte_at(h, at >> 12) == 0)
			return i; /* a page without access */
		((uint8_t *)to)[i] = byte_at(h, at);
	}
	/* Most inputs have a number of threads and VPs that is believed. */
	if (h->data[0] % 8 != 0 && bytes > 1 &&
	    (address == TABLE_USED || address == h->nr_vps_at)) {
		memset(to, 0, bytes);
		*(uint8_t *)to = address == TABLE_USED ? h->data[1] :
							 h->data[2] % MOST_VPS;
	}
	return bytes;
}

static void stay(struct wf_see_source *s)
{
	s->nr_maps = 0;
}

static struct wf_layout_item *add(struct wf_layout_item *item, const char *name,
				  const char *of, uint32_t what, uint64_t value,
				  uint32_t bytes)
{
	memset(item, 0, sizeof(*item));
	strncpy(item->name, name, sizeof(item->name) - 1);
	strncpy(item->of, of, sizeof(item->of) - 1);
	item->what = what;
	item->value = value;
	item->bytes = bytes;
	return item + 1;
}

static uint64_t number_for(const char *name)
{
	if (strcmp(name, "sched") == 0)
		return SCHED;
	if (strcmp(name, "table_used") == 0)
		return TABLE_USED;
	if (strcmp(name, "thread") == 0)
		return RECORD_BYTES;
	if (strcmp(name, "frame.bytes") == 0)
		return 64;
	if (strcmp(name, "runq.slots") == 0)
		return 1024;
	return 1 + strlen(name);
}

static struct wf_layout_item *add_words(struct wf_layout_item *item)
{
	static const char *const kinds[] = {
		"none",		"mutex",     "priority_mutex",
		"condition",	"semaphore", "rwlock_read",
		"rwlock_write", "barrier",   "join",
		"futex",	"io",	     "sleep",
		"signal",	"wait_word",
	};

	for (uint64_t i = 0; i < 256; i++)
		item = add(item, kinds[i % 14], "wait_kind", WF_LAYOUT_ENUM, i,
			   0);
	item = add(item, "taken", "retake", WF_LAYOUT_ENUM, 2, 0);
	item = add(item, "call", "io_op", WF_LAYOUT_ENUM, 255, 0);
	for (uint64_t i = 0; i < 8; i++)
		item = add(item, i % 4 == 3 ? "bound" : "multiplexed",
			   "thread_kind", WF_LAYOUT_ENUM, i, 0);
	return item;
}

static void make_layout(struct hostile *h)
{
	struct wf_layout_head head = { .magic = WF_LAYOUT_MAGIC,
				       .form = WF_LAYOUT_FORM,
				       .bytes = sizeof(head),
				       .version = "fuzz",
				       .item_bytes =
					       sizeof(struct wf_layout_item) };
	struct wf_layout_item *first, *item;
	uint64_t n = 0;

	first = item = (void *)(h->layout + sizeof(head));
	head.items = (const void *)(uintptr_t)(LAYOUT + sizeof(head));
#define FIELD(field, name)                                                \
	item = add(item, name, "", WF_LAYOUT_FIELD, n * 8 % RECORD_BYTES, \
		   1U << (h->data[3] + n) % 4);                           \
	n++;
	WF_SEE_FIELDS(FIELD)
#undef FIELD
#define NUMBER(field, name) \
	item = add(item, name, "", WF_LAYOUT_NUMBER, number_for(name), 0);
	WF_SEE_NUMBERS(NUMBER)
#undef NUMBER
	item = add_words(item);
	head.nr_items = (uint32_t)(item - first);
	require((char *)item <= h->layout + LAYOUT_BYTES, "room for items");
	for (item = first; item < first + head.nr_items; item++)
		if (strcmp(item->name, "sched.nr_vps") == 0)
			h->nr_vps_at = SCHED + item->value;
	/* The input changes some items, and seldom the head. */
	for (size_t i = 4; i + 3 < h->size && h->data[i] % 4 != 0 && i < 40;
	     i += 4) {
		struct wf_layout_item *one =
			&first[(h->data[i] * 256U + h->data[i + 1]) %
			       head.nr_items];

		one->value = (uint64_t)h->data[i + 2] << h->data[i + 3] % 64;
	}
	if (h->data[0] == 255)
		memcpy(&head.nr_items, h->data + 5, 4);
	memcpy(h->layout, &head, sizeof(head));
}

static void check_cycle(void *arg, const struct wf_see_thread *const *of,
			uint32_t nr)
{
	require(nr > 0, "a cycle has threads");
	for (uint32_t i = 0; i < nr; i++)
		require(of[i]->wait_kind != NULL, "threads of a cycle wait");
}

static void check_object(void *arg, const struct wf_see_thread *waiter,
			 uint32_t nr)
{
	require(nr > 0 && waiter->wait_kind != NULL, "objects have waiters");
}

static void check_row(const struct wf_see *see,
		      const struct wf_see_table *table,
		      const struct wf_see_thread *t)
{
	char text[WF_SEE_TEXT];

	require(t->tid > 0, "a row has a thread");
	require(t->state < WF_SEE_NR_STATES, "a state");
	require(t->vp < (int)table->nr_vps, "a VP that is there");
	require(t->owner == WF_SEE_NO_THREAD || t->owner < table->nr,
		"an owner that is there");
	require(memchr(t->name, '\0', sizeof(t->name)) != NULL, "a name ends");
	wf_see_describe(see, table, t, text, sizeof(text));
	require(strlen(text) < sizeof(text), "a description ends");
	wf_see_place(see, t->start, text, sizeof(text));
}

static void look(struct wf_see *see)
{
	struct wf_see_table table;

	if (wf_see_threads(see, &table) < 0)
		return;
	for (uint32_t i = 0; i < table.nr; i++)
		check_row(see, &table, &table.threads[i]);
	wf_see_cycles(see, &table, check_cycle, NULL);
	wf_see_objects(&table, check_object, NULL);
	wf_see_table_free(&table);
}

/* Adds threads to a core with these notes. */
static void add_threads(const struct wf_see *see, const uint8_t *data,
			size_t size)
{
	struct wf_see_buffer to = { 0 };
	struct wf_see_table table;
	uint32_t nr = 0;

	if (wf_see_threads(see, &table) < 0)
		return;
	require(wf_see_core_notes(see, &table, (const char *)data, size, &to,
				  &nr) == 0,
		"notes");
	require(nr <= table.nr, "no more notes than threads");
	require(to.nr >= nr * sizeof(struct elf_prstatus), "a note for each");
	wf_see_buffer_free(&to);
	wf_see_table_free(&table);
}

static void look_at_process(const uint8_t *data, size_t size)
{
	static struct hostile h;
	struct wf_see *see;

	h = (struct hostile){ .data = data, .size = size };
	h.map = (struct wf_see_map){ .start = LAYOUT,
				     .end = LAYOUT + LAYOUT_BYTES,
				     .name = "/libweft.so.0" };
	h.source =
		(struct wf_see_source){ .read = read_memory,
					.close = stay,
					.pid = data[3] % 2 != 0 ? getpid() : 0,
					.maps = &h.map,
					.nr_maps = 1 };
	make_layout(&h);
	if (wf_see_open_source(&h.source, &see) < 0)
		return;
	look(see);
	add_threads(see, data, size);
	wf_see_close(see);
}

static void plan(int fd)
{
	struct wf_see_core_plan plan = { 0 };
	struct wf_see_source *source;
	struct wf_see *see;

	if (wf_see_core_open_fd(fd, &source) < 0)
		return;
	if (wf_see_core_check(source) < 0) {
		source->close(source);
		return;
	}
	if (wf_see_open_source(source, &see) < 0)
		return;
	if (wf_see_core_plan(see, &plan) == 0)
		require(plan.notes_at % 4 == 0, "notes are aligned");
	wf_see_buffer_free(&plan.notes);
	wf_see_close(see);
}

static void look_at_core(const uint8_t *data, size_t size)
{
	Elf64_Ehdr header = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64 },
			      .e_type = ET_CORE,
			      .e_machine = WF_NATIVE_MACHINE,
			      .e_phoff = sizeof(header),
			      .e_phentsize = sizeof(Elf64_Phdr),
			      .e_phnum = data[1] % 4 };
	Elf64_Phdr note = { .p_type = PT_NOTE,
			    .p_offset = sizeof(header) + sizeof(note),
			    .p_filesz = size };
	char path[64];
	int fd = memfd_create("core", MFD_CLOEXEC);
	struct wf_see *see;

	require(fd >= 0, "memfd_create");
	if (data[2] == 0)
		memcpy(&header, data, sizeof(header) < size ? 16 : 4);
	/* A note of mapped files with the input's bytes. */
	require(write(fd, &header, sizeof(header)) > 0 &&
			write(fd, &note, sizeof(note)) > 0,
		"write");
	if (data[0] % 2 == 0) {
		Elf64_Nhdr n = { 4, data[3], NT_FILE };

		require(write(fd, &n, sizeof(n)) > 0, "write");
	}
	require(write(fd, data, size) > 0, "write");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (wf_see_open(path, &see) == 0) {
		look(see);
		wf_see_close(see);
	}
	plan(fd);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 20)
		return 0;
	look_at_process(data, size);
	look_at_core(data, size);
	return 0;
}

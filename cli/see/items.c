/* SPDX-License-Identifier: MIT */
/*
 * Finds the layout and reads it. The symbol weft_layout is for debuggers. Here
 * the magic number is searched for in the data of libweft.so, which needs
 * neither the library's file nor its symbol table. The file may be in another
 * mount namespace, replaced or deleted, and a core file has no symbol table.
 */
#include "items.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Far above what any version has; a process may lie about its numbers. */
enum {
	MAX_MAP_BYTES = 16 << 20,
	MAX_ITEMS = 4096,
	MAX_ITEM_BYTES = 4096,
};

static bool is_library(const char *name)
{
	static const char library[] = "libweft.so";
	const char *slash = strrchr(name, '/');

	return strncmp(slash != NULL ? slash + 1 : name, library,
		       sizeof(library) - 1) == 0;
}

static bool is_mapped(const struct wf_see_source *source, uint64_t address)
{
	for (size_t i = 0; i < source->nr_maps; i++) {
		const struct wf_see_map *map = &source->maps[i];

		if (address >= map->start && address < map->end)
			return true;
	}
	return false;
}

/*
 * The last page of the library's constants may hold the start of its data, as
 * the file has them: with addresses that are not those of this process. So a
 * head counts only if it leads to memory of the process.
 */
static const struct wf_layout_head *find(const struct wf_see_source *source,
					 const char *bytes, size_t size)
{
	static const char magic[] = WF_LAYOUT_MAGIC;

	for (size_t at = 0; at + sizeof(struct wf_layout_head) <= size;
	     at += 8) {
		const struct wf_layout_head *head = (const void *)(bytes + at);

		if (memcmp(head->magic, magic, sizeof(magic)) == 0 &&
		    is_mapped(source, (uintptr_t)head->items))
			return head;
	}
	return NULL;
}

/* Returns 1 if the map has the head, 0 if not, or -ENOMEM. */
static int search(const struct wf_see_source *source,
		  const struct wf_see_map *map, struct wf_layout_head *ret_head)
{
	uint64_t bytes = map->end - map->start;
	const struct wf_layout_head *head;
	size_t size;
	char *copy;

	if (map->is_code || map->end < map->start || bytes > MAX_MAP_BYTES)
		return 0;
	copy = malloc(bytes + 1);
	if (copy == NULL)
		return -ENOMEM;
	size = source->read(source, map->start, copy, bytes);
	head = find(source, copy, size);
	if (head != NULL)
		*ret_head = *head;
	free(copy);
	return head != NULL;
}

static int find_head(const struct wf_see_source *source,
		     struct wf_layout_head *ret_head)
{
	for (size_t i = 0; i < source->nr_maps; i++) {
		int found;

		if (!is_library(source->maps[i].name))
			continue;
		found = search(source, &source->maps[i], ret_head);
		if (found != 0)
			return found < 0 ? found : 0;
	}
	return WF_SEE_NOT_WEFT;
}

/* A longer item of a later version has further fields at its end. */
static int read_items(const struct wf_see_source *source,
		      const struct wf_layout_head *head,
		      struct wf_see_items *items)
{
	size_t bytes = (size_t)head->nr_items * head->item_bytes;
	char *copy = malloc(bytes + 1);
	int err = 0;

	items->items = calloc(head->nr_items + 1, sizeof(*items->items));
	if (copy == NULL || items->items == NULL)
		err = -ENOMEM;
	else if (source->read(source, (uintptr_t)head->items, copy, bytes) !=
		 bytes)
		err = WF_SEE_BROKEN;
	for (uint32_t i = 0; err == 0 && i < head->nr_items; i++) {
		struct wf_layout_item *item = &items->items[i];

		memcpy(item, copy + (size_t)i * head->item_bytes,
		       sizeof(*item));
		item->name[sizeof(item->name) - 1] = '\0';
		item->of[sizeof(item->of) - 1] = '\0';
	}
	items->nr = err == 0 ? head->nr_items : 0;
	free(copy);
	return err;
}

const struct wf_layout_item *wf_see_item(const struct wf_see_items *items,
					 const char *name, uint32_t what)
{
	for (uint32_t i = 0; i < items->nr; i++) {
		if (items->items[i].what == what &&
		    strcmp(items->items[i].name, name) == 0)
			return &items->items[i];
	}
	return NULL;
}

const char *wf_see_word(const struct wf_see_items *items, const char *of,
			uint64_t value)
{
	for (uint32_t i = 0; i < items->nr; i++) {
		const struct wf_layout_item *item = &items->items[i];

		if (item->what == WF_LAYOUT_ENUM && item->value == value &&
		    strcmp(item->of, of) == 0)
			return item->name;
	}
	return NULL;
}

static struct wf_see_field field_of(const struct wf_see_items *items,
				    const char *name)
{
	const struct wf_layout_item *item =
		wf_see_item(items, name, WF_LAYOUT_FIELD);

	if (item == NULL || item->value > 1 << 24 || item->bytes > 1 << 24)
		return (struct wf_see_field){ 0, 0 };
	return (struct wf_see_field){ item->value, item->bytes };
}

static uint64_t number_of(const struct wf_see_items *items, const char *name)
{
	static const uint32_t kinds[] = { WF_LAYOUT_NUMBER, WF_LAYOUT_STRUCT,
					  WF_LAYOUT_ADDRESS };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const struct wf_layout_item *item =
			wf_see_item(items, name, kinds[i]);

		if (item != NULL)
			return item->value;
	}
	return 0;
}

static void resolve(struct wf_see_items *items)
{
#define RESOLVE(name, text) items->name = field_of(items, text);
	WF_SEE_FIELDS(RESOLVE)
#undef RESOLVE
#define RESOLVE(name, text) items->name = number_of(items, text);
	WF_SEE_NUMBERS(RESOLVE)
#undef RESOLVE
}

int wf_see_items_read(const struct wf_see_source *source,
		      struct wf_see_items *ret_items)
{
	struct wf_layout_head head;
	int err = find_head(source, &head);

	if (err < 0)
		return err;
	memset(ret_items, 0, sizeof(*ret_items));
	memcpy(ret_items->version, head.version, sizeof(head.version));
	if (head.form != WF_LAYOUT_FORM)
		return WF_SEE_OTHER_FORM;
	if (head.nr_items > MAX_ITEMS || head.item_bytes > MAX_ITEM_BYTES ||
	    head.item_bytes < sizeof(struct wf_layout_item))
		return WF_SEE_BROKEN;
	err = read_items(source, &head, ret_items);
	if (err == 0)
		resolve(ret_items);
	return err;
}

void wf_see_items_free(struct wf_see_items *items)
{
	free(items->items);
	items->items = NULL;
	items->nr = 0;
}

static uint64_t number_in(const char *bytes, size_t size)
{
	uint64_t value = 0;

	memcpy(&value, bytes, size < sizeof(value) ? size : sizeof(value));
	return value;
}

uint64_t wf_see_get(const struct wf_see_field *field, const char *copy,
		    size_t bytes)
{
	if (field->bytes == 0 || field->offset > bytes ||
	    field->bytes > bytes - field->offset)
		return 0;
	return number_in(copy + field->offset, field->bytes);
}

uint64_t wf_see_peek(const struct wf_see_source *source, uint64_t address,
		     const struct wf_see_field *field)
{
	size_t size = field->bytes < 8 ? field->bytes : 8;
	char bytes[8];

	if (size == 0 ||
	    source->read(source, address + field->offset, bytes, size) != size)
		return 0;
	return number_in(bytes, size);
}

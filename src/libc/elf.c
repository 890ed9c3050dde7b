/* SPDX-License-Identifier: MIT */
/*
 * Reads the dynamic section of a loaded object for its GNU hash table, symbols,
 * strings and versions, and looks names up in these.
 */
#include "libc/elf.h"

#include <elf.h>
#include <string.h>

static const void *table_at(const struct link_map *map, ElfW(Addr) ptr)
{
	/* ld.so relocates most of these words in place, but not the vDSO's. */
	return (const void *)(ptr < map->l_addr ? ptr + map->l_addr : ptr);
}

static bool read_tables(const struct link_map *map, struct wf_elf_object *ret)
{
	struct wf_elf_object t = { .base = map->l_addr };

	for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
		const void *p = table_at(map, d->d_un.d_ptr);

		switch (d->d_tag) {
		case DT_GNU_HASH:
			t.gnu_hash = p;
			break;
		case DT_SYMTAB:
			t.symbols = p;
			break;
		case DT_STRTAB:
			t.strings = p;
			break;
		case DT_VERSYM:
			t.versions = p;
			break;
		case DT_SONAME:
			t.soname = d->d_un.d_val;
			break;
		}
	}
	*ret = t;
	return t.gnu_hash != NULL && t.symbols != NULL && t.strings != NULL;
}

static uint32_t gnu_hash(const char *name)
{
	uint32_t h = 5381;

	for (const unsigned char *c = (const unsigned char *)name; *c; c++)
		h = h * 33 + *c;
	return h;
}

static bool is_default_version(const struct wf_elf_object *t, uint32_t i)
{
	/* Bit 15 hides a version from plain references. */
	return t->versions == NULL || (t->versions[i] & 0x8000) == 0;
}

static void *symbol_address(const struct wf_elf_object *t, const ElfW(Sym) *s)
{
	void *p = (void *)(t->base + s->st_value);

	if (ELF64_ST_TYPE(s->st_info) == STT_GNU_IFUNC)
		p = ((void *(*)(void))p)();
	return p;
}

/*
 * The hash table has: nbuckets, first symbol, bloom words, shift; then the
 * bloom filter, the buckets and the chain.
 */
void *wf_elf_lookup(const struct wf_elf_object *t, const char *name)
{
	uint32_t nr_buckets = t->gnu_hash[0];
	uint32_t first = t->gnu_hash[1];
	uint32_t nr_bloom = t->gnu_hash[2];
	const uint32_t *buckets =
		(const uint32_t *)((const ElfW(Addr) *)&t->gnu_hash[4] +
				   nr_bloom);
	const uint32_t *chain = buckets + nr_buckets;
	uint32_t hash = gnu_hash(name);
	uint32_t i = buckets[hash % nr_buckets];

	if (i < first)
		return NULL;
	for (;; i++) {
		uint32_t h = chain[i - first];
		const ElfW(Sym) *s = &t->symbols[i];

		if ((h | 1) == (hash | 1) && s->st_shndx != SHN_UNDEF &&
		    is_default_version(t, i) &&
		    strcmp(t->strings + s->st_name, name) == 0)
			return symbol_address(t, s);
		if (h & 1)
			return NULL;
	}
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

static bool begins_with(const char *s, const char *beginning)
{
	return strncmp(s, beginning, strlen(beginning)) == 0;
}

/*
 * True if the object's file name begins with `object`. The program has no file
 * name here, but may be a library with a soname, as libc itself is.
 */
static bool is_named(const struct link_map *map, const char *object)
{
	struct wf_elf_object t;

	if (*map->l_name != '\0')
		return begins_with(base_name(map->l_name), object);
	return read_tables(map, &t) &&
	       begins_with(t.strings + t.soname, object);
}

bool wf_elf_find(const char *name, struct wf_elf_object *ret_object)
{
	const struct link_map *map = _r_debug.r_map;

	for (; map != NULL; map = map->l_next) {
		if (is_named(map, name) && read_tables(map, ret_object))
			return true;
	}
	return false;
}

void *wf_elf_symbol(const char *object, const char *name)
{
	struct wf_elf_object o;

	return wf_elf_find(object, &o) ? wf_elf_lookup(&o, name) : NULL;
}

/*
 * Symbols that an object does not define come before those in its hash table.
 */
bool wf_elf_program_imports(const char *name)
{
	struct wf_elf_object t;

	if (!read_tables(_r_debug.r_map, &t))
		return false;
	for (uint32_t i = 1; i < t.gnu_hash[1]; i++) {
		if (strcmp(t.strings + t.symbols[i].st_name, name) == 0)
			return true;
	}
	return false;
}

bool wf_elf_has_thread_sanitizer(void)
{
	/* "" is the program itself */
	static const char *const objects[] = { "libtsan.so", "libclang_rt.tsan",
					       "" };

	for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++) {
		if (wf_elf_symbol(objects[i], "__tsan_init") != NULL)
			return true;
	}
	return false;
}

char **wf_elf_environment(void)
{
	char ***argv = wf_elf_symbol("ld-linux", "_dl_argv");
	char **p = argv != NULL ? *argv : NULL;

	if (p == NULL)
		return NULL;
	while (*p != NULL)
		p++;
	return p + 1;
}

/* SPDX-License-Identifier: MIT */
/*
 * Each thread that starts gets fresh static TLS for all modules. Their initial
 * images lie in a cache. It is built in dl_iterate_phdr when the list of
 * modules has changed. So a renewal takes no lock and reads no memory that
 * dlclose may unmap.
 *
 * TLS-1. A cache is immutable once published. An old one stays, since a thread
 *     may still copy from it. There is one for each change of the modules with
 *     TLS while threads start. So caches take only the memory that they need,
 *     some hundred bytes, and lie one behind the other in a block.
 * TLS-2. A cache is valid if the loader's table of modules, before and after
 *     the copy, equals the table from when the cache was taken. ld.so enters a
 *     module into the table before it initialises the module's static TLS in
 *     the listed threads.
 * TLS-3. ld.so gives a new module a free row below the last one in use, or the
 *     row behind it. So the rows up to that one show every change.
 */
#include "libc/tls.h"

#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "libc/layout.h"
#include "libc/loader.h"
#include "libc/real.h"
#include "os/mem.h"

enum { BLOCK_BYTES = 64 * 1024 };

struct image {
	size_t below;	   /* thread register minus start of the block */
	const void *bytes; /* the bytes that are not zero, copied */
	size_t file_bytes, block_bytes;
};

struct row {
	uint64_t words[2]; /* generation, map */
};

struct wf_tls_cache {
	size_t nr_rows; /* rows of the table at that time: TLS-3 */
	struct row *rows;
	bool has_dynamic; /* some module's TLS is allocated lazily */
	bool are_few;	  /* at most FEW_ROWS rows, without gaps in ld.so */
	size_t nr, most;
	struct image *images;
	char *free, *end; /* room for the copies */
} WF_ALIGNED(16);

static _Atomic(struct wf_tls_cache *) current_cache;

/*
 * The rest of a block of caches. A thread takes it by an exchange, and is then
 * its only user.
 */
struct rest {
	size_t bytes;
};
static _Atomic(struct rest *) rest;

/*
 * Copies the first nr_rows of the loader's table of TLS modules, unless
 * ret_rows is NULL. Returns the index of the last row in use, plus one.
 */
static size_t copy_rows(struct row *ret_rows, size_t nr_rows)
{
	const char *list = *(char **)wf_libc.slotinfo_list;
	size_t index = 0, used = 0;

	while (list != NULL && index < nr_rows) {
		size_t len = *(const size_t *)list;
		const char *row = list + wf_libc.slotinfo_array_offset;

		for (size_t i = 0; i < len && index < nr_rows;
		     i++, index++, row += wf_libc.slotinfo_bytes) {
			const struct row *r = (const struct row *)row;

			if (ret_rows != NULL)
				ret_rows[index] = *r;
			if ((r->words[0] | r->words[1]) != 0)
				used = index + 1;
		}
		list = *(char *const *)(list + wf_libc.slotinfo_next_offset);
	}
	return used;
}

typedef uint64_t row_pair
	__attribute__((vector_size(16), aligned(8), may_alias));
typedef uint64_t known_pair __attribute__((vector_size(16), may_alias));

enum { FEW_ROWS = 8 };

/* Compares nr rows of the loader's with the known ones. */
static inline row_pair compare_rows(row_pair differ, const char *row,
				    const struct row *known, size_t nr)
{
	for (size_t i = 0; i < nr; i++, row += wf_libc.slotinfo_bytes)
		differ |= *(const row_pair *)row ^
			  *(const row_pair *)known[i].words;
	return differ;
}

/* Compares a few rows that have no gaps, without a loop. */
static inline row_pair compare_few(const char *rows, const struct row *known,
				   size_t nr)
{
	const row_pair *row = (const row_pair *)rows;
	row_pair differ = { 0, 0 };

	switch (nr) {
#define COMPARE(n)                                                      \
	case (n) + 1:                                                   \
		differ |= row[n] ^ *(const known_pair *)known[n].words; \
		__attribute__((fallthrough));
		COMPARE(7)
		COMPARE(6)
		COMPARE(5)
		COMPARE(4)
		COMPARE(3)
		COMPARE(2)
		COMPARE(1)
		COMPARE(0)
#undef COMPARE
	default:
		break;
	}
	return differ;
}

static bool is_zero(row_pair pair)
{
	return (pair[0] | pair[1]) == 0;
}

/* Is the table of modules, which is in several pieces, unchanged? */
static WF_NOINLINE bool is_current_long(const struct wf_tls_cache *c)
{
	const char *list = *(char **)wf_libc.slotinfo_list;
	const struct row *known = c->rows;
	size_t left = c->nr_rows;
	row_pair differ = { 0, 0 };

	while (list != NULL && left > 0) {
		size_t len = *(const size_t *)list;

		len = len < left ? len : left;
		differ = compare_rows(differ,
				      list + wf_libc.slotinfo_array_offset,
				      known, len);
		known += len;
		left -= len;
		list = *(char *const *)(list + wf_libc.slotinfo_next_offset);
	}
	return is_zero(differ);
}

/* True if the table is unchanged. Every thread that starts calls this. */
static inline bool is_current(const struct wf_tls_cache *c)
{
	const char *list = *(char **)wf_libc.slotinfo_list, *rows;

	if (WF_UNLIKELY(list == NULL || *(const size_t *)list < c->nr_rows))
		return is_current_long(c);
	rows = list + wf_libc.slotinfo_array_offset;
	if (WF_LIKELY(c->are_few))
		return is_zero(compare_few(rows, c->rows, c->nr_rows));
	return is_zero(
		compare_rows((row_pair){ 0, 0 }, rows, c->rows, c->nr_rows));
}

/*
 * The distance of the module's block below the thread register; 0: not static.
 */
static size_t static_offset(size_t module)
{
	const char *list = *(char **)wf_libc.slotinfo_list;

	while (list != NULL) {
		size_t len = *(const size_t *)list;

		if (module < len) {
			const char *row = list + wf_libc.slotinfo_array_offset +
					  module * wf_libc.slotinfo_bytes;
			const char *map =
				*(char *const *)(row +
						 wf_libc.slotinfo_map_offset);

			if (map == NULL)
				return 0;
			return *(const size_t *)(map +
						 wf_libc.tls_offset_offset);
		}
		module -= len;
		list = *(char *const *)(list + wf_libc.slotinfo_next_offset);
	}
	return 0;
}

static bool holds(const struct dl_phdr_info *info, const void *p)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uintptr_t begin = info->dlpi_addr + ph->p_vaddr;

		if (ph->p_type == PT_LOAD && (uintptr_t)p >= begin &&
		    (uintptr_t)p < begin + ph->p_memsz)
			return true;
	}
	return false;
}

/* libc's block is copied from the template, and weft's has wf_self. */
static bool is_ours_or_libc(const struct dl_phdr_info *info)
{
	return holds(info, (void *)&wf_tls_renew) ||
	       holds(info, (void *)wf_libc.call_tls_dtors);
}

static int add_module(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct wf_tls_cache *c = arg;
	const ElfW(Phdr) *tls = NULL;
	size_t below;
	char *copy;

	if (!wf_loader_has(info))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type == PT_TLS)
			tls = &info->dlpi_phdr[i];
	}
	if (tls == NULL || is_ours_or_libc(info))
		return 0;
	below = static_offset(info->dlpi_tls_modid);
	if (below == 0 || below > wf_libc.static_tls_bytes) {
		c->has_dynamic = true;
		return 0;
	}
	if (c->nr == c->most || tls->p_filesz > (size_t)(c->end - c->free))
		return 0;
	copy = c->free;
	memcpy(copy, (void *)(info->dlpi_addr + tls->p_vaddr), tls->p_filesz);
	c->free += tls->p_filesz;
	c->images[c->nr++] =
		(struct image){ below, copy, tls->p_filesz, tls->p_memsz };
	return 0;
}

/* Takes room for a cache. Stores the end of the remaining room. */
static struct wf_tls_cache *take_room(size_t bytes, char **ret_end)
{
	struct rest *r = atomic_exchange(&rest, NULL);
	size_t fresh = wf_align_up(bytes + BLOCK_BYTES, WF_PAGE);

	if (r != NULL && r->bytes >= bytes) {
		*ret_end = (char *)r + r->bytes;
		return (struct wf_tls_cache *)r;
	}
	r = wf_os_reserve(fresh);
	if (r != NULL)
		*ret_end = (char *)r + fresh;
	return (struct wf_tls_cache *)r;
}

static void leave_rest(char *begin, char *end)
{
	struct rest *r = (struct rest *)wf_align_up((uintptr_t)begin, 16);

	if ((char *)(r + 1) > end)
		return;
	r->bytes = (size_t)(end - (char *)r);
	/* seq_cst: the size; pairs with take_room */
	atomic_store(&rest, r);
}

/*
 * Takes no lock: two threads that build at the same time build the same cache.
 */
static struct wf_tls_cache *build(void)
{
	size_t nr_rows = copy_rows(NULL, SIZE_MAX) + 1;
	size_t bytes = sizeof(struct wf_tls_cache) +
		       nr_rows * (sizeof(struct row) + sizeof(struct image)) +
		       wf_libc.static_tls_bytes;
	struct wf_tls_cache *c;
	char *end;

	c = take_room(bytes, &end);
	if (c == NULL)
		return NULL;
	*c = (struct wf_tls_cache){
		.nr_rows = nr_rows,
		.are_few = nr_rows <= FEW_ROWS &&
			   wf_libc.slotinfo_bytes == sizeof(struct row),
		.most = nr_rows,
	};
	c->rows = (struct row *)(c + 1);
	c->images = (struct image *)(c->rows + nr_rows);
	c->free = (char *)(c->images + nr_rows);
	c->end = (char *)c + bytes;
	memset(c->rows, 0, nr_rows * sizeof(struct row));
	copy_rows(c->rows, nr_rows); /* TLS-2 */
	wf_real.dl_iterate_phdr(add_module, c);
	leave_rest(c->free, end);
	/* release: publishes the cache (TLS-1); pairs with the renewal */
	wf_store_release(&current_cache, c);
	return c;
}

static void copy_images(uintptr_t tcb, const struct wf_tls_cache *c)
{
	for (size_t i = 0; i < c->nr; i++) {
		const struct image *im = &c->images[i];
		char *p = (char *)(tcb - im->below);

		memcpy(p, im->bytes, im->file_bytes);
		memset(p + im->file_bytes, 0, im->block_bytes - im->file_bytes);
	}
}

static uint64_t mark_of(const struct wf_tls_cache *c, uintptr_t tcb)
{
	return c == NULL || c->has_dynamic ? WF_TLS_UNKNOWN :
					     wf_tls_generation(tcb);
}

static WF_NOINLINE uint64_t renew(uintptr_t tcb, const struct wf_tls_cache *c)
{
	if (WF_UNLIKELY(c == NULL || !is_current(c)))
		c = build();
	while (c != NULL && c->nr > 0) {
		copy_images(tcb, c);
		if (WF_LIKELY(is_current(c))) /* TLS-2 */
			break;
		c = build();
	}
	return mark_of(c, tcb);
}

WF_LINK_INLINE uint64_t wf_tls_renew(uintptr_t tcb)
{
	const struct wf_tls_cache *c = wf_load_acquire(&current_cache);

	/* The usual case: only libc and weft have static TLS. */
	if (WF_LIKELY(c != NULL && c->nr == 0 && is_current(c)))
		return mark_of(c, tcb);
	return renew(tcb, c);
}

/* One module's entry in the DTV: the block, and the address to free. */
struct dtv_entry {
	void *block;
	void *to_free;
};

void wf_tls_release(uintptr_t tcb)
{
	struct dtv_entry *dtv = *wf_libc_dtv_slot(tcb);
	size_t nr = (size_t)dtv[-1].block; /* this entry has a counter */

	for (size_t i = 1; i <= nr; i++) {
		if (dtv[i].to_free == NULL)
			continue;
		free(dtv[i].to_free);
		dtv[i].to_free = NULL;
		dtv[i].block = (void *)-1L; /* allocated at the next use */
	}
}

/* --- thread-specific data ----------------------------------------------- */

enum { KEYS_PER_BLOCK = 32, NR_BLOCKS = PTHREAD_KEYS_MAX / KEYS_PER_BLOCK };

struct key {
	uintptr_t sequence; /* odd: in use */
	void (*destructor)(void *);
};

struct key_data {
	uintptr_t sequence;
	void *data;
};

/* Runs the destructors of all values once. Returns true if one ran. */
static bool run_destructors(struct key_data **blocks)
{
	const struct key *keys = wf_libc.keys;
	bool any = false;

	for (size_t i = 0; i < PTHREAD_KEYS_MAX; i++) {
		struct key_data *block = blocks[i / KEYS_PER_BLOCK];
		struct key_data *d = &block[i % KEYS_PER_BLOCK];
		void *data;

		if (block == NULL) {
			i += KEYS_PER_BLOCK - 1;
			continue;
		}
		data = d->data;
		if (data == NULL)
			continue;
		d->data = NULL;
		if (d->sequence != keys[i].sequence ||
		    keys[i].destructor == NULL)
			continue;
		any = true;
		keys[i].destructor(data);
	}
	return any;
}

WF_NOINLINE bool wf_tsd_destroy_slow(uintptr_t tcb)
{
	struct key_data **blocks =
		(struct key_data **)(tcb + wf_libc.specific_offset);

	for (int i = 0; i < PTHREAD_DESTRUCTOR_ITERATIONS; i++) {
		if (!run_destructors(blocks))
			break;
	}
	/* Block 0 is part of the TCB. */
	for (size_t i = 1; i < NR_BLOCKS; i++) {
		if (blocks[i] == NULL)
			continue;
		free(blocks[i]);
		blocks[i] = NULL;
	}
	return true;
}

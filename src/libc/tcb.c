/*
 * Invariants:
 *
 * T1. The template is written by the template thread only and constant after
 *     it was joined.
 * T2. A TCB is in ld.so's list before ld.so allocates its TLS, so a library
 *     that is loaded at the same time initialises either through the list or
 *     through the allocation, never not at all.
 * T3. Slots are inserted between the two anchors and never removed, so ld.so,
 *     which walks the list under a lock that we cannot take, always sees a
 *     whole list: an insertion publishes the new element by one release store.
 * T4. A prepared slot's DTV word never changes, not even for a moment: a fork
 *     may copy the moment, and the child uses the slot again.
 *
 * Rejected: building a TCB field by field. The fields that matter differ
 * between releases; a copy of a real one has them all.
 */
#include "libc/tcb.h"

#include <errno.h>
#include <link.h>
#include <linux/rseq.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "arch/arch.h"
#include "base/atomic.h"
#include "base/log.h"
#include "base/self.h"
#include "base/spin.h"
#include "libc/elf.h"
#include "libc/layout.h"
#include "libc/real.h"
#include "os/mem.h"

enum {
	TEMPLATE_STACK_MARGIN = 256 * 1024,
	MAX_TCB_BYTES = 16 * 1024,
	MAX_LIBC_TLS_BYTES = 4 * 1024,
	MAX_RELOCATIONS = 64,
	MAX_MALLOC_WORDS = 8,
};

/* An 8-byte word of the template that points into the template's own TCB. */
struct relocation {
	uint32_t offset;  /* from the start of the block it is in */
	int64_t distance; /* what it points to, minus the thread register */
};

struct image {
	unsigned char bytes[MAX_TCB_BYTES];
	size_t size;
	struct relocation relocations[MAX_RELOCATIONS];
	size_t nr_relocations;
};

static struct {
	struct image tcb;
	struct image libc_tls;
	size_t libc_tls_below; /* thread register minus start of the block */
	size_t stack_offset;   /* pthread.stackblock; its size follows */
	uint32_t malloc_words[MAX_MALLOC_WORDS]; /* offsets in libc_tls */
	size_t nr_malloc_words;
} template;

static size_t template_stack_bytes; /* TLS and a margin */
static struct wf_spin list_lock = WF_SPIN_INIT;
static uintptr_t anchor;

/* --- taking the template ------------------------------------------------ */

static int find_libc_tls(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char *slash = strrchr(info->dlpi_name, '/');
	const char *file = slash != NULL ? slash + 1 : info->dlpi_name;

	if (strncmp(file, "libc.so", 7) != 0)
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type != PT_TLS)
			continue;
		template.libc_tls.size = info->dlpi_phdr[i].p_memsz & ~7UL;
		template.libc_tls_below = wf_cpu_thread_register() -
					  (uintptr_t)info->dlpi_tls_data;
	}
	return 1;
}

static void find_relocations(struct image *im, uintptr_t tcb)
{
	uintptr_t low = tcb - wf_libc.static_tls_bytes;
	uintptr_t high = tcb + wf_libc.pthread_bytes;

	im->nr_relocations = 0;
	for (size_t i = 0; i + 8 <= im->size; i += 8) {
		uintptr_t word;

		memcpy(&word, im->bytes + i, 8);
		if (word < low || word >= high)
			continue;
		WF_CHECK(im->nr_relocations < MAX_RELOCATIONS,
			 "too many self-references in libc's TCB");
		im->relocations[im->nr_relocations++] =
			(struct relocation){ (uint32_t)i,
					     (int64_t)(word - tcb) };
	}
}

/* libc's words that a first malloc of a thread sets: tcache and arena. */
static void find_malloc_words(const unsigned char *now)
{
	void *volatile p = wf_libc.libc_malloc(24);

	wf_libc.libc_free(p);
	template.nr_malloc_words = 0;
	for (size_t i = 0; i + 8 <= template.libc_tls.size; i += 8) {
		if (memcmp(now + i, template.libc_tls.bytes + i, 8) == 0)
			continue;
		WF_CHECK(template.nr_malloc_words < MAX_MALLOC_WORDS,
			 "too many words that malloc sets");
		template.malloc_words[template.nr_malloc_words++] = (uint32_t)i;
	}
}

/* pthread.stackblock and stackblock_size: two words with known values. */
static void find_stack_words(uintptr_t stack)
{
	template.stack_offset = 0;
	for (size_t i = 0; i + 16 <= template.tcb.size; i += 8) {
		uint64_t w[2];

		memcpy(w, template.tcb.bytes + i, 16);
		if (w[0] == stack && w[1] == template_stack_bytes)
			template.stack_offset = i;
	}
}

/* The template's CPU number must not be everybody's: none is known. */
static void forget_rseq(void)
{
	const ptrdiff_t *offset = wf_elf_symbol("ld-linux", "__rseq_offset");
	const uint32_t unknown = (uint32_t)RSEQ_CPU_ID_UNINITIALIZED;
	size_t cpu_id;

	if (offset == NULL || *offset < 0)
		return;
	cpu_id = (size_t)*offset + offsetof(struct rseq, cpu_id);
	if (cpu_id + sizeof(unknown) <= template.tcb.size)
		memcpy(template.tcb.bytes + cpu_id, &unknown, sizeof(unknown));
}

static void *template_thread(void *stack)
{
	uintptr_t tcb = wf_cpu_thread_register();

	errno = 0;
	wf_real.dl_iterate_phdr(find_libc_tls, NULL);
	template.tcb.size = wf_libc.pthread_bytes;
	if (template.tcb.size > MAX_TCB_BYTES ||
	    template.libc_tls.size > MAX_LIBC_TLS_BYTES ||
	    template.libc_tls.size == 0)
		return (void *)(intptr_t)-ENOTSUP;
	memcpy(template.tcb.bytes, (void *)tcb, template.tcb.size);
	memcpy(template.libc_tls.bytes, (void *)(tcb - template.libc_tls_below),
	       template.libc_tls.size);
	forget_rseq();
	find_relocations(&template.tcb, tcb);
	find_relocations(&template.libc_tls, tcb);
	find_stack_words((uintptr_t)stack);
	find_malloc_words((unsigned char *)(tcb - template.libc_tls_below));
	return NULL;
}

int wf_tcb_template_take(void)
{
	size_t bytes = wf_align_up(wf_libc.static_tls_bytes, WF_PAGE) +
		       TEMPLATE_STACK_MARGIN;
	void *stack = wf_os_reserve(bytes);
	void *result = NULL;
	pthread_attr_t attr;
	pthread_t thread;
	int err;

	template_stack_bytes = bytes;
	if (stack == NULL)
		return -ENOMEM;
	pthread_attr_init(&attr);
	/* A caller's stack, so that fork treats the copies as such. */
	pthread_attr_setstack(&attr, stack, bytes);
	err = wf_real.pthread_create(&thread, &attr, template_thread, stack);
	if (err == 0)
		err = wf_real.pthread_join(thread, &result);
	pthread_attr_destroy(&attr);
	wf_os_release(stack, bytes);
	return err != 0 ? -err : (int)(intptr_t)result;
}

/* --- using it ----------------------------------------------------------- */

static void relocate(const struct image *im, void *block, uintptr_t tcb)
{
	for (size_t i = 0; i < im->nr_relocations; i++) {
		const struct relocation *r = &im->relocations[i];
		uintptr_t word = tcb + (uintptr_t)r->distance;

		memcpy((char *)block + r->offset, &word, 8);
	}
}

/* What belongs to the slot for ever: the list words (T3) and the DTV (T4). */
static bool is_kept(size_t offset)
{
	size_t list = wf_libc.list_offset;

	return offset == wf_libc.dtv_offset || offset == list ||
	       offset == list + sizeof(void *);
}

/* All of the TCB but what is kept. */
static void copy_tcb(uintptr_t tcb, int tid, void *stack_low,
		     size_t stack_bytes)
{
	const struct image *im = &template.tcb;
	size_t list = wf_libc.list_offset;
	size_t behind_list = list + 2 * sizeof(void *);
	size_t dtv = wf_libc.dtv_offset;
	size_t behind_dtv = dtv + sizeof(void *);
	char *p = (char *)tcb;

	WF_CHECK(behind_dtv <= list, "libc's TCB header is not in front");
	memcpy(p, im->bytes, dtv);
	memcpy(p + behind_dtv, im->bytes + behind_dtv, list - behind_dtv);
	memcpy(p + behind_list, im->bytes + behind_list,
	       im->size - behind_list);
	for (size_t i = 0; i < im->nr_relocations; i++) {
		const struct relocation *r = &im->relocations[i];
		uintptr_t word = tcb + (uintptr_t)r->distance;

		if (!is_kept(r->offset))
			memcpy(p + r->offset, &word, 8);
	}
	wf_libc_set_tid(tcb, tid);
	if (template.stack_offset != 0) {
		uint64_t w[2] = { (uintptr_t)stack_low, stack_bytes };

		memcpy(p + template.stack_offset, w, 16);
	}
}

static void copy_libc_tls(uintptr_t tcb, bool keep_malloc_words)
{
	const struct image *im = &template.libc_tls;
	char *block = (char *)(tcb - template.libc_tls_below);
	uint64_t kept[MAX_MALLOC_WORDS];
	size_t nr = keep_malloc_words ? template.nr_malloc_words : 0;

	for (size_t i = 0; i < nr; i++)
		memcpy(&kept[i], block + template.malloc_words[i], 8);
	memcpy(block, im->bytes, im->size);
	relocate(im, block, tcb);
	for (size_t i = 0; i < nr; i++)
		memcpy(block + template.malloc_words[i], &kept[i], 8);
}

void wf_tcb_link(uintptr_t tcb)
{
	_Atomic(void *) *first =
		(_Atomic(void *) *)(anchor + wf_libc.list_offset);
	void **links = (void **)(tcb + wf_libc.list_offset);
	void **next;

	wf_spin_lock(&list_lock);
	next = wf_load_relaxed(first);
	links[0] = next;
	links[1] = (void *)first;
	next[1] = links;
	/* release: ld.so walks by the next words (T3). */
	wf_store_release(first, (void *)links);
	wf_spin_unlock(&list_lock);
}

int wf_tcb_prepare(uintptr_t tcb, int tid, void *stack_low, size_t stack_bytes,
		   struct wf_thread *self)
{
	*wf_libc_dtv_slot(tcb) = NULL;
	copy_tcb(tcb, tid, stack_low, stack_bytes);
	if (wf_libc.allocate_tls((void *)tcb) == NULL)
		return -ENOMEM;
	copy_libc_tls(tcb, false);
	*(struct wf_thread **)(tcb + wf_libc.self_offset) = self;
	return 0;
}

void wf_tcb_renew(uintptr_t tcb, int tid, void *stack_low, size_t stack_bytes)
{
	copy_tcb(tcb, tid, stack_low, stack_bytes);
	copy_libc_tls(tcb, true);
}

void wf_tcb_anchor(uintptr_t tcb0, uintptr_t tcb1)
{
	void **head = wf_libc.stack_user_list;
	void **a = (void **)(tcb0 + wf_libc.list_offset);
	void **b = (void **)(tcb1 + wf_libc.list_offset);
	void **old_first = head[0];

	*wf_libc_dtv_slot(tcb0) = NULL;
	*wf_libc_dtv_slot(tcb1) = NULL;
	copy_tcb(tcb0, 0, NULL, 0);
	copy_tcb(tcb1, 0, NULL, 0);
	a[0] = b;
	a[1] = head;
	b[0] = old_first;
	b[1] = a;
	old_first[1] = b;
	head[0] = a;
	anchor = tcb0;
	list_lock = WF_SPIN_INIT;
}

size_t wf_tcb_minimal_bytes(void)
{
	return wf_libc.static_tls_bytes + wf_libc.pthread_bytes + 64;
}

uintptr_t wf_tcb_minimal_make(void *block, struct wf_thread *self)
{
	uintptr_t own = wf_cpu_thread_register();
	uintptr_t tcb = ((uintptr_t)block + wf_libc.static_tls_bytes + 63) &
			~63UL;
	const struct image *im = &template.tcb;

	/* The header alone: self pointers, canary, pointer guard. */
	for (size_t i = 0; i < im->nr_relocations; i++) {
		const struct relocation *r = &im->relocations[i];

		if (r->offset < WF_ARCH_TCB_HEADER_BYTES)
			*(uintptr_t *)(tcb + r->offset) =
				tcb + (uintptr_t)r->distance;
	}
	memcpy((void *)(tcb + WF_ARCH_TCB_GUARDS_OFFSET),
	       (void *)(own + WF_ARCH_TCB_GUARDS_OFFSET),
	       WF_ARCH_TCB_GUARDS_BYTES);
	*(struct wf_thread **)(tcb + wf_libc.self_offset) = self;
	return tcb;
}

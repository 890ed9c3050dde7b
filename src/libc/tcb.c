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
 * T5. What a thread may leave in a TCB without wf_tcb_is_soiled or its caller
 *     knowing lies between tid and cancelhandling. libc, too, uses the TCBs of
 *     ended threads again and sets little else anew. To write all 2 KiB costs
 *     a thread that does little most of its time, in cache misses.
 *
 * Rejected: building a TCB field by field. The fields that matter differ
 * between releases; a copy of a real one has them all.
 */
#include "libc/tcb.h"

#include <errno.h>
#include <link.h>
#include <linux/futex.h>
#include <linux/rseq.h>
#include <pthread.h>
#include <resolv.h>
#undef p_type /* resolv.h takes the name away from link.h */
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
#include "os/sys.h"

enum {
	TEMPLATE_STACK_MARGIN = 256 * 1024,
	MAX_TCB_BYTES = 16 * 1024,
	MAX_LIBC_TLS_BYTES = 4 * 1024,
	MAX_RELOCATIONS = 64,
	MAX_MALLOC_WORDS = 8,
	MAX_WINDOW_BYTES = 256,
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
	size_t robust_offset;  /* the robust list's head; 0 if unknown */
	uint32_t malloc_words[MAX_MALLOC_WORDS]; /* offsets in libc_tls */
	size_t nr_malloc_words;
	/* From behind the list words to cancelhandling (T5); 0 bytes: libc has
	 * another order, and everything is written each time. */
	size_t window, window_bytes;
	size_t first_in_window, end_of_window; /* of the relocations */
	size_t resolver_offset;		       /* pthread.res */
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

/* Static TLS lies next to the thread register, on the template's stack. */
static int see_static_tls(struct dl_phdr_info *info, size_t size, void *arg)
{
	size_t below =
		wf_cpu_thread_register() - (uintptr_t)info->dlpi_tls_data;

	if (info->dlpi_tls_data != NULL && below < wf_libc.static_tls_bytes &&
	    below > wf_libc.static_tls_used)
		wf_libc.static_tls_used = below;
	return 0;
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

/* Natively libc tells the kernel, once in each thread. */
static void find_robust_list(uintptr_t tcb)
{
	uintptr_t head = 0;
	size_t bytes;

	template.robust_offset = 0;
	if (wf_sys(SYS_get_robust_list, 0, &head, &bytes) == 0 && head > tcb &&
	    head + sizeof(struct robust_list_head) <= tcb + template.tcb.size)
		template.robust_offset = head - tcb;
}

/* pthread.specific_used: what else changes in the TCB by the first value. */
static void find_specific_used(uintptr_t tcb)
{
	const unsigned char *now = (unsigned char *)tcb;
	unsigned char before[MAX_TCB_BYTES];
	size_t first = *(uintptr_t *)(now + wf_libc.specific_offset) - tcb;
	pthread_key_t key;

	wf_libc.specific_used_offset = 0;
	if (pthread_key_create(&key, NULL) != 0)
		return;
	memcpy(before, now, template.tcb.size);
	pthread_setspecific(key, now);
	/* Behind the tables of values, of which the first is in front. */
	for (size_t i = wf_libc.specific_offset; i < template.tcb.size; i++) {
		bool is_flag = before[i] == 0 && now[i] == 1;

		if (is_flag && first < wf_libc.specific_offset)
			wf_libc.specific_used_offset = i;
		if (is_flag)
			break;
	}
	pthread_setspecific(key, NULL);
	pthread_key_delete(key);
}

static void find_window(void)
{
	const struct image *im = &template.tcb;
	size_t begin = wf_libc.list_offset + 2 * sizeof(void *);
	size_t end = wf_align_up(wf_libc.cancel_offset + sizeof(int), 8UL);
	size_t i = 0;

	template.window = begin;
	template.window_bytes = 0;
	if (end <= begin || end - begin > MAX_WINDOW_BYTES)
		return;
	template.window_bytes = end - begin;
	while (i < im->nr_relocations && im->relocations[i].offset < begin)
		i++;
	template.first_in_window = i;
	while (i < im->nr_relocations && im->relocations[i].offset < end)
		i++;
	template.end_of_window = i;
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
	wf_real.dl_iterate_phdr(see_static_tls, NULL);
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
	find_robust_list(tcb);
	find_malloc_words((unsigned char *)(tcb - template.libc_tls_below));
	find_specific_used(tcb);
	find_window();
	template.resolver_offset = (uintptr_t)__res_state() - tcb;
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

/* Short blocks of words: memcpy takes as long to begin. */
static inline void copy_words(void *to, const void *from, size_t bytes)
{
	typedef uint64_t pair
		__attribute__((vector_size(16), aligned(8), may_alias));
	typedef uint64_t word __attribute__((may_alias));
	size_t i = 0;

	for (; i + 16 <= bytes; i += 16)
		*(pair *)((char *)to + i) =
			*(const pair *)((const char *)from + i);
	if (i < bytes)
		*(word *)((char *)to + i) =
			*(const word *)((const char *)from + i);
}

/* Relocations number first to end - 1. */
static inline void relocate(const struct image *im, size_t first, size_t end,
			    void *block, uintptr_t tcb)
{
	for (size_t i = first; i < end; i++) {
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
	copy_words(block, im->bytes, im->size);
	relocate(im, 0, im->nr_relocations, block, tcb);
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

void wf_tcb_renew_clean(uintptr_t tcb, int tid)
{
	const struct image *im = &template.tcb;

	copy_words((char *)tcb + template.window, im->bytes + template.window,
		   template.window_bytes); /* T5 */
	relocate(im, template.first_in_window, template.end_of_window,
		 (void *)tcb, tcb);
	wf_libc_set_tid(tcb, tid);
	copy_libc_tls(tcb, true);
}

void wf_tcb_prefetch(uintptr_t tcb)
{
	const char *p = (const char *)tcb;
	const char *libc_tls = p - template.libc_tls_below;

	__builtin_prefetch(p, 1);
	__builtin_prefetch(p + wf_libc.self_offset);
	__builtin_prefetch(p + template.window, 1);
	__builtin_prefetch(p + wf_libc.cancel_offset, 1);
	__builtin_prefetch(p + wf_libc.specific_used_offset);
	__builtin_prefetch(p + template.resolver_offset);
	for (size_t i = 0; i < template.libc_tls.size; i += WF_CACHE_LINE)
		__builtin_prefetch(libc_tls + i, 1);
}

bool wf_tcb_is_soiled(uintptr_t tcb)
{
	const struct __res_state *res =
		(struct __res_state *)(tcb + template.resolver_offset);

	return template.window_bytes == 0 || res->options != 0 ||
	       res->retrans != 0 || res->retry != 0;
}

/* The word of the TCB's libc block that the template's n-th malloc word is. */
static uint64_t *malloc_word(uintptr_t tcb, size_t n)
{
	return (uint64_t *)(tcb - template.libc_tls_below +
			    template.malloc_words[n]);
}

static uint64_t unset_malloc_word(size_t n)
{
	uint64_t word;

	memcpy(&word, template.libc_tls.bytes + template.malloc_words[n], 8);
	return word;
}

bool wf_tcb_has_cache(uintptr_t tcb)
{
	for (size_t i = 0; i < template.nr_malloc_words; i++) {
		if (*malloc_word(tcb, i) != unset_malloc_word(i))
			return true;
	}
	return false;
}

void wf_tcb_take_cache(uintptr_t tcb)
{
	uintptr_t own = wf_cpu_thread_register();

	/* Who took over malloc has called it: it is not libc's then. */
	if (wf_tcb_has_cache(own))
		return;
	for (size_t i = 0; i < template.nr_malloc_words; i++) {
		uint64_t word = *malloc_word(tcb, i);

		/* In this order: a fork between leaves it to nobody. */
		*malloc_word(tcb, i) = unset_malloc_word(i);
		*malloc_word(own, i) = word;
	}
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

uintptr_t wf_tcb_robust_list(uintptr_t tcb)
{
	return template.robust_offset != 0 ? tcb + template.robust_offset : 0;
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

/* SPDX-License-Identifier: MIT */
/*
 * Takes the template of all TCBs. A native thread runs on a known stack, and
 * its TCB and libc's TLS block are copied. libc exports no offsets for some
 * words: these are found by their value, or by a trial that changes them.
 * Examples are the words that malloc sets and the flag for thread-specific
 * data.
 */
#include "libc/template.h"

#include <errno.h>
#include <link.h>
#include <linux/futex.h>
#include <linux/rseq.h>
#include <pthread.h>
#include <resolv.h>
#undef p_type /* resolv.h defines the name, which is a field in link.h */
#include <stdbool.h>
#include <string.h>

#include "arch/arch.h"
#include "base/log.h"
#include "libc/elf.h"
#include "libc/layout.h"
#include "libc/real.h"
#include "libc/tcb.h"
#include "os/mem.h"
#include "os/sys.h"

enum {
	STACK_MARGIN = 256 * 1024,
	MAX_LIBC_TLS_BYTES = 4 * 1024,
};

struct wf_template wf_template;

static size_t stack_bytes; /* TLS and a margin */
static uintptr_t creator;  /* TCB of the thread that makes the template */
static uintptr_t libc_data, libc_data_end;

static void read_libc_data(const struct dl_phdr_info *info, const ElfW(Phdr) *p)
{
	if (p->p_type != PT_LOAD || (p->p_flags & PF_W) == 0)
		return;
	libc_data = info->dlpi_addr + p->p_vaddr;
	libc_data_end = libc_data + p->p_memsz;
}

static int find_libc_tls(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char *slash = strrchr(info->dlpi_name, '/');
	const char *file = slash != NULL ? slash + 1 : info->dlpi_name;

	if (strncmp(file, "libc.so", 7) != 0)
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		read_libc_data(info, &info->dlpi_phdr[i]);
		if (info->dlpi_phdr[i].p_type != PT_TLS)
			continue;
		wf_template.libc_tls.size = info->dlpi_phdr[i].p_memsz & ~7UL;
		wf_template.libc_tls_below = wf_cpu_thread_register() -
					     (uintptr_t)info->dlpi_tls_data;
	}
	return 1;
}

/*
 * Finds how far the static TLS of the template thread extends below its thread
 * register. Both are on that thread's stack.
 */
static int read_static_tls(struct dl_phdr_info *info, size_t size, void *arg)
{
	size_t below =
		wf_cpu_thread_register() - (uintptr_t)info->dlpi_tls_data;

	if (info->dlpi_tls_data != NULL && below < wf_libc.static_tls_bytes &&
	    below > wf_libc.static_tls_used)
		wf_libc.static_tls_used = below;
	return 0;
}

static void find_relocations(struct wf_image *im, uintptr_t tcb)
{
	uintptr_t low = tcb - wf_libc.static_tls_bytes;
	uintptr_t high = tcb + wf_libc.pthread_bytes;

	im->nr_relocations = 0;
	for (size_t i = 0; i + 8 <= im->size; i += 8) {
		uintptr_t word;

		memcpy(&word, im->bytes + i, 8);
		if (word < low || word >= high)
			continue;
		WF_CHECK(im->nr_relocations < WF_TEMPLATE_RELOCATIONS,
			 "too many self-references in libc's TCB");
		im->relocations[im->nr_relocations++] =
			(struct wf_relocation){ (uint32_t)i,
						(int64_t)(word - tcb) };
	}
}

/*
 * Finds the word with the thread's arena. If it is not set, the first malloc
 * makes an arena, which takes 64 MiB of address space. In the creator the word
 * is set and points into libc's data, to the main arena. Here it is 0. Stores
 * the creator's value and returns the word here; NULL if no word fits, or more
 * than one.
 */
static uint64_t *find_arena_word(uintptr_t tcb, uint64_t *ret_arena)
{
	uintptr_t own = tcb - wf_template.libc_tls_below;
	uintptr_t others = creator - wf_template.libc_tls_below;
	uint64_t *found = NULL;

	for (size_t i = 0; i + 8 <= wf_template.libc_tls.size; i += 8) {
		uint64_t word = *(uint64_t *)(others + i);

		if (*(uint64_t *)(own + i) != 0 || word < libc_data ||
		    word >= libc_data_end)
			continue;
		if (found != NULL)
			return NULL;
		found = (uint64_t *)(own + i);
		*ret_arena = word;
	}
	return found;
}

/*
 * True if malloc's block is from the main arena. Its size lies before it, with
 * three flags.
 */
static bool call_malloc(void)
{
	enum { NOT_OF_MAIN_ARENA = 4 };
	uint64_t *volatile p = wf_libc.libc_malloc(24);
	bool is_of_main = p != NULL && (p[-1] & NOT_OF_MAIN_ARENA) == 0;

	wf_libc.libc_free(p);
	return is_of_main;
}

static void note_malloc_words(const unsigned char *now)
{
	wf_template.nr_malloc_words = 0;
	for (size_t i = 0; i + 8 <= wf_template.libc_tls.size; i += 8) {
		if (memcmp(now + i, wf_template.libc_tls.bytes + i, 8) == 0)
			continue;
		WF_CHECK(wf_template.nr_malloc_words < WF_TEMPLATE_MALLOC_WORDS,
			 "too many words that malloc sets");
		wf_template.malloc_words[wf_template.nr_malloc_words++] =
			(uint32_t)i;
	}
}

/*
 * Finds the words that a thread's first malloc sets in libc's TLS: cache and
 * arena. If the creator's arena is stored before, malloc sets only the cache's
 * word. If the result shows that the guess was wrong, malloc is called again
 * without.
 */
static void find_malloc_words(uintptr_t tcb)
{
	const unsigned char *now =
		(unsigned char *)(tcb - wf_template.libc_tls_below);
	uint64_t arena = 0;
	uint64_t *word = find_arena_word(tcb, &arena);
	bool is_of_main;

	if (word != NULL)
		*word = arena;
	is_of_main = call_malloc();
	note_malloc_words(now);
	if (word == NULL)
		return;
	/*
	 * Otherwise libc would enter the main arena in its list of free arenas
	 * when the thread ends.
	 */
	*word = 0;
	if (is_of_main && wf_template.nr_malloc_words == 2)
		return;
	call_malloc();
	note_malloc_words(now);
}

/* Finds pthread.stackblock and stackblock_size: two words with known values. */
static void find_stack_words(uintptr_t stack)
{
	wf_template.stack_offset = 0;
	for (size_t i = 0; i + 16 <= wf_template.tcb.size; i += 8) {
		uint64_t w[2];

		memcpy(w, wf_template.tcb.bytes + i, 16);
		if (w[0] == stack && w[1] == stack_bytes)
			wf_template.stack_offset = i;
	}
}

/*
 * Finds the robust list's head, which libc registers in the kernel in each
 * thread.
 */
static void find_robust_list(uintptr_t tcb)
{
	uintptr_t head = 0;
	size_t bytes;

	wf_template.robust_offset = 0;
	if (wf_sys(SYS_get_robust_list, 0, &head, &bytes) == 0 && head > tcb &&
	    head + sizeof(struct robust_list_head) <=
		    tcb + wf_template.tcb.size)
		wf_template.robust_offset = head - tcb;
}

/*
 * Finds pthread.specific_used: the other word of the TCB that changes when the
 * first value is set.
 */
static void find_specific_used(uintptr_t tcb)
{
	const unsigned char *now = (unsigned char *)tcb;
	unsigned char before[WF_TEMPLATE_TCB_BYTES];
	size_t first = *(uintptr_t *)(now + wf_libc.specific_offset) - tcb;
	pthread_key_t key;

	wf_libc.specific_used_offset = 0;
	if (pthread_key_create(&key, NULL) != 0)
		return;
	memcpy(before, now, wf_template.tcb.size);
	pthread_setspecific(key, now);
	/*
	 * The flag lies behind the tables of values. The first table lies
	 * before `specific`.
	 */
	for (size_t i = wf_libc.specific_offset; i < wf_template.tcb.size;
	     i++) {
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
	const struct wf_image *im = &wf_template.tcb;
	size_t begin = wf_libc.list_offset + 2 * sizeof(void *);
	size_t end = wf_align_up(wf_libc.cancel_offset + sizeof(int), 8UL);

	wf_template.window = begin;
	wf_template.window_bytes = 0;
	if (end <= begin || end - begin > sizeof(wf_template.window_words))
		return;
	wf_template.window_bytes = end - begin;
	memset(wf_template.window_masks, 0, sizeof(wf_template.window_masks));
	memcpy(wf_template.window_words, im->bytes + begin, end - begin);
	for (size_t i = 0; i < im->nr_relocations; i++) {
		const struct wf_relocation *r = &im->relocations[i];
		size_t word = (r->offset - begin) / sizeof(uint64_t);

		if (r->offset < begin || r->offset >= end)
			continue;
		wf_template.window_words[word] = (uint64_t)r->distance;
		wf_template.window_masks[word] = UINT64_MAX;
	}
}

/* True if renew_libc_tls of tcb.c can copy libc's TLS block. */
static bool is_usual(void)
{
	const struct wf_image *im = &wf_template.libc_tls;

	return im->size % 16 == 0 && im->size <= WF_TEMPLATE_USUAL_BYTES &&
	       im->nr_relocations == 1 && wf_template.nr_malloc_words == 2;
}

/*
 * Sets the template's CPU number to unknown, since it would be wrong for other
 * threads. The number is in the TCB, or in a separate area below the TLS of all
 * modules.
 */
static void forget_rseq(void)
{
	const ptrdiff_t *offset = wf_elf_symbol("ld-linux", "__rseq_offset");
	const uint32_t unknown = WF_RSEQ_NO_CPU;
	size_t cpu_id;

	if (offset == NULL)
		return;
	if (*offset < 0) {
		wf_template.rseq_cpu_id =
			*offset + (ptrdiff_t)offsetof(struct rseq, cpu_id);
		if (wf_libc.static_tls_used < (size_t) - *offset)
			wf_libc.static_tls_used = (size_t) - *offset;
		return;
	}
	cpu_id = (size_t)*offset + offsetof(struct rseq, cpu_id);
	if (cpu_id + sizeof(unknown) <= wf_template.tcb.size)
		memcpy(wf_template.tcb.bytes + cpu_id, &unknown,
		       sizeof(unknown));
}

static void *template_thread(void *stack)
{
	uintptr_t tcb = wf_cpu_thread_register();

	wf_tcb_ask_policy(&wf_template.policy, &wf_template.priority);
	errno = 0;
	/*
	 * Only once: in a fork child the list may be inconsistent (loader.c).
	 */
	if (wf_template.libc_tls.size == 0) {
		wf_real.dl_iterate_phdr(find_libc_tls, NULL);
		wf_real.dl_iterate_phdr(read_static_tls, NULL);
	}
	wf_template.tcb.size = wf_libc.pthread_bytes;
	if (wf_template.tcb.size > WF_TEMPLATE_TCB_BYTES ||
	    wf_template.libc_tls.size > MAX_LIBC_TLS_BYTES ||
	    wf_template.libc_tls.size == 0)
		return (void *)(intptr_t)-ENOTSUP;
	memcpy(wf_template.tcb.bytes, (void *)tcb, wf_template.tcb.size);
	memcpy(wf_template.libc_tls.bytes,
	       (void *)(tcb - wf_template.libc_tls_below),
	       wf_template.libc_tls.size);
	forget_rseq();
	find_relocations(&wf_template.tcb, tcb);
	find_relocations(&wf_template.libc_tls, tcb);
	find_stack_words((uintptr_t)stack);
	find_robust_list(tcb);
	find_malloc_words(tcb);
	find_specific_used(tcb);
	find_window();
	wf_template.is_usual = is_usual();
	wf_template.resolver_offset = (uintptr_t)__res_state() - tcb;
	return NULL;
}

int wf_tcb_template_take(void)
{
	size_t bytes =
		wf_align_up(wf_libc.static_tls_bytes, WF_PAGE) + STACK_MARGIN;
	void *stack = wf_os_reserve(bytes);
	void *result = NULL;
	pthread_attr_t attr;
	pthread_t thread;
	int err;

	stack_bytes = bytes;
	if (stack == NULL)
		return -ENOMEM;
	creator = wf_cpu_thread_register();
	wf_libc.libc_free(wf_libc.libc_malloc(24)); /* it has an arena now */
	pthread_attr_init(&attr);
	/*
	 * The stack is the caller's, so libc's fork treats the copies as
	 * threads with caller-supplied stacks.
	 */
	pthread_attr_setstack(&attr, stack, bytes);
	err = wf_real.pthread_create(&thread, &attr, template_thread, stack);
	if (err == 0)
		err = wf_real.pthread_join(thread, &result);
	pthread_attr_destroy(&attr);
	wf_os_release(stack, bytes);
	return err != 0 ? -err : (int)(intptr_t)result;
}

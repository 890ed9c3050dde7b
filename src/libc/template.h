/* SPDX-License-Identifier: MIT */
/*
 * What all TCBs are made from (libc/tcb.h): one of libc's own, and where things
 * lie in it that libc does not tell. Constant after it was taken (TCB-1).
 */
#ifndef WEFT_LIBC_TEMPLATE_H
#define WEFT_LIBC_TEMPLATE_H

#include <stddef.h>
#include <stdint.h>

enum {
	WF_TEMPLATE_TCB_BYTES = 16 * 1024,
	WF_TEMPLATE_RELOCATIONS = 64,
	WF_TEMPLATE_MALLOC_WORDS = 8,
	WF_TEMPLATE_WINDOW_WORDS = 32, /* even */
};

/* An 8-byte word of the template that points into the template's own TCB. */
struct wf_relocation {
	uint32_t offset;  /* from the start of the block it is in */
	int64_t distance; /* what it points to, minus the thread register */
};

struct wf_image {
	unsigned char bytes[WF_TEMPLATE_TCB_BYTES];
	size_t size;
	struct wf_relocation relocations[WF_TEMPLATE_RELOCATIONS];
	size_t nr_relocations;
};

/* Of struct rseq: RSEQ_CPU_ID_UNINITIALIZED. libc asks the kernel then. */
#define WF_RSEQ_NO_CPU ((uint32_t)-1)

struct wf_template {
	struct wf_image tcb;
	struct wf_image libc_tls;
	size_t libc_tls_below; /* thread register minus start of the block */
	size_t stack_offset;   /* pthread.stackblock; its size follows */
	size_t robust_offset;  /* the robust list's head; 0 if unknown */
	int policy, priority;  /* as libc knows them of the thread (TCB-6) */
	/* Offsets in libc_tls. */
	uint32_t malloc_words[WF_TEMPLATE_MALLOC_WORDS];
	size_t nr_malloc_words;
	/*
	 * From behind the list words to cancelhandling (TCB-5 in tcb.c); 0
	 * bytes: libc has another order, and everything is written each time.
	 */
	size_t window, window_bytes;
	/* Its words: what they are, and what of the thread register is added,
	 * all bits or none. */
	uint64_t window_words[WF_TEMPLATE_WINDOW_WORDS];
	uint64_t window_masks[WF_TEMPLATE_WINDOW_WORDS];
	size_t resolver_offset; /* pthread.res */
	ptrdiff_t rseq_cpu_id; /* from the thread register, if it lies below the
				* TCB (glibc 2.42 and later); else 0 */
};

extern struct wf_template wf_template;

#endif

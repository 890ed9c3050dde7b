/* SPDX-License-Identifier: MIT */
/*
 * The template from which all TCBs are made (libc/tcb.h): a TCB of libc, and
 * offsets in it that libc does not export. Constant once taken (TCB-1).
 *
 *     memcpy(tcb, wf_template.tcb.bytes, wf_template.tcb.size);
 */
#ifndef WEFT_LIBC_TEMPLATE_H
#define WEFT_LIBC_TEMPLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

enum {
	WF_TEMPLATE_TCB_BYTES = 16 * 1024,
	WF_TEMPLATE_RELOCATIONS = 64,
	WF_TEMPLATE_MALLOC_WORDS = 8,
	WF_TEMPLATE_WINDOW_WORDS = 32, /* even */
	WF_TEMPLATE_USUAL_BYTES = 16 * 16,
};

/* An 8-byte word of the template that points into the template's TCB. */
struct wf_relocation {
	uint32_t offset;  /* from the start of its block */
	int64_t distance; /* its target minus the thread register */
};

struct wf_image {
	unsigned char bytes[WF_TEMPLATE_TCB_BYTES] WF_ALIGNED(16);
	size_t size;
	struct wf_relocation relocations[WF_TEMPLATE_RELOCATIONS];
	size_t nr_relocations;
};

/* RSEQ_CPU_ID_UNINITIALIZED of struct rseq: makes libc ask the kernel. */
#define WF_RSEQ_NO_CPU ((uint32_t)-1)

struct wf_template {
	struct wf_image tcb;
	struct wf_image libc_tls;
	size_t libc_tls_below; /* thread register minus start of the block */
	size_t stack_offset;   /* pthread.stackblock; its size follows */
	size_t robust_offset;  /* the robust list's head; 0 if unknown */
	int policy, priority;  /* in libc's TCB fields (TCB-6) */
	/* offsets in libc_tls */
	uint32_t malloc_words[WF_TEMPLATE_MALLOC_WORDS];
	size_t nr_malloc_words;
	/*
	 * The window: from behind the list words to cancelhandling (TCB-5 in
	 * tcb.c). 0 bytes: libc has another order, and the whole TCB is written
	 * each time.
	 */
	size_t window, window_bytes;
	/* The words of the window. Each is a value, plus the thread register
	 * under a mask of all bits or none. */
	uint64_t window_words[WF_TEMPLATE_WINDOW_WORDS] WF_ALIGNED(16);
	uint64_t window_masks[WF_TEMPLATE_WINDOW_WORDS] WF_ALIGNED(16);
	/* libc_tls is short, in whole pairs of words, and has one relocation
	 * and two malloc_words. */
	bool is_usual;
	size_t resolver_offset; /* pthread.res */
	/*
	 * Offset of the CPU number from the thread register, if it lies below
	 * the TCB (glibc 2.42 and later); else 0.
	 */
	ptrdiff_t rseq_cpu_id;
};

extern struct wf_template wf_template;

#endif

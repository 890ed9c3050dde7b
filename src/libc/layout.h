/* SPDX-License-Identifier: MIT */
/*
 * Sizes and offsets inside glibc, read at start from symbols that libc.so and
 * ld.so export for debuggers and for each other.
 *
 *     missing = wf_libc_layout_init();
 *     if (missing != NULL)
 *             return;
 *     *(int *)(tcb + wf_libc.tid_offset) = tid;
 */
#ifndef WEFT_LIBC_LAYOUT_H
#define WEFT_LIBC_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wf_libc_layout {
	size_t pthread_bytes;	 /* sizeof(struct pthread), the TCB */
	size_t static_tls_bytes; /* TLS blocks and TCB, as ld.so lays out */
	size_t static_tls_align;
	size_t static_tls_used; /* below the thread register, at start */
	size_t list_offset;	/* pthread.list: next, prev */
	size_t tid_offset;
	size_t specific_offset;	     /* first-level TSD table */
	size_t specific_used_offset; /* bool; 0: unknown (tcb.c) */
	size_t cancel_offset;	     /* pthread.cancelhandling */
	size_t cleanup_offset;	     /* first clean-up; 0: unknown */
	size_t policy_offset;	     /* pthread.schedpolicy; 0: unknown */
	size_t priority_offset;	     /* in pthread.schedparam */
	size_t dtv_offset;	     /* pthread.header.dtv */
	size_t self_offset;	     /* wf_self minus the thread register */
	char *rtld_global;	     /* ld.so's variables */
	void **stack_user_list;	     /* ld.so's dl_stack_user: next, prev */
	void *slotinfo_list;	     /* ld.so's dl_tls_dtv_slotinfo_list */
	size_t slotinfo_next_offset, slotinfo_array_offset, slotinfo_bytes;
	size_t slotinfo_map_offset;
	size_t tls_offset_offset; /* link_map.l_tls_offset */
	void *keys;		  /* __pthread_keys */

	void *(*allocate_tls)(void *tcb);
	void *(*libc_malloc)(size_t);
	void (*libc_free)(void *);
	void (*call_tls_dtors)(void);
	unsigned int *nr_threads; /* __nptl_nthreads */
};

extern struct wf_libc_layout wf_libc;

/*
 * Fills wf_libc. Takes no lock and calls no malloc. Returns NULL, or the name
 * that this libc lacks.
 */
const char *wf_libc_layout_init(void);

static inline void **wf_libc_dtv_slot(uintptr_t tcb)
{
	return (void **)(tcb + wf_libc.dtv_offset);
}

static inline _Atomic int *wf_libc_cancel_word(uintptr_t tcb)
{
	return (_Atomic int *)(tcb + wf_libc.cancel_offset);
}

static inline void wf_libc_set_tid(uintptr_t tcb, int tid)
{
	*(int *)(tcb + wf_libc.tid_offset) = tid;
}

#endif

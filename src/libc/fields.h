/* SPDX-License-Identifier: MIT */
/*
 * The fields of glibc's objects, by names of weft's. A use looks like a use of
 * a member:
 *
 *     m->libc_owner = 0;
 *     offsetof(pthread_rwlock_t, libc_flags)
 *
 * No other file knows how glibc calls them (tools/check_layers.py), and the
 * compiler knows where they are.
 */
#ifndef WEFT_LIBC_FIELDS_H
#define WEFT_LIBC_FIELDS_H

#include <pthread.h>
#include <setjmp.h>
#include <stddef.h>

#include "base/atomic.h"

/* pthread_mutex_t; the fields without a comment are as in struct wf_mutex. */
#define libc_word __data.__lock	   /* futex */
#define libc_count __data.__count  /* locks of a recursive mutex */
#define libc_owner __data.__owner  /* thread id */
#define libc_users __data.__nusers /* the holder and condition waits */
#define libc_kind __data.__kind	   /* enum wf_mutex_kind */
#define libc_spins __data.__spins
#define libc_prev __data.__list.__prev /* links of robust mutexes */
#define libc_next __data.__list.__next

/* pthread_rwlock_t */
#define libc_flags __data.__flags   /* PTHREAD_RWLOCK_PREFER_... */
#define libc_shared __data.__shared /* not 0: process-shared */

/* jmp_buf */
#define libc_has_mask __mask_was_saved
#define libc_mask __saved_mask

/* The words of a process-shared pthread_rwlock_t (shared/rwlock.c). */
struct wf_libc_rwlock {
	_Atomic uint32_t readers, writers, phase, first;
	_Atomic uint64_t writer; /* free for weft's use */
	_Atomic uint32_t owner;	 /* a writer's number */
};

#define WF_SAME_PLACE(ours, libcs)                                       \
	_Static_assert(offsetof(struct wf_libc_rwlock, ours) ==          \
			       offsetof(pthread_rwlock_t, __data.libcs), \
		       "the words are where libc has them")
WF_SAME_PLACE(readers, __readers);
WF_SAME_PLACE(writers, __writers);
WF_SAME_PLACE(phase, __wrphase_futex);
WF_SAME_PLACE(first, __writers_futex);
WF_SAME_PLACE(writer, __pad3);
WF_SAME_PLACE(owner, __cur_writer);
#undef WF_SAME_PLACE

/* The words of a process-shared pthread_barrier_t (shared/barrier.c). */
struct wf_libc_barrier {
	_Atomic uint32_t come, done; /* waited on */
	uint32_t count, shared;	     /* constant */
	_Atomic uint32_t gone;
};

_Static_assert(sizeof(struct wf_libc_barrier) <= sizeof(pthread_barrier_t),
	       "libc's object has these words");

/* The bits of a thread's cancellation word (wf_libc_cancel_word). */
enum wf_libc_cancel {
	WF_LIBC_CANCEL_DISABLED = 1 << 0,
	WF_LIBC_CANCEL_ASYNC = 1 << 1,
	WF_LIBC_CANCEL_SENT = 1 << 2, /* libc's signal is on its way */
	WF_LIBC_CANCELED = 1 << 3,
	WF_LIBC_EXITING = 1 << 4,
};

#endif

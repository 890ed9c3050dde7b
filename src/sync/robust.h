/* SPDX-License-Identifier: MIT */
/*
 * Lists of robust mutexes, in the layout of the kernel and libc. A link is the
 * address of the `__next` word of a mutex, or of a head. The word before it is
 * the link back. The lowest bit of a link is set if the mutex has priority
 * inheritance.
 *
 *     wf_robust_set_pending(l, wf_robust_link(m));
 *     ...             the word of m becomes the kernel thread's id
 *     wf_robust_insert(wf_robust_head(l), wf_robust_link(m));
 *     wf_robust_set_pending(l, 0);
 *
 * When a kernel thread exits, the kernel marks the mutexes in its list that
 * have its id, and the pending mutex (FUTEX_OWNER_DIED). None of the functions
 * blocks.
 */
#ifndef WEFT_SYNC_ROBUST_H
#define WEFT_SYNC_ROBUST_H

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/atomic.h"
#include "libc/fields.h"
#include "os/mem.h"
#include "os/sys.h"
#include "sched/robust_list.h"

/* The bit of a link that says that the mutex has priority inheritance. */
#define WF_ROBUST_PI ((uintptr_t)1)

/* Values of a mutex's __owner, as in libc. */
#define WF_ROBUST_INCONSISTENT INT_MAX
#define WF_ROBUST_NOT_RECOVERABLE (INT_MAX - 1)

static inline uintptr_t *wf_robust_next(uintptr_t link)
{
	return (uintptr_t *)(link & ~WF_ROBUST_PI);
}

static inline uintptr_t *wf_robust_prev(uintptr_t link)
{
	return wf_robust_next(link) - 1;
}

static inline uintptr_t wf_robust_link(const pthread_mutex_t *m)
{
	return (uintptr_t)m + offsetof(pthread_mutex_t, libc_next);
}

static inline pthread_mutex_t *wf_robust_mutex(uintptr_t link)
{
	return (pthread_mutex_t *)((link & ~WF_ROBUST_PI) -
				   offsetof(pthread_mutex_t, libc_next));
}

static inline uintptr_t wf_robust_head(struct wf_robust_list *l)
{
	return (uintptr_t)&l->head;
}

static inline bool wf_robust_is_empty(uintptr_t head)
{
	return *wf_robust_next(head) == head;
}

/*
 * Reads the next link. Returns false if the program has unmapped the mutex:
 * there the list ends for the kernel, too.
 */
static inline bool wf_robust_follow(uintptr_t link, uintptr_t *ret_next)
{
	const struct iovec from = { .iov_base = wf_robust_next(link),
				    .iov_len = sizeof(*ret_next) };
	long rc = wf_os_peek(&from, 1, ret_next, sizeof(*ret_next));

	if (rc == -EFAULT)
		return false;
	if (rc < 0) /* a filter forbids the call: read directly */
		*ret_next = *wf_robust_next(link);
	return true;
}

static inline void wf_robust_empty(uintptr_t head)
{
	*wf_robust_next(head) = head;
	*wf_robust_prev(head) = head;
}

static inline void wf_robust_insert(uintptr_t head, uintptr_t link)
{
	*wf_robust_prev(link) = head;
	*wf_robust_next(link) = *wf_robust_next(head);
	*wf_robust_prev(*wf_robust_next(head)) = link;
	/* release: the kernel may read on another CPU; here and below. */
	atomic_thread_fence(memory_order_release);
	*wf_robust_next(head) = link;
}

static inline void wf_robust_take_out(uintptr_t link)
{
	uintptr_t prev = *wf_robust_prev(link), next = *wf_robust_next(link);

	*wf_robust_prev(next) = prev;
	*wf_robust_next(prev) = next;
	*wf_robust_prev(link) = *wf_robust_next(link) = 0;
}

/*
 * Sets the pending mutex, which the kernel marks although it is in no list;
 * link 0: none.
 */
static inline void wf_robust_set_pending(struct wf_robust_list *l,
					 uintptr_t link)
{
	struct robust_list *volatile *pending = &l->head.list_op_pending;

	atomic_thread_fence(memory_order_release);
	*pending = (struct robust_list *)link;
	atomic_thread_fence(memory_order_release);
}

/* Registers l as the list of the calling kernel thread. Returns 0 or -Exxx. */
static inline int wf_robust_register(struct wf_robust_list *l)
{
	uintptr_t head = wf_robust_head(l);

	l->head = (struct robust_list_head){
		.futex_offset = (long)offsetof(pthread_mutex_t, libc_word) -
				(long)offsetof(pthread_mutex_t, libc_next),
	};
	wf_robust_empty(head);
	return (int)wf_sys(SYS_set_robust_list, head, sizeof(l->head));
}

#endif

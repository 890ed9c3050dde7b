/* SPDX-License-Identifier: MIT */
/*
 * Thread control blocks: relocated copies of a real one
 * (docs/internals/identity.md).
 *
 *     wf_tcb_template_take();                      once per process image
 *     wf_tcb_prepare(tcb, tid, stack, bytes);      first use of a slot
 *     wf_tcb_renew(tcb, tid, stack, bytes);        each later use, or
 *     wf_tcb_renew_clean(tcb, tid);                after a thread that was tidy
 */
#ifndef WEFT_LIBC_TCB_H
#define WEFT_LIBC_TCB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libc/template.h"

struct wf_thread;

/*
 * Starts one real pthread, copies its TCB and libc's own TLS block, and joins
 * it. Makes libc believe in threads, as it must. Returns 0 or -Exxx.
 */
int wf_tcb_template_take(void);

/*
 * First use, after wf_tcb_link: has ld.so make the DTV and the static TLS
 * blocks. Calls malloc and takes the loader's locks: only with
 * in_runtime 0. Returns 0 or -ENOMEM.
 */
int wf_tcb_prepare(uintptr_t tcb, int tid, void *stack_low, size_t stack_bytes,
		   struct wf_thread *self);

/*
 * Later uses: TCB and libc's TLS block as the template has them, but for the
 * DTV, the list words and malloc's two words. No locks, no calls.
 */
void wf_tcb_renew(uintptr_t tcb, int tid, void *stack_low, size_t stack_bytes);

/*
 * The same, on the same stack, after a thread that has returned from its start
 * routine, without thread-specific data, not cancelled, and of which
 * wf_tcb_is_dirty said no at its end.
 */
void wf_tcb_renew_clean(uintptr_t tcb, int tid);
/* Reads ahead what that and wf_tcb_is_dirty touch. */
void wf_tcb_prefetch(uintptr_t tcb);

/* The stack's block, guard included, where libc's unwinding looks for it. */
void wf_tcb_set_stack(uintptr_t tcb, void *stack_low, size_t stack_bytes);
bool wf_tcb_is_dirty(uintptr_t tcb);

/*
 * libc's functions are to know that the thread has this policy and priority. If
 * it is another than wf_tcb_has_policy says yes to, the TCB is dirty.
 */
void wf_tcb_set_policy(uintptr_t tcb, int policy, int priority);
/* The caller's; libc asks the kernel, if it has not, and remembers them. */
void wf_tcb_ask_policy(int *ret_policy, int *ret_priority);
/* Of TCBs as they are made. */
static inline bool wf_tcb_has_policy(int policy, int priority)
{
	return policy == wf_template.policy && priority == wf_template.priority;
}

/*
 * Has the slot's last thread left a cache of libc's malloc? take: the caller, a
 * real thread of libc's that has none, makes it its own.
 */
bool wf_tcb_has_cache(uintptr_t tcb);
void wf_tcb_take_cache(uintptr_t tcb);

/*
 * Links a TCB into ld.so's list, once in each fork generation: a second time
 * would make the list a circle. Its other words may be anything yet.
 */
void wf_tcb_link(uintptr_t tcb);

/*
 * Two anchors in ld.so's list of caller-supplied stacks; single-threaded, at
 * start and in a fork child. tcb[0], tcb[1] are TCB-sized blocks of our own.
 */
void wf_tcb_anchor(uintptr_t tcb0, uintptr_t tcb1);

/*
 * The head of a thread's list of robust mutexes, which natively the kernel
 * knows; 0 if this libc has none.
 */
uintptr_t wf_tcb_robust_list(uintptr_t tcb);

/*
 * A TLS block for kernel threads that never run the program's code: no DTV,
 * no libc state, only what compilers and signal handlers look at. `block` has
 * wf_tcb_minimal_bytes() zeroed bytes. Returns the thread register.
 */
size_t wf_tcb_minimal_bytes(void);
uintptr_t wf_tcb_minimal_make(void *block, struct wf_thread *self);

#endif

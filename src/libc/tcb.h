/* SPDX-License-Identifier: MIT */
/*
 * Thread control blocks: relocated copies of one that libc has made
 * (docs/internals/identity.md).
 *
 *     wf_tcb_template_take();                      once per process image
 *     wf_tcb_prepare(tcb, tid, stack, bytes);      first use of a slot
 *     wf_tcb_renew(tcb, tid, stack, bytes);        each later use, or
 *     wf_tcb_renew_clean(tcb, tid);                if it is not dirty
 */
#ifndef WEFT_LIBC_TCB_H
#define WEFT_LIBC_TCB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libc/template.h"

struct wf_thread;

/*
 * Starts one native pthread, copies its TCB and libc's own TLS block, and joins
 * it. As a result libc takes the process for multi-threaded, as it has to.
 * Returns 0 or -Exxx.
 */
int wf_tcb_template_take(void);

/*
 * First use of a slot, after wf_tcb_link: ld.so makes the DTV and the static
 * TLS blocks. Calls malloc and takes the loader's locks: only with in_runtime
 * 0. Returns 0 or -ENOMEM.
 */
int wf_tcb_prepare(uintptr_t tcb, int tid, void *stack_low, size_t stack_bytes,
		   struct wf_thread *self);

/*
 * A later use: copies the TCB and libc's TLS block from the template. Keeps the
 * DTV, the list words and malloc's words. Takes no lock and makes no call.
 */
void wf_tcb_renew(uintptr_t tcb, int tid, void *stack_low, size_t stack_bytes);

/*
 * Makes a TCB ready after a clean thread, on the same stack. That thread
 * returned from its start routine, had no thread-specific data, was not
 * cancelled, and wf_tcb_is_dirty was false at its end.
 */
void wf_tcb_renew_clean(uintptr_t tcb, int tid);
/* Prefetches the memory that wf_tcb_renew_clean and wf_tcb_is_dirty access. */
void wf_tcb_prefetch(uintptr_t tcb);

/* Sets the stack's block, guard included, where libc's unwinding reads it. */
void wf_tcb_set_stack(uintptr_t tcb, void *stack_low, size_t stack_bytes);
bool wf_tcb_is_dirty(uintptr_t tcb);

/*
 * Makes libc's functions return this policy and priority for the thread. The
 * TCB is dirty unless wf_tcb_has_policy holds for them.
 */
void wf_tcb_set_policy(uintptr_t tcb, int policy, int priority);
/*
 * Stores the caller's policy and priority as libc knows them. If libc does not
 * know them yet, it asks the kernel.
 */
void wf_tcb_ask_policy(int *ret_policy, int *ret_priority);
/* True if new TCBs have this policy and priority. */
static inline bool wf_tcb_has_policy(int policy, int priority)
{
	return policy == wf_template.policy && priority == wf_template.priority;
}

/*
 * The slot's last thread may have left a cache of libc's malloc.
 * wf_tcb_has_cache returns true if so. By wf_tcb_take_cache the caller, a
 * native thread without a cache, takes it over.
 */
bool wf_tcb_has_cache(uintptr_t tcb);
void wf_tcb_take_cache(uintptr_t tcb);

/*
 * Links a TCB into ld.so's list, once in each fork generation: a second time
 * would make the list a circle. The TCB's other words need not be set yet.
 */
void wf_tcb_link(uintptr_t tcb);

/*
 * Puts two anchors into ld.so's list of caller-supplied stacks. Call it while
 * the process has one thread: at start and in a fork child. tcb0 and tcb1 are
 * TCB-sized blocks of weft.
 */
void wf_tcb_anchor(uintptr_t tcb0, uintptr_t tcb1);

/*
 * The head of a thread's list of robust mutexes, which natively is registered
 * in the kernel; 0 if this libc has none.
 */
uintptr_t wf_tcb_robust_list(uintptr_t tcb);

/*
 * Makes a TLS block for kernel threads that never run the program's code. It
 * has no DTV and no state of libc, only the words that compilers and signal
 * handlers use. `block` has wf_tcb_minimal_bytes() zeroed bytes. Returns the
 * thread register.
 */
size_t wf_tcb_minimal_bytes(void);
uintptr_t wf_tcb_minimal_make(void *block, struct wf_thread *self);

#endif

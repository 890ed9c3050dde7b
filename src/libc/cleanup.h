/* SPDX-License-Identifier: MIT */
/*
 * Clean-ups: functions that run if a call's frame ends in any way but a return,
 * and take back the effects of the call.
 *
 *     WF_CLEANUP struct wf_cleanup c = WF_CLEANUP_NONE;
 *
 *     wf_cleanup_begin(&c, take_back, object);
 *     ...                    handlers may run here, or the thread be cancelled
 *     wf_cleanup_end(&c);    from here on take_back() is not called
 *
 * take_back() runs once, in the thread of the frame. Either the unwinder calls
 * it, or libc does, from the list of clean-ups that it keeps for each thread.
 * longjmp runs the entries of the frames that it leaves. A cancellation does
 * the same if its unwinding ends at a function without unwind tables, or passes
 * an instruction that is no call. take_back() may park. The rules of libc for
 * cancellation handlers hold for it.
 *
 * CLEANUP-1. Clean-ups of one thread end in the reverse order of their begin.
 * CLEANUP-2. A handler may run between any two instructions outside of the
 *     runtime. So the state that take_back() reads is correct at any time, and
 *     changes in the runtime or by one store.
 * CLEANUP-3. libc's setcontext and swapcontext run no clean-up, and leave the
 *     entries of frames that are gone in the list. weft removes its entries.
 *     Where libc's own version of the interrupted call would leave nothing to
 *     take back, setcontext also runs take_back() (wf_cleanup_begin_own).
 *     swapcontext does not, since the thread may return to the frame.
 *
 * Without libc's list (wf_libc.cleanup_offset is 0) only the unwinder runs
 * take_back().
 */
#ifndef WEFT_LIBC_CLEANUP_H
#define WEFT_LIBC_CLEANUP_H

#include <pthread.h>
#include <stdbool.h>

#include "arch/arch.h"
#include "base/atomic.h"
#include "base/compiler.h"
#include "libc/layout.h"

struct wf_cleanup {
	struct _pthread_cleanup_buffer entry; /* the entry in libc's list */
	/* The head of the list; NULL: there is none. */
	struct _pthread_cleanup_buffer **first;
	void (*take_back)(void *arg); /* NULL: nothing to take back */
	void *arg;
};

#define WF_CLEANUP __attribute__((cleanup(wf_cleanup_unwound)))
#define WF_CLEANUP_NONE            \
	{                          \
		.take_back = NULL, \
	}

/* libc calls these, and removes the entry. The second is for CLEANUP-3. */
void wf_cleanup_by_libc(void *cleanup);
void wf_cleanup_own_by_libc(void *cleanup);

/*
 * Begins a clean-up by `routine`. Each wait that parks calls this once, so the
 * number of its instructions matters.
 */
WF_INLINE void wf_cleanup_begin_by(void (*routine)(void *cleanup),
				   struct wf_cleanup *c,
				   void (*take_back)(void *arg), void *arg)
{
	struct _pthread_cleanup_buffer **first;
	size_t offset = wf_libc.cleanup_offset;

	c->take_back = take_back;
	c->arg = arg;
	if (WF_UNLIKELY(offset == 0)) {
		c->first = NULL;
		return;
	}
	first = (struct _pthread_cleanup_buffer **)(wf_cpu_thread_register() +
						    offset);
	c->first = first;
	c->entry.__routine = routine;
	c->entry.__arg = c;
	c->entry.__prev = *first;
	wf_compiler_barrier(); /* CLEANUP-2 */
	*first = &c->entry;
	wf_compiler_barrier();
}

static inline void wf_cleanup_begin(struct wf_cleanup *c,
				    void (*take_back)(void *arg), void *arg)
{
	wf_cleanup_begin_by(wf_cleanup_by_libc, c, take_back, arg);
}

/*
 * Begins a clean-up for a call that leaves nothing to take back in libc
 * (CLEANUP-3).
 */
static inline void wf_cleanup_begin_own(struct wf_cleanup *c,
					void (*take_back)(void *arg), void *arg)
{
	wf_cleanup_begin_by(wf_cleanup_own_by_libc, c, take_back, arg);
}

static inline bool wf_cleanup_is_due(const struct wf_cleanup *c)
{
	return c->take_back != NULL;
}

static inline void wf_cleanup_end(struct wf_cleanup *c)
{
	wf_compiler_barrier();
	if (WF_LIKELY(c->first != NULL))
		*c->first = c->entry.__prev; /* CLEANUP-1 */
	wf_compiler_barrier();
	c->take_back = NULL;
}

/*
 * The caller is about to set its stack pointer to sp: by setcontext if for_good
 * is set, else by swapcontext. CLEANUP-3. is_left returns true if an address is
 * on the same stack, in a frame that is left.
 */
void wf_cleanup_leave(bool (*is_left)(uintptr_t addr, uintptr_t sp),
		      uintptr_t sp, bool for_good);

/*
 * Runs when the frame ends, by a return or by the unwinder. After
 * wf_cleanup_end it does nothing.
 */
static inline void wf_cleanup_unwound(struct wf_cleanup *c)
{
	void (*take_back)(void *arg) = c->take_back;

	if (WF_LIKELY(take_back == NULL))
		return;
	wf_cleanup_end(c);
	take_back(c->arg);
}

#endif

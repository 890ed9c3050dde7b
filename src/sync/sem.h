/* SPDX-License-Identifier: MIT */
/*
 * Semaphore over the user futex, in libc's layout.
 *
 *     wf_sem_init(&s, 0);
 *     rc = wf_sem_wait(&s);           0 or -EINTR
 *     rc = wf_sem_post(&s);           0 or -EOVERFLOW; also in a handler
 *
 * One word has the value and a mark that threads wait. So a post is one atomic
 * that also finds whether to wake a thread. With waiters a post gives its
 * permit to the first waiter. If the poster gives back a permit that it took,
 * the waiters compete instead. Waiting parks. Trying, posting and reading do
 * not block, and signal handlers may call them. Process-shared semaphores, as
 * from sem_open, have libc's layout and code: check wf_sem_is_shared first.
 */
#ifndef WEFT_SYNC_SEM_H
#define WEFT_SYNC_SEM_H

#include <errno.h>
#include <limits.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "sched/runtime.h"
#include "sync/deadline.h"
#include "wait/ufutex.h"

#ifndef SEM_VALUE_MAX
#define SEM_VALUE_MAX INT_MAX
#endif

/* struct wf_sem.word: the value, at most SEM_VALUE_MAX, and this mark: */
#define WF_SEM_WAITED (1U << 31) /* threads may be parked */

struct wf_sem {
	union {
		struct {
			/* value and mark; any thread, atomic */
			_Atomic uint32_t word;
			uint32_t unused; /* where libc counts waiters */
			/* Where libc has it; 0: private. Constant. */
			uint32_t shared;
		};
		sem_t libc;
	};
};

_Static_assert(SEM_VALUE_MAX < WF_SEM_WAITED, "a value is not the mark");
_Static_assert(sizeof(struct wf_sem) == sizeof(sem_t), "libc's size");

/* Returns 0, or -EINVAL if the value is too large. */
int wf_sem_init(struct wf_sem *s, unsigned int value);

/*
 * Returns 0, -EINTR or -ETIMEDOUT. Parks; leaves the runtime last. t is the
 * caller.
 */
int wf_sem_wait_slow(struct wf_thread *t, struct wf_sem *s,
		     int64_t deadline_ns);
/* As wf_sem_wait_slow, until an absolute time, which is valid. */
int wf_sem_clockwait_slow(struct wf_sem *s, clockid_t clock,
			  const struct timespec *ts);
/* Adds a permit and wakes a waiter. Returns 0 or -EOVERFLOW. */
int wf_sem_post_slow(struct wf_sem *s);

static inline bool wf_sem_is_shared(const struct wf_sem *s)
{
	return s->shared != 0;
}

static inline int wf_sem_value(struct wf_sem *s)
{
	return (int)(wf_load_relaxed(&s->word) & ~WF_SEM_WAITED);
}

/* Takes a permit if there is one. Returns 0 or -EAGAIN. */
static inline int wf_sem_trywait(struct wf_sem *s)
{
	uint32_t word = wf_load_relaxed(&s->word);

	while ((word & ~WF_SEM_WAITED) != 0)
		/* acquire: pairs with the release in wf_sem_post. */
		if (WF_LIKELY(wf_cas_acq_rel(&s->word, &word, word - 1)))
			return 0;
	return -EAGAIN;
}

/* Notes in t that it has taken a permit of s. SEM-5 */
static inline void wf_sem_note(struct wf_thread *t, const struct wf_sem *s)
{
	t->hint = (uint32_t)(uintptr_t)s;
}

static inline int wf_sem_wait(struct wf_sem *s)
{
	if (WF_UNLIKELY(wf_sem_trywait(s) != 0))
		return wf_sem_wait_slow(wf_thread_self(), s, WF_FOREVER);
	wf_sem_note(wf_thread_self(), s);
	return 0;
}

/* As wf_sem_wait, or returns -ETIMEDOUT, -EINVAL. */
static inline int wf_sem_clockwait(struct wf_sem *s, clockid_t clock,
				   const struct timespec *ts)
{
	if (WF_UNLIKELY(!wf_deadline_is_valid(clock, ts)))
		return -EINVAL;
	if (WF_UNLIKELY(wf_sem_trywait(s) != 0))
		return wf_sem_clockwait_slow(s, clock, ts);
	wf_sem_note(wf_thread_self(), s);
	return 0;
}

/*
 * Adds a permit. Returns false, and changes nothing, if threads wait or there
 * are too many permits.
 */
static inline bool wf_sem_try_post(struct wf_sem *s)
{
	uint32_t word = wf_load_relaxed(&s->word);

	while (WF_LIKELY(word < SEM_VALUE_MAX))
		/* release: the poster's writes; pairs with the acquire in
		 * wf_sem_trywait. */
		if (WF_LIKELY(wf_cas_acq_rel(&s->word, &word, word + 1)))
			return true;
	return false;
}

static inline int wf_sem_post(struct wf_sem *s)
{
	return WF_LIKELY(wf_sem_try_post(s)) ? 0 : wf_sem_post_slow(s);
}

#endif

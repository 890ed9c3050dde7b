/* SPDX-License-Identifier: MIT */
/*
 * Semaphore over the user futex, in libc's layout.
 *
 *     wf_sem_init(&s, 0);
 *     rc = wf_sem_wait(&s);           0 or -EINTR
 *     rc = wf_sem_post(&s);           0 or -EOVERFLOW; also in a handler
 *
 * The value and whether threads wait share one word, so that a post is one
 * atomic that also says whether somebody must be woken. With waiters a post
 * gives its permit to the first of them, or lets them compete if the poster
 * only gives back what it took. Waiting parks; trying, posting and reading do
 * not block and may be done in signal handlers. Process-shared ones, all that
 * sem_open makes among them, are libc's: ask wf_sem_is_shared first.
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

/* wf_sem.word: the value, at most SEM_VALUE_MAX, and: */
#define WF_SEM_WAITED (1U << 31) /* threads may be parked */

struct wf_sem {
	union {
		struct {
			_Atomic uint32_t word; /* anyone, atomic */
			uint32_t unused;       /* libc counts waiters here */
			/* libc's: 0 private, else process-shared. Constant. */
			uint32_t shared;
		};
		sem_t libc;
	};
};

_Static_assert(SEM_VALUE_MAX < WF_SEM_WAITED, "a value is not the mark");
_Static_assert(sizeof(struct wf_sem) == sizeof(sem_t), "libc's size");

/* 0, or -EINVAL for a value that is too large. */
int wf_sem_init(struct wf_sem *s, unsigned int value);

/* 0, -EINTR, -ETIMEDOUT. Parks. */
int wf_sem_wait_slow(struct wf_sem *s, int64_t deadline_ns);
/* The same; the time is valid. */
int wf_sem_clockwait_slow(struct wf_sem *s, clockid_t clock,
			  const struct timespec *ts);
/* 0, -EOVERFLOW. */
int wf_sem_post_slow(struct wf_sem *s);

static inline bool wf_sem_is_shared(const struct wf_sem *s)
{
	return s->shared != 0;
}

static inline int wf_sem_value(struct wf_sem *s)
{
	return (int)(wf_load_relaxed(&s->word) & ~WF_SEM_WAITED);
}

/* 0, -EAGAIN. */
static inline int wf_sem_trywait(struct wf_sem *s)
{
	uint32_t word = wf_load_relaxed(&s->word);

	while ((word & ~WF_SEM_WAITED) != 0)
		/* acquire: pairs with the release in wf_sem_post. */
		if (WF_LIKELY(wf_cas_acq_rel(&s->word, &word, word - 1)))
			return 0;
	return -EAGAIN;
}

/* t has a permit of s. SEM-5 */
static inline void wf_sem_note(struct wf_thread *t, const struct wf_sem *s)
{
	t->hint = (uint32_t)(uintptr_t)s;
}

static inline int wf_sem_wait(struct wf_sem *s)
{
	if (WF_UNLIKELY(wf_sem_trywait(s) != 0))
		return wf_sem_wait_slow(s, WF_FOREVER);
	wf_sem_note(wf_thread_self(), s);
	return 0;
}

/* As wait, or -ETIMEDOUT, -EINVAL. */
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

/* False, and nothing done, if there are waiters or too many permits. */
static inline bool wf_sem_try_post(struct wf_sem *s)
{
	uint32_t word = wf_load_relaxed(&s->word);

	while (WF_LIKELY(word < SEM_VALUE_MAX))
		/* release: pairs with the acquire of whoever gets it. */
		if (WF_LIKELY(wf_cas_acq_rel(&s->word, &word, word + 1)))
			return true;
	return false;
}

static inline int wf_sem_post(struct wf_sem *s)
{
	return WF_LIKELY(wf_sem_try_post(s)) ? 0 : wf_sem_post_slow(s);
}

#endif

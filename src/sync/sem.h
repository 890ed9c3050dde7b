/*
 * Semaphore over the user futex, in libc's layout.
 *
 *     wf_sem_init(&s, 0);
 *     rc = wf_sem_wait(&s);           0 or -EINTR
 *     rc = wf_sem_post(&s);           0 or -EOVERFLOW; also in a handler
 *
 * Value and number of registered waiters share one 64-bit word, so that a
 * post is one atomic that also says whether somebody must be woken. Waiting
 * parks; trying, posting and reading do not block and may be done in signal
 * handlers. Process-shared ones, all that sem_open makes among them, are
 * libc's: ask wf_sem_is_shared first.
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
#include "sync/deadline.h"
#include "wait/ufutex.h"

#ifndef SEM_VALUE_MAX
#define SEM_VALUE_MAX INT_MAX
#endif

/* wf_sem.data: value in the low half, waiters in the high one. */
#define WF_SEM_VALUE_MASK 0xffffffffULL
#define WF_SEM_WAITER (1ULL << 32)

struct wf_sem {
	union {
		struct {
			_Atomic uint64_t data; /* anyone, atomic */
			/* libc's: 0 private, else process-shared. Constant. */
			uint32_t shared;
		};
		uint32_t value; /* low half of data: address to park on */
		sem_t libc;
	};
};

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	       "value is the low half of data");
_Static_assert(sizeof(struct wf_sem) == sizeof(sem_t), "libc's size");

/* 0, or -EINVAL for a value that is too large. */
int wf_sem_init(struct wf_sem *s, unsigned int value);

/* 0, -EINTR, -ETIMEDOUT. Parks. */
int wf_sem_wait_slow(struct wf_sem *s, int64_t deadline_ns);
/* The same; the time is valid. */
int wf_sem_clockwait_slow(struct wf_sem *s, clockid_t clock,
			  const struct timespec *ts);
void wf_sem_wake_slow(struct wf_sem *s);

static inline bool wf_sem_is_shared(const struct wf_sem *s)
{
	return s->shared != 0;
}

static inline int wf_sem_value(struct wf_sem *s)
{
	return (int)(wf_load_relaxed(&s->data) & WF_SEM_VALUE_MASK);
}

/* 0, -EAGAIN. */
static inline int wf_sem_trywait(struct wf_sem *s)
{
	uint64_t data = wf_load_relaxed(&s->data);

	while ((data & WF_SEM_VALUE_MASK) != 0)
		/* acquire: pairs with the release in wf_sem_post. */
		if (WF_LIKELY(wf_cas_acq_rel(&s->data, &data, data - 1)))
			return 0;
	return -EAGAIN;
}

static inline int wf_sem_wait(struct wf_sem *s)
{
	if (WF_LIKELY(wf_sem_trywait(s) == 0))
		return 0;
	return wf_sem_wait_slow(s, WF_FOREVER);
}

/* As wait, or -ETIMEDOUT, -EINVAL. */
static inline int wf_sem_clockwait(struct wf_sem *s, clockid_t clock,
				   const struct timespec *ts)
{
	if (WF_UNLIKELY(!wf_deadline_is_valid(clock, ts)))
		return -EINVAL;
	if (WF_LIKELY(wf_sem_trywait(s) == 0))
		return 0;
	return wf_sem_clockwait_slow(s, clock, ts);
}

static inline int wf_sem_post(struct wf_sem *s)
{
	uint64_t data = wf_load_relaxed(&s->data);

	do {
		if (WF_UNLIKELY((data & WF_SEM_VALUE_MASK) >= SEM_VALUE_MAX))
			return -EOVERFLOW;
		/* release: pairs with the acquire of whoever gets it. */
	} while (WF_UNLIKELY(!wf_cas_acq_rel(&s->data, &data, data + 1)));
	if (WF_UNLIKELY(data >= WF_SEM_WAITER))
		wf_sem_wake_slow(s); /* S2 */
	return 0;
}

#endif

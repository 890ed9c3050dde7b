/* SPDX-License-Identifier: MIT */
/*
 * A thread locks a mutex of libc by libc's trylock. If that fails with EBUSY,
 * the thread marks the word and sleeps on it by the kernel's futex. libc's own
 * waiters do so, too, but a thread of weft gives up its VP meanwhile. So
 * threads with and without weft can wait for the same mutex.
 *
 * SHARED_MUTEX-1. A thread marks the word as waited for before it sleeps, and
 *     the kernel compares the word with the marked value. The word of a plain
 *     mutex is 0, 1 or 2; 2 is the mark. The word of a robust one is its
 *     owner's id; FUTEX_WAITERS is the mark.
 * SHARED_MUTEX-2. An unlock clears the mark and wakes one thread. That thread
 *     marks the word again once it has the mutex, since more may sleep. A woken
 *     thread that sleeps again has marked the word before.
 * SHARED_MUTEX-3. Mutexes with priority inheritance are the kernel's
 *     (sync/inherit.h). Mutexes with a priority ceiling have it in the bits of
 *     the word above those of a plain mutex (sync/ceiling.h).
 */
#include "shared/mutex.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>

#include "base/atomic.h"
#include "io/call/futex.h"
#include "libc/real.h"
#include "os/sys.h"
#include "sync/inherit.h"
#include "sync/libc_mutex.h"
#include "sync/mutex.h"
#include "sync/owned.h"
#include "sync/ceiling.h"
#include "sync/shared.h"
#include "wait/sleep.h"

static bool is_invalid(const pthread_mutex_t *m)
{
	return wf_mutex_is_invalid((const struct wf_mutex *)m);
}

/*
 * Frees the word after libc's trylock has returned ENOTRECOVERABLE, which
 * leaves it locked.
 */
static void let_go(pthread_mutex_t *m)
{
	uint32_t word = wf_load_relaxed(wf_libc_mutex_word(m));

	if ((word & FUTEX_TID_MASK) != wf_owner_self())
		return;
	atomic_exchange(wf_libc_mutex_word(m), WF_LIBC_MUTEX_FREE);
	wf_sys(SYS_futex, wf_libc_mutex_word(m), FUTEX_WAKE, INT_MAX);
}

int wf_shared_mutex_trylock(pthread_mutex_t *m)
{
	int rc;

	if (is_invalid(m))
		return EINVAL;
	if (wf_inherit_has(m)) /* SHARED_MUTEX-3: it is the kernel's */
		return wf_inherit_trylock(m);
	if (wf_shared_is_ours(m))
		return wf_shared_trylock(m);
	rc = wf_real.pthread_mutex_trylock(m);
	if (rc == ENOTRECOVERABLE)
		let_go(m);
	return rc;
}

/* Returns the word with its mark, or 0 if it may be free. SHARED_MUTEX-1 */
static uint32_t marked(const pthread_mutex_t *m, uint32_t word)
{
	if (wf_libc_mutex_is_robust(m))
		return word == WF_LIBC_MUTEX_FREE ||
				       (word & FUTEX_OWNER_DIED) != 0 ?
			       0 :
			       word | FUTEX_WAITERS;
	if ((m->libc_kind & WF_MUTEX_PROTECT) == 0)
		return word == WF_LIBC_MUTEX_FREE ? 0 : WF_LIBC_MUTEX_WAITED;
	return (word & WF_CEILING_STATE) == WF_LIBC_MUTEX_FREE ?
		       0 :
		       (word & ~WF_CEILING_STATE) | WF_LIBC_MUTEX_WAITED;
}

/*
 * Marks the word as waited for, and stores it. Returns false if the mutex may
 * be free.
 */
static bool mark(pthread_mutex_t *m, uint32_t *ret_word)
{
	uint32_t word = wf_load_relaxed(wf_libc_mutex_word(m)), wanted;

	do {
		wanted = marked(m, word);
		if (wanted == 0)
			return false;
	} while (word != wanted &&
		 !wf_cas_acq_rel(wf_libc_mutex_word(m), &word, wanted));
	*ret_word = wanted;
	return true;
}

static int wait_for(pthread_mutex_t *m, int64_t deadline_ns)
{
	uint32_t word;

	return mark(m, &word) ?
		       wf_io_futex_wait(wf_libc_mutex_word(m), word,
					FUTEX_BITSET_MATCH_ANY, deadline_ns) :
		       0;
}

/*
 * True if the caller owns m, an errorcheck mutex: libc's lock then returns
 * EDEADLK, its trylock EBUSY.
 */
static bool is_deadlock(const pthread_mutex_t *m)
{
	return wf_libc_mutex_type(m) == PTHREAD_MUTEX_ERRORCHECK_NP &&
	       wf_owned_is_mine(m);
}

static int lock_by_libc(pthread_mutex_t *m, clockid_t clock,
			const struct timespec *abstime)
{
	return abstime == NULL ?
		       wf_real.pthread_mutex_lock(m) :
		       wf_real.pthread_mutex_clocklock(m, clock, abstime);
}

static int lock_slow(pthread_mutex_t *m, int64_t deadline_ns)
{
	int rc;

	do {
		/* If the wait ends for another reason, tries again. */
		if (wait_for(m, deadline_ns) == -ETIMEDOUT)
			return ETIMEDOUT;
		rc = wf_shared_mutex_trylock(m);
	} while (rc == EBUSY);
	if (rc == 0 || rc == EOWNERDEAD) {
		uint32_t word;

		mark(m, &word); /* SHARED_MUTEX-2: more may sleep */
	}
	return rc;
}

int wf_shared_mutex_lock(pthread_mutex_t *m, clockid_t clock,
			 const struct timespec *abstime)
{
	int64_t deadline_ns;
	int rc;

	if (is_invalid(m))
		return EINVAL;
	if (wf_inherit_has(m)) /* SHARED_MUTEX-3: it is the kernel's */
		return wf_inherit_lock(m, clock, abstime);
	if (!wf_io_can_wait_futex() && !wf_shared_is_ours(m))
		return lock_by_libc(m, clock, abstime);
	rc = wf_shared_mutex_trylock(m);
	if (rc != EBUSY)
		return rc;
	if (!wf_libc_mutex_is_robust(m) && is_deadlock(m))
		return EDEADLK;
	rc = wf_deadline_from_abs(clock, abstime, &deadline_ns);
	return rc != 0 ? -rc : lock_slow(m, deadline_ns);
}

int wf_shared_mutex_unlock(pthread_mutex_t *m)
{
	if (is_invalid(m))
		return EINVAL;
	if (wf_inherit_has(m)) /* SHARED_MUTEX-3: it is the kernel's */
		return wf_inherit_unlock(m);
	return wf_shared_is_ours(m) ? wf_shared_unlock(m) :
				      wf_real.pthread_mutex_unlock(m);
}

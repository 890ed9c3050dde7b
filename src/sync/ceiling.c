/* SPDX-License-Identifier: MIT */
/*
 * Priority ceilings of process-shared mutexes. libc's functions raise the
 * priority of the kernel thread with the caller's id, and fail if there is
 * none. So weft's own functions lock the word, and boost the caller by a claim:
 * an entry in memory of this process. The word has the ceiling, and below it 0:
 * free, 1: locked, 2: locked, and threads may wait.
 *
 * CEILING-1. Other processes write to the mutex, so sync/boost.h cannot use it:
 *     the claim gives the ceiling to its owner instead. The owner has the claim
 *     from before it tries the word until it has released the word. So a mutex
 *     may have several claims, and one of them is the holder's.
 * CEILING-2. A claim is free if it is for no mutex, or its owner has exited.
 *     Claims change under the lock of sync/boost.c.
 */
#include "sync/ceiling.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <string.h>

#include "base/atomic.h"
#include "os/sys.h"
#include "sync/boost.h"
#include "sync/libc_mutex.h"
#include "sync/owned.h"

enum {
	MOST_CLAIMS = 256,
	CEILING_SHIFT = 19,
};

static struct claim {
	struct wf_mutex boost;
	const pthread_mutex_t *of; /* the mutex; NULL: the claim is free */
	/* its owner has the mutex, and writes this */
	_Atomic bool is_held;
} claims[MOST_CLAIMS];

/* True if the claim is for no mutex or its owner has exited. CEILING-2 */
static bool is_free_locked(const struct claim *c)
{
	return c->of == NULL ||
	       wf_boost_thread(wf_boost_holder(&c->boost)) == NULL;
}

/*
 * Makes a claim of the caller for m. Returns NULL if all MOST_CLAIMS are in
 * use.
 */
static struct claim *claim(const pthread_mutex_t *m, uint32_t ceiling)
{
	struct claim *found = NULL;
	uint64_t mask;
	struct wf_thread *me = wf_boost_begin(&mask);

	for (int i = 0; i < MOST_CLAIMS && found == NULL; i++)
		found = is_free_locked(&claims[i]) ? &claims[i] : NULL;
	if (found != NULL) {
		*found = (struct claim){
			.boost.libc = { .libc_kind = WF_MUTEX_PROTECT,
					.libc_owner = me->tid,
					.libc_users = ceiling },
			.of = m,
		};
		wf_boost_join_locked(&found->boost);
		wf_boost_settle_locked(me, false);
	}
	wf_boost_end(me, mask);
	return found;
}

static void disclaim(struct claim *c)
{
	uint64_t mask;
	struct wf_thread *me = wf_boost_begin(&mask);
	struct wf_thread *owner = wf_boost_thread(wf_boost_holder(&c->boost));

	wf_boost_leave_locked(&c->boost, wf_boost_holder(&c->boost));
	c->of = NULL;
	wf_boost_settle_locked(owner, false);
	wf_boost_end(me, mask);
}

/*
 * Returns the claim of m's holder (CEILING-1). NULL: m was locked before weft
 * started.
 */
static struct claim *find_claim(const pthread_mutex_t *m)
{
	struct claim *found = NULL;
	uint64_t mask;
	struct wf_thread *me = wf_boost_begin(&mask);

	for (int i = 0; i < MOST_CLAIMS && found == NULL; i++) {
		if (claims[i].of == m && wf_load_relaxed(&claims[i].is_held) &&
		    !is_free_locked(&claims[i]))
			found = &claims[i];
	}
	wf_boost_end(me, mask);
	return found;
}

static bool may_have(uint32_t ceiling)
{
	const struct wf_thread *t = wf_self;

	return (t->sched_policy == SCHED_FIFO || t->sched_policy == SCHED_RR) &&
	       (uint32_t)t->sched_priority <= ceiling;
}

int wf_ceiling_trylock(pthread_mutex_t *m)
{
	uint32_t word = wf_load_relaxed(wf_libc_mutex_word(m));
	uint32_t free_word = word & ~WF_CEILING_STATE;
	struct claim *c;

	if (wf_libc_mutex_asks_owner(m) && wf_owned_is_mine(m))
		return wf_libc_mutex_lock_again(m);
	if (!may_have(word >> CEILING_SHIFT))
		return EINVAL;
	if (word != free_word)
		return EBUSY;
	c = claim(m, word >> CEILING_SHIFT);
	if (c == NULL)
		return EAGAIN;
	/* acquire: pairs with the release in wf_ceiling_unlock(). */
	if (!wf_cas_acq_rel(wf_libc_mutex_word(m), &word,
			    free_word | WF_LIBC_MUTEX_LOCKED)) {
		disclaim(c);
		return EBUSY;
	}
	wf_store_relaxed(&c->is_held, true);
	wf_owned_begin(m);
	return 0;
}

int wf_ceiling_unlock(pthread_mutex_t *m)
{
	uint32_t word = wf_load_relaxed(wf_libc_mutex_word(m));
	struct claim *c;

	if (wf_libc_mutex_asks_owner(m) && !wf_owned_is_mine(m))
		return EPERM;
	if (wf_libc_mutex_unlock_again(m))
		return 0;
	c = find_claim(m);
	if (c != NULL)
		wf_store_relaxed(&c->is_held, false);
	wf_owned_end(m);
	/*
	 * release: clears is_held for the next owner; pairs with the acquire in
	 * wf_ceiling_trylock().
	 */
	while (!wf_cas_acq_rel(wf_libc_mutex_word(m), &word,
			       word & ~WF_CEILING_STATE))
		;
	if ((word & WF_CEILING_STATE) == WF_LIBC_MUTEX_WAITED)
		wf_sys(SYS_futex, wf_libc_mutex_word(m), FUTEX_WAKE, 1);
	if (c != NULL)
		disclaim(c);
	return 0;
}

void wf_ceiling_fork_child(void)
{
	memset(claims, 0, sizeof(claims));
}

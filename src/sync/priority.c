/* SPDX-License-Identifier: MIT */
/*
 * Mutexes with priority inheritance or a priority ceiling, over sync/boost.c.
 * With inheritance, waiters are in a list by priority, and an unlock hands the
 * mutex to the first. With a ceiling, the holder gets the ceiling, and the word
 * is that of a plain mutex.
 *
 * PRIORITY-1. With inheritance, locking a free mutex is one step on its word,
 *     and so is unlocking a mutex without waiters. All other changes are under
 *     the lock of sync/boost.c.
 * PRIORITY-2. Its word is the holder's id, plus WAITED exactly if its list of
 *     waiters is not empty. An unlock hands it to the first waiter: the highest
 *     priority, then the first to come.
 *
 *     0 -> id                  [take]
 *     id -> 0                  [unlock_inherit]
 *     id -> id | WAITED        [enqueue_locked]
 *     id | WAITED -> id        [give_up, the last waiter]
 *     id | WAITED -> id', id' | WAITED [hand_over_locked]
 *
 * PRIORITY-3. A thread that was handed the mutex may free it. So the store of
 *     `is_granted` is the last access, in one step with the wake. The releasing
 *     thread has lost the mutex's boost by then. But it is in the runtime, so
 *     it keeps the CPU until after that step.
 * PRIORITY-4. The word of a mutex with a ceiling is as in mutex.c. A thread has
 *     the ceiling before it has the mutex, and until it has released it. While
 *     it waits, a claim on its stack boosts it.
 * PRIORITY-5. The lists have entries on waiters' stacks. So a thread that
 *     leaves its wait by a jump or by its exit removes its entry. If it has
 *     been handed the mutex, it unlocks it. [leave_inherit, leave_ceiling]
 */
#include "sync/priority.h"

#include <errno.h>
#include <sched.h>

#include "libc/cleanup.h"
#include "os/sys.h"
#include "sync/boost.h"
#include "wait/ufutex_internal.h"

/* --- inheritance ---------------------------------------------------------- */

static bool take(struct wf_mutex *m)
{
	uint32_t self = wf_owner_self(), word = 0;

	/* acquire: pairs with the releases in grant() and unlock_inherit(). */
	if (!wf_cas_acq_rel(&m->word, &word, self))
		return false;
	wf_store_relaxed(&m->owner, self);
	return true;
}

/*
 * Makes w a waiter. Returns false if the mutex was free: then the caller has it
 * now.
 */
static bool enqueue_locked(struct wf_boost_waiter *w)
{
	uint32_t word = wf_load_relaxed(&w->mutex->word);

	while ((word & WF_BOOST_WAITED) == 0) {
		if (word == 0 && take(w->mutex))
			return false;
		if (word != 0 && wf_cas_acq_rel(&w->mutex->word, &word,
						word | WF_BOOST_WAITED))
			break;
		word = wf_load_relaxed(&w->mutex->word);
	}
	wf_boost_add_locked(w);
	wf_boost_join_locked(w->mutex);
	wf_boost_settle_locked(wf_boost_thread(wf_boost_holder(w->mutex)),
			       false);
	return true;
}

/*
 * Ends the wait of w. Returns false if the caller has been handed the mutex
 * meanwhile.
 */
static bool give_up(struct wf_boost_waiter *w)
{
	uint64_t mask;
	struct wf_thread *me = wf_boost_begin(&mask);
	bool is_granted = wf_load_relaxed(&w->is_granted) != 0;

	if (!is_granted) {
		wf_boost_remove_locked(w);
		if (*wf_boost_first(w->mutex) == NULL)
			atomic_fetch_and(&w->mutex->word, ~WF_BOOST_WAITED);
		wf_boost_join_locked(w->mutex);
		wf_boost_settle_locked(
			wf_boost_thread(wf_boost_holder(w->mutex)), false);
	}
	wf_boost_end(me, mask);
	return !is_granted;
}

static void unlock_inherit(struct wf_mutex *m);

struct waiting {
	struct wf_boost_waiter waiter;
	/* waits, or was handed the mutex; set in the runtime */
	bool is_in_lists;
};

/* Cleans up after a waiter that leaves by a jump or its exit. PRIORITY-5 */
static void leave_inherit(void *waiting)
{
	struct waiting *w = waiting;

	if (w->is_in_lists && !give_up(&w->waiter))
		unlock_inherit(w->waiter.mutex);
}

/* Waits until the mutex is handed to the caller. Returns 0 or -ETIMEDOUT. */
static int await_grant(struct waiting *w, int64_t deadline_ns)
{
	_Atomic uint32_t *is_granted = &w->waiter.is_granted;

	/* acquire: pairs with the release in unlock_inherit(). */
	while (wf_load_acquire(is_granted) == 0) {
		if (wf_ufutex_wait(WF_WAIT_PRIORITY_MUTEX, is_granted, 0,
				   WF_UFUTEX_ANY, deadline_ns) == -ETIMEDOUT &&
		    give_up(&w->waiter)) {
			w->is_in_lists = false;
			return -ETIMEDOUT;
		}
	}
	return 0;
}

static int lock_inherit(struct wf_mutex *m, int64_t deadline_ns)
{
	WF_CLEANUP struct wf_cleanup cleanup = WF_CLEANUP_NONE;
	struct waiting w = { .waiter.mutex = m };
	uint64_t mask;
	int rc = 0;

	if (take(m)) /* also brings the page of *m in */
		return 0;
	wf_cleanup_begin_own(&cleanup, leave_inherit, &w);
	w.waiter.thread = wf_boost_begin(&mask);
	w.is_in_lists = enqueue_locked(&w.waiter);
	wf_boost_end(w.waiter.thread, mask);
	if (w.is_in_lists) {
		rc = await_grant(&w, deadline_ns);
		if (rc == 0)
			wf_store_relaxed(&m->owner, wf_owner_self());
	}
	wf_cleanup_end(&cleanup);
	return rc;
}

/*
 * Hands m to its first waiter, and returns that. If there is none, frees m and
 * returns NULL.
 */
static struct wf_boost_waiter *hand_over_locked(struct wf_mutex *m)
{
	struct wf_thread *from = wf_boost_thread(wf_boost_holder(m));
	struct wf_boost_waiter *w = *wf_boost_first(m);

	wf_boost_leave_locked(m, wf_boost_holder(m));
	if (w == NULL) { /* the last waiter has just given up */
		/* release: publishes the section; pairs with take(). */
		wf_store_release(&m->word, 0);
		return NULL;
	}
	wf_boost_remove_locked(w);
	wf_store_relaxed(&m->word,
			 (uint32_t)w->thread->tid |
				 (*wf_boost_first(m) != NULL ? WF_BOOST_WAITED :
							       0));
	wf_boost_join_locked(m);
	wf_boost_settle_locked(from, false);
	wf_boost_settle_locked(w->thread, false);
	return w;
}

/*
 * Tells the waiter that it has the mutex, and wakes it in the same step.
 * PRIORITY-3
 */
static int grant(void *waiter, const struct wf_thread *first)
{
	/* release: publishes the section; pairs with lock_inherit(). */
	wf_store_release(&((struct wf_boost_waiter *)waiter)->is_granted, 1);
	return 0;
}

static void unlock_inherit(struct wf_mutex *m)
{
	uint32_t word = wf_owner_self();
	struct wf_thread *me;
	struct wf_boost_waiter *next;
	uint64_t mask;

	wf_store_relaxed(&m->owner, WF_OWNER_NONE);
	/* release: publishes the section; pairs with take(). */
	if (wf_cas_acq_rel(&m->word, &word, 0))
		return;
	me = wf_boost_begin(&mask);
	next = hand_over_locked(m);
	if (next != NULL)
		wf_ufutex_wake_one_from(me, &next->is_granted, grant, next);
	wf_boost_end(me, mask);
}

/* --- ceiling ------------------------------------------------------------ */

/*
 * Returns -EINVAL if the caller may not lock m: its priority is above the
 * ceiling or, as in libc, its policy is not real-time.
 */
static int check_ceiling(const struct wf_mutex *m)
{
	const struct wf_thread *t = wf_thread_self();
	int policy = t->sched_policy, priority = t->sched_priority;

	if (t->kind == WF_THREAD_FOREIGN) {
		struct sched_param param = { .sched_priority = 0 };

		policy = (int)wf_sys(SYS_sched_getscheduler, 0);
		wf_sys(SYS_sched_getparam, 0, &param);
		priority = param.sched_priority;
	}
	if ((policy != SCHED_FIFO && policy != SCHED_RR) ||
	    priority > (int)wf_boost_ceiling(m))
		return -EINVAL;
	return 0;
}

/*
 * Gives the caller the ceiling: m is the mutex, which it holds, or its claim
 * for one.
 */
static void ceiling_locked(struct wf_mutex *m, struct wf_thread *me)
{
	wf_boost_join_locked(m);
	wf_boost_settle_locked(me, false);
}

/*
 * Locks m if it is free. Otherwise returns false, and the caller has only the
 * claim, unless that is NULL.
 */
static bool take_ceiling(struct wf_mutex *m, struct wf_mutex *claim)
{
	uint64_t mask;
	struct wf_thread *me = wf_boost_begin(&mask);
	bool is_taken = wf_mutex_take(m, (uint32_t)me->tid);

	if (is_taken || claim != NULL)
		ceiling_locked(is_taken ? m : claim, me);
	wf_boost_end(me, mask);
	return is_taken;
}

/*
 * Ends the claim. If m is not NULL, the caller holds it, and m boosts the
 * caller instead.
 */
static void end_claim(struct wf_mutex *claim, struct wf_mutex *m)
{
	uint64_t mask;
	struct wf_thread *me = wf_boost_begin(&mask);

	wf_boost_leave_locked(claim, wf_boost_holder(claim));
	if (m != NULL)
		wf_boost_join_locked(m);
	wf_boost_settle_locked(me, false);
	wf_boost_end(me, mask);
}

/* Cleans up after a waiter that leaves by a jump or its exit. PRIORITY-5 */
static void leave_ceiling(void *claim)
{
	end_claim(claim, NULL);
}

static int lock_ceiling(struct wf_mutex *m, int64_t deadline_ns)
{
	WF_CLEANUP struct wf_cleanup cleanup = WF_CLEANUP_NONE;
	struct wf_mutex claim = {
		.libc = { .libc_kind = WF_MUTEX_PROTECT,
			  .libc_owner = (int)wf_owner_self(),
			  .libc_users = wf_boost_ceiling(m) },
	};
	int rc = check_ceiling(m);

	if (rc != 0)
		return rc;
	wf_cleanup_begin_own(&cleanup, leave_ceiling, &claim);
	if (take_ceiling(m, &claim)) {
		wf_cleanup_end(&cleanup);
		return 0;
	}
	rc = wf_mutex_acquire(m, deadline_ns);
	end_claim(&claim, rc == 0 ? m : NULL);
	wf_cleanup_end(&cleanup);
	/* the ceiling was changed meanwhile */
	if (rc == 0 && check_ceiling(m) != 0) {
		wf_priority_unlock(m);
		rc = -EINVAL;
	}
	return rc;
}

/*
 * Unlocks a mutex with a ceiling. The caller keeps the ceiling until then.
 * PRIORITY-4
 */
static void unlock_ceiling(struct wf_mutex *m)
{
	uint32_t word = WF_MUTEX_LOCKED;
	struct wf_thread *me, *holder;
	uint64_t mask;

	me = wf_boost_begin(&mask);
	holder = wf_boost_thread(wf_boost_holder(m));
	wf_boost_leave_locked(m, wf_boost_holder(m));
	wf_boost_end(me, mask);
	wf_store_relaxed(&m->owner, WF_OWNER_NONE);
	/* release: publishes the section; pairs with wf_mutex_take. */
	if (!wf_cas_acq_rel(&m->word, &word, WF_MUTEX_FREE))
		wf_mutex_unlock_slow(m);
	me = wf_boost_begin(&mask);
	wf_boost_settle_locked(holder, false);
	wf_boost_end(me, mask);
}

/* --- both ----------------------------------------------------------------- */

int wf_priority_lock(struct wf_mutex *m, int64_t deadline_ns)
{
	return wf_boost_inherits(m) ? lock_inherit(m, deadline_ns) :
				      lock_ceiling(m, deadline_ns);
}

int wf_priority_trylock(struct wf_mutex *m)
{
	int rc = wf_boost_inherits(m) ? 0 : check_ceiling(m);

	if (rc != 0)
		return rc;
	return (wf_boost_inherits(m) ? take(m) : take_ceiling(m, NULL)) ?
		       0 :
		       -EBUSY;
}

void wf_priority_unlock(struct wf_mutex *m)
{
	if (wf_boost_inherits(m))
		unlock_inherit(m);
	else
		unlock_ceiling(m);
}

/* SPDX-License-Identifier: MIT */
/*
 * When a kernel thread exits, the kernel marks the robust mutexes in its list
 * (FUTEX_OWNER_DIED). It skips mutexes of which the word has another id. A
 * thread of weft has an id that the kernel does not know, and changes its
 * kernel thread. But when the process dies, the kernel must mark its robust
 * process-shared mutexes. So these are in the monitor's list with the monitor's
 * id.
 *
 * SHARED-1. A robust process-shared mutex that a thread of weft holds has the
 *     monitor's id in its word and is in the monitor's list. The holder's id is
 *     in a field that libc does not use for robust mutexes. So weft's functions
 *     lock and unlock it. Only for libc's wait on a condition it is as libc
 *     leaves it: with the thread's id, and in the thread's list. A process that
 *     dies during the change leaves the mutex locked.
 * SHARED-2. The monitor's list changes under `lock`, with in_runtime set.
 * SHARED-3. A thread that exits marks the mutexes in its libc list as the
 *     kernel would, and wakes by the kernel's futex. All their waiters sleep in
 *     the kernel.
 * SHARED-4. A locked mutex stays locked when its memory is unmapped, as in the
 *     kernel. But it must leave the monitor's list first, where its neighbours
 *     are other threads' mutexes. So the unmapping thread takes it out before,
 *     and its links are 0.
 *
 * test/model/robust.pml is a model of SHARED-1, SHARED-2 and SHARED-4.
 *
 * Mutexes with priority inheritance are in sync/inherit.c. Recursive and
 * errorcheck mutexes that are not robust are in sync/owned.c.
 */
#include "sync/shared.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>

#include "arch/arch.h"
#include "base/atomic.h"
#include "base/spin.h"
#include "libc/tcb.h"
#include "os/clock.h"
#include "os/futex.h"
#include "os/mem.h"
#include "os/sys.h"
#include "sched/runtime.h"
#include "sync/inherit.h"
#include "sync/libc_mutex.h"
#include "sync/mutex.h"
#include "sync/owned.h"
#include "sync/ceiling.h"
#include "sync/robust.h"

enum {
	/* the kernel, too, follows at most so many links */
	MOST_MUTEXES = 2048,
	NOBODY = -1,
};

static struct wf_spin lock = WF_SPIN_INIT;
static struct wf_robust_list answering;
static _Atomic int answering_tid; /* the monitor's id, in words; 0: none yet */
static _Atomic uint32_t nr_given; /* mutexes in the monitor's list; SHARED-2 */

/* --- fields --------------------------------------------------------------- */

/*
 * Returns the field with the holder's id, where libc counts spins (SHARED-1).
 */
static _Atomic uint32_t *holder_of(const pthread_mutex_t *m)
{
	return (_Atomic uint32_t *)&m->libc_spins;
}

static uint32_t tid_in(uint32_t word)
{
	return word & FUTEX_TID_MASK;
}

/*
 * True if m is robust and without priority inheritance. False for a destroyed
 * mutex, which has all bits set.
 */
static bool is_robust(const pthread_mutex_t *m)
{
	return wf_libc_mutex_is_robust(m) &&
	       (m->libc_kind & WF_MUTEX_INHERIT) == 0;
}

static void change_tid(pthread_mutex_t *m, uint32_t from, uint32_t to)
{
	uint32_t word = wf_load_relaxed(wf_libc_mutex_word(m));

	while (tid_in(word) == from &&
	       !wf_cas_acq_rel(wf_libc_mutex_word(m), &word,
			       (word & ~(uint32_t)FUTEX_TID_MASK) | to))
		;
}

/* --- lists ---------------------------------------------------------------- */

static uintptr_t own_head(void)
{
	return wf_tcb_robust_list(wf_cpu_thread_register());
}

/* Sets the pending mutex of the monitor's list. SHARED-2 */
static void set_pending(const pthread_mutex_t *m)
{
	wf_robust_set_pending(&answering, m != NULL ? wf_robust_link(m) : 0);
}

static void list_locked(pthread_mutex_t *m)
{
	wf_robust_insert(wf_robust_head(&answering), wf_robust_link(m));
	wf_store_relaxed(&nr_given, wf_load_relaxed(&nr_given) + 1);
}

static void unlist_locked(pthread_mutex_t *m)
{
	if (*wf_robust_next(wf_robust_link(m)) == 0)
		return; /* SHARED-4: unlinked, as it is mapped twice */
	wf_robust_take_out(wf_robust_link(m));
	wf_store_relaxed(&nr_given, wf_load_relaxed(&nr_given) - 1);
}

/*
 * Decides once which kernel thread has the process's robust mutexes in its
 * robust list, and returns that thread's id. A mutex must be unlocked as it was
 * locked, so the decision is final. The first caller wins: the monitor, which
 * has registered a list, or a thread that has waited too long for the monitor.
 */
static int settle(int tid)
{
	int before = 0;

	/* release: publishes the list; pairs with the acquire in
	 * answering_id. */
	return wf_cas_acq_rel(&answering_tid, &before, tid) ? tid : before;
}

/*
 * Waits for the monitor to register. It runs soon after the first thread. A
 * signal does not end this wait.
 */
static WF_COLD int await_answer(void)
{
	int64_t deadline_ns = wf_os_now() + 10 * WF_NS_PER_S;
	int tid;

	while ((tid = wf_load_acquire(&answering_tid)) == 0) {
		if (wf_os_now() >= deadline_ns)
			return settle(NOBODY);
		wf_os_futex_wait((_Atomic uint32_t *)&answering_tid, 0,
				 deadline_ns);
	}
	return tid;
}

/*
 * Returns the id to store in words. 0: no kernel thread is registered, or the
 * lists of this libc are not known.
 */
static uint32_t answering_id(void)
{
	int tid = wf_load_acquire(&answering_tid);

	if (WF_UNLIKELY(tid == 0))
		tid = await_answer();
	return tid > 0 && own_head() != 0 ? (uint32_t)tid : 0;
}

/* --- before and after libc's functions ------------------------------------ */

static bool is_given(const pthread_mutex_t *m, const struct wf_thread *t)
{
	return tid_in(wf_load_relaxed(wf_libc_mutex_word(m))) ==
		       (uint32_t)wf_load_relaxed(&answering_tid) &&
	       wf_load_relaxed(holder_of(m)) == (uint32_t)t->tid;
}

static void take_back(pthread_mutex_t *m)
{
	struct wf_thread *t = wf_runtime_enter();

	wf_spin_lock(&lock, WF_RANK_SHARED);
	wf_store_relaxed(holder_of(m), 0);
	set_pending(m);
	unlist_locked(m);
	change_tid(m, (uint32_t)answering_tid, (uint32_t)t->tid);
	wf_robust_insert(own_head(), wf_robust_link(m));
	set_pending(NULL);
	wf_spin_unlock(&lock);
	wf_runtime_leave(t);
}

static void give(pthread_mutex_t *m)
{
	struct wf_thread *t = wf_runtime_enter();

	wf_spin_lock(&lock, WF_RANK_SHARED);
	set_pending(m);
	wf_robust_take_out(wf_robust_link(m));
	change_tid(m, (uint32_t)t->tid, (uint32_t)answering_tid);
	list_locked(m);
	set_pending(NULL);
	wf_store_relaxed(holder_of(m), (uint32_t)t->tid);
	wf_spin_unlock(&lock);
	wf_runtime_leave(t);
}

static bool is_robust_of_ours(const pthread_mutex_t *m)
{
	return is_robust(m) && answering_id() != 0;
}

bool wf_shared_is_ours(const pthread_mutex_t *m)
{
	return (wf_owned_has_number(wf_self) &&
		(wf_owned_has(m) || is_robust_of_ours(m))) ||
	       wf_ceiling_has(m);
}

/* --- around libc's wait --------------------------------------------------- */

void wf_shared_begin(pthread_mutex_t *m)
{
	const struct wf_thread *t = wf_self;

	if (!wf_owned_has_number(t))
		return;
	if (is_robust(m) && is_given(m, t))
		take_back(m);
	else if (wf_owned_has(m) && wf_owned_is_mine(m))
		wf_owned_hide(m);
}

void wf_shared_end(pthread_mutex_t *m)
{
	const struct wf_thread *t = wf_self;

	if (!wf_owned_has_number(t))
		return;
	if (wf_owned_has(m))
		wf_owned_show(m);
	else if (is_robust_of_ours(m) &&
		 tid_in(wf_load_relaxed(wf_libc_mutex_word(m))) ==
			 (uint32_t)t->tid)
		give(m);
}

/* --- robust mutexes ------------------------------------------------------- */

/* Makes t the owner of m, after the caller has set the word. SHARED-1 */
static void own(pthread_mutex_t *m, const struct wf_thread *t, int owner)
{
	m->libc_count = 1;
	m->libc_owner = owner;
	wf_store_relaxed(holder_of(m), (uint32_t)t->tid);
	list_locked(m);
}

static void free_word(pthread_mutex_t *m, int nr_wake)
{
	/* release: the section; pairs with the acquire of the next owner. */
	uint32_t word = atomic_exchange(wf_libc_mutex_word(m), 0);

	if (word & FUTEX_WAITERS)
		wf_sys(SYS_futex, wf_libc_mutex_word(m), FUTEX_WAKE, nr_wake);
}

static int try_locked(pthread_mutex_t *m, const struct wf_thread *t)
{
	uint32_t id = (uint32_t)answering_tid;
	uint32_t word = wf_load_relaxed(wf_libc_mutex_word(m));

	do {
		if (word != 0 && (word & FUTEX_OWNER_DIED) == 0)
			return EBUSY;
		/* acquire: the section; pairs with the release of the last
		 * owner. */
	} while (!wf_cas_acq_rel(wf_libc_mutex_word(m), &word,
				 id | (word & FUTEX_WAITERS)));
	if (word & FUTEX_OWNER_DIED) {
		own(m, t, WF_ROBUST_INCONSISTENT);
		return EOWNERDEAD; /* the dead owner is still in libc_users */
	}
	if (m->libc_owner == WF_ROBUST_NOT_RECOVERABLE) {
		m->libc_count = 0;
		atomic_fetch_or(wf_libc_mutex_word(m), FUTEX_WAITERS);
		free_word(m, INT_MAX);
		return ENOTRECOVERABLE;
	}
	own(m, t, t->tid);
	m->libc_users++;
	return 0;
}

static int try_robust(pthread_mutex_t *m)
{
	struct wf_thread *t = wf_self;
	int rc;

	if (is_given(m, t))
		return wf_libc_mutex_lock_again(m);
	/*
	 * Touches the mutex. If its page is missing or not mapped, the fault
	 * comes here, before the runtime and the lock.
	 */
	atomic_fetch_add_explicit(holder_of(m), 0, memory_order_relaxed);
	wf_runtime_enter();
	wf_spin_lock(&lock, WF_RANK_SHARED);
	set_pending(m);
	rc = try_locked(m, t);
	set_pending(NULL);
	wf_spin_unlock(&lock);
	wf_runtime_leave(t);
	return rc;
}

static int unlock_robust(pthread_mutex_t *m)
{
	struct wf_thread *t = wf_self;

	if (!is_given(m, t))
		return EPERM;
	if (m->libc_owner != WF_ROBUST_INCONSISTENT &&
	    wf_libc_mutex_unlock_again(m))
		return 0;
	wf_runtime_enter();
	wf_spin_lock(&lock, WF_RANK_SHARED);
	m->libc_owner = m->libc_owner == WF_ROBUST_INCONSISTENT ?
				WF_ROBUST_NOT_RECOVERABLE :
				0;
	m->libc_count = 0;
	m->libc_users--;
	wf_store_relaxed(holder_of(m), 0);
	set_pending(m);
	unlist_locked(m);
	free_word(m, 1);
	set_pending(NULL);
	wf_spin_unlock(&lock);
	wf_runtime_leave(t);
	return 0;
}

static void unlist_within(uintptr_t begin, uintptr_t end)
{
	uintptr_t head = wf_robust_head(&answering), link, next;
	struct wf_thread *t = wf_runtime_enter();

	wf_spin_lock(&lock, WF_RANK_SHARED);
	for (link = *wf_robust_next(head); link != head; link = next) {
		next = *wf_robust_next(link);
		if (link >= begin && link < end)
			unlist_locked(wf_robust_mutex(link));
	}
	wf_spin_unlock(&lock);
	wf_runtime_leave(t);
}

void wf_shared_unmap(uintptr_t begin, size_t bytes)
{
	/* No lock needed: a holder of a mutex in the range has locked it
	 * before, so nr_given shows it. */
	if (WF_UNLIKELY(wf_load_relaxed(&nr_given) != 0) &&
	    begin % WF_PAGE == 0)
		unlist_within(begin,
			      /* SHARED-4: takes mutexes in the range out of the
			       * list. */
			      wf_align_up(begin + bytes, WF_PAGE));
}

/* --- in libc's place ------------------------------------------------------ */

int wf_shared_trylock(pthread_mutex_t *m)
{
	return wf_ceiling_has(m) ? wf_ceiling_trylock(m) :
	       is_robust(m)	 ? try_robust(m) :
				   wf_owned_trylock(m);
}

int wf_shared_unlock(pthread_mutex_t *m)
{
	return wf_ceiling_has(m) ? wf_ceiling_unlock(m) :
	       is_robust(m)	 ? unlock_robust(m) :
				   wf_owned_unlock(m);
}

/* --- exit --------------------------------------------------------------- */

/* Marks m as the kernel does when an owner dies. SHARED-3 */
static void owner_died(pthread_mutex_t *m, uint32_t tid)
{
	_Atomic uint32_t *word = wf_libc_mutex_word(m);
	uint32_t old = wf_load_relaxed(word);

	do {
		if (tid_in(old) != tid)
			return;
		/* release: the section; pairs with the acquire of the next
		 * owner. */
	} while (!wf_cas_acq_rel(word, &old,
				 (old & FUTEX_WAITERS) | FUTEX_OWNER_DIED));
	if (old & FUTEX_WAITERS)
		wf_sys(SYS_futex, word, FUTEX_WAKE, 1);
}

/* Returns a mutex of t that is in the monitor's list, or NULL. */
static pthread_mutex_t *find_given_locked(const struct wf_thread *t)
{
	uintptr_t head = wf_robust_head(&answering), link;

	for (link = *wf_robust_next(head); link != head;
	     link = *wf_robust_next(link)) {
		pthread_mutex_t *m = wf_robust_mutex(link);

		if (wf_load_relaxed(holder_of(m)) == (uint32_t)t->tid)
			return m;
	}
	return NULL;
}

/*
 * Marks one mutex of t and returns true; returns false if t has none. Finding
 * and marking are under one hold of the lock: in between another thread might
 * unmap it. SHARED-4
 */
static WF_COLD bool end_given(const struct wf_thread *t)
{
	struct wf_thread *me = wf_runtime_enter();
	pthread_mutex_t *m;

	wf_spin_lock(&lock, WF_RANK_SHARED);
	m = find_given_locked(t);
	if (m != NULL) {
		wf_store_relaxed(holder_of(m), 0);
		set_pending(m);
		unlist_locked(m);
		owner_died(m, (uint32_t)answering_tid);
		set_pending(NULL);
	}
	wf_spin_unlock(&lock);
	wf_runtime_leave(me);
	return m != NULL;
}

/*
 * Marks the mutexes in the caller's libc list, some of which the program may
 * have unmapped.
 */
static WF_COLD void end_own(uintptr_t head, uint32_t tid)
{
	uintptr_t link = *wf_robust_next(head), next;

	for (int i = 0; i < MOST_MUTEXES && link != head; i++) {
		if (!wf_robust_follow(link, &next))
			return;
		owner_died(wf_robust_mutex(link), tid);
		link = next;
	}
}

WF_LINK_INLINE void wf_shared_thread_end(struct wf_thread *t)
{
	uintptr_t head = own_head();

	wf_inherit_thread_end(t);
	while (wf_load_relaxed(&nr_given) != 0 && end_given(t))
		;
	if (head == 0 || wf_robust_is_empty(head))
		return;
	end_own(head, (uint32_t)t->tid);
	wf_robust_empty(head);
}

void wf_shared_answer(void)
{
	settle(wf_robust_register(&answering) == 0 ? wf_os_gettid() : NOBODY);
	wf_os_futex_wake((_Atomic uint32_t *)&answering_tid, INT_MAX);
}

bool wf_shared_is_any_given(void)
{
	return wf_load_relaxed(&nr_given) != 0;
}

void wf_shared_fork_child(void)
{
	lock = WF_SPIN_INIT;
	wf_store_relaxed(&answering_tid, 0);
	wf_store_relaxed(&nr_given, 0);
}

/* SPDX-License-Identifier: MIT */
/*
 * Priority inheritance by the kernel. The word of a mutex has the id of a
 * kernel thread. The kernel boosts that kernel thread to the priority of the
 * waiters, and hands the mutex over when that kernel thread unlocks it. All is
 * as in libc, with two differences. The word has the id of the thread's
 * carrier, and robust mutexes are in a list of that carrier.
 *
 * INHERIT-1. A thread that locks such a mutex is bound to its carrier from then
 *     on. The word has the id of that kernel thread, and robust mutexes are in
 *     the carrier's list. Only the holder changes both, except for what the
 *     kernel does for waiters.
 * INHERIT-2. The kernel marks robust mutexes only when a kernel thread exits.
 *     So a thread that exits with such mutexes changes to another carrier, and
 *     its old kernel thread exits. Mutexes that are not robust stay locked.
 *     Their carrier sleeps for ever, since another thread on it would seem to
 *     hold them.
 * INHERIT-3. A thread that has the id of its kernel thread, also in the TCB,
 *     locks by libc's functions, which use the list in the TCB. That holds
 *     before weft has started, for foreign threads, and for the first thread on
 *     the first carrier. The first thread is bound to that carrier at the start
 *     of the runtime if it has ever locked such a mutex, or a word by
 *     FUTEX_LOCK_PI. The kernel's list of the first carrier is libc's. So
 *     another thread that locks such a mutex there gets another carrier.
 *
 * Rejected: a kernel thread beside the carriers that locks for all threads. It
 * would get the priorities that are meant for the holders.
 */
#include "sync/inherit.h"

#include <errno.h>
#include <linux/futex.h>

#include "arch/arch.h"
#include "base/atomic.h"
#include "libc/real.h"
#include "libc/tcb.h"
#include "os/sys.h"
#include "sched/carrier.h"
#include "sched/carrier_exit.h"
#include "sched/reserved.h"
#include "sched/runtime.h"
#include "sync/libc_mutex.h"
#include "sync/robust.h"
#include "wait/sleep.h"

#ifndef FUTEX_LOCK_PI2 /* Not in headers before Linux 5.14. */
#define FUTEX_LOCK_PI2 13
#endif

/*
 * INHERIT-3: the first thread has locked such a mutex by libc's functions or a
 * word by system calls.
 */
static _Atomic bool is_used_by_first;

static uintptr_t link_of(const pthread_mutex_t *m)
{
	return wf_robust_link(m) | WF_ROBUST_PI;
}

static uint32_t id_of(const struct wf_carrier *c)
{
	return (uint32_t)wf_load_relaxed(&c->tid);
}

static bool holds(const struct wf_carrier *c, const pthread_mutex_t *m)
{
	return (wf_load_relaxed(wf_libc_mutex_word(m)) & FUTEX_TID_MASK) ==
	       id_of(c);
}

/* --- which kernel thread locks for a thread ----------------------------- */

/*
 * True if the kernel knows the caller's id, so that libc's functions lock.
 * INHERIT-3
 */
bool wf_inherit_is_libc(void)
{
	const struct wf_thread *t = wf_self;

	if (t == NULL || t->kind == WF_THREAD_FOREIGN)
		return true;
	return t->kind == WF_THREAD_BOUND &&
	       t->tid == wf_load_relaxed(&t->carrier->tid);
}

void wf_inherit_note_native(void)
{
	const struct wf_thread *t = wf_self;

	if (t == NULL || t->is_first)
		wf_store_relaxed(&is_used_by_first, true);
}

/*
 * Binds the caller and returns its carrier (INHERIT-1). Returns NULL if no
 * kernel thread is available.
 */
static struct wf_carrier *own_carrier(void)
{
	struct wf_thread *t = wf_self;
	struct wf_carrier *c;
	bool is_bound = t->kind == WF_THREAD_BOUND;

	if (!is_bound) {
		wf_runtime_enter();
		is_bound = t->is_first ||
			   wf_load_relaxed(&t->carrier->tid) !=
				   wf_os_getpid() ||
			   wf_reserved_make(t, WF_BOUND_PI_FUTEX) !=
				   NULL; /* INHERIT-3 */
		is_bound = is_bound && wf_carrier_bind(t, WF_BOUND_PI_FUTEX);
		wf_runtime_leave(t);
	}
	if (!is_bound)
		return NULL;
	c = t->carrier;
	if (c->robust.head.list.next == NULL && !wf_inherit_is_libc())
		wf_robust_register(&c->robust);
	return c;
}

/* --- locking -------------------------------------------------------------- */

static void set_pending(struct wf_carrier *c, const pthread_mutex_t *m)
{
	if (wf_libc_mutex_is_robust(m))
		wf_robust_set_pending(&c->robust, link_of(m));
}

static void end_pending(struct wf_carrier *c)
{
	wf_robust_set_pending(&c->robust, 0);
}

static void free_word(const struct wf_carrier *c, pthread_mutex_t *m)
{
	uint32_t word = id_of(c);

	/* release: publishes the section; pairs with the acquire of the next
	 * owner. */
	if (!wf_cas_acq_rel(wf_libc_mutex_word(m), &word, 0))
		wf_sys(SYS_futex, wf_libc_mutex_word(m), FUTEX_UNLOCK_PI);
}

static void enlist(struct wf_carrier *c, pthread_mutex_t *m)
{
	m->libc_count = 1;
	c->nr_inherited++;
	if (wf_libc_mutex_is_robust(m))
		wf_robust_insert(wf_robust_head(&c->robust), link_of(m));
	end_pending(c);
}

/*
 * Completes a lock: the caller has set the word, and m is pending in its list.
 */
static int own(struct wf_carrier *c, pthread_mutex_t *m)
{
	if (wf_load_acquire(wf_libc_mutex_word(m)) & FUTEX_OWNER_DIED) {
		atomic_fetch_and(wf_libc_mutex_word(m),
				 ~(uint32_t)FUTEX_OWNER_DIED);
		m->libc_owner = WF_ROBUST_INCONSISTENT;
		enlist(c, m);
		return EOWNERDEAD; /* the dead owner is still in libc_users */
	}
	if (wf_libc_mutex_is_robust(m) &&
	    m->libc_owner == WF_ROBUST_NOT_RECOVERABLE) {
		m->libc_count = 0;
		free_word(c, m);
		end_pending(c);
		return ENOTRECOVERABLE;
	}
	m->libc_owner = (int)id_of(c);
	m->libc_users++;
	enlist(c, m);
	return 0;
}

/* Waits until the deadline: no thread will unlock the mutex. */
static int wait_in_vain(clockid_t clock, const struct timespec *abstime)
{
	int64_t deadline_ns;
	int rc = wf_deadline_from_abs(clock, abstime, &deadline_ns);

	if (rc < 0)
		return -rc;
	while (wf_sleep_until(deadline_ns) < 0)
		;
	return ETIMEDOUT;
}

/*
 * Locks m in the kernel. Handlers run meanwhile, and then the wait continues.
 */
static int lock_in_kernel(pthread_mutex_t *m, clockid_t clock,
			  const struct timespec *abstime)
{
	int op = abstime != NULL && clock == CLOCK_MONOTONIC ? FUTEX_LOCK_PI2 :
							       FUTEX_LOCK_PI;
	long rc;

	do {
		rc = wf_sys(SYS_futex, wf_libc_mutex_word(m), op, 0, abstime);
	} while (rc == -EAGAIN || rc == -EINTR);
	switch (rc) {
	case -ESRCH:   /* the owner has exited */
	case -EDEADLK: /* the owner is the caller, or waits for it */
		return wait_in_vain(clock, abstime);
	case -ENOSYS:
		return EINVAL; /* a kernel without LOCK_PI2: as with libc */
	default:
		return (int)-rc;
	}
}

static int lock_by_libc(pthread_mutex_t *m, clockid_t clock,
			const struct timespec *abstime)
{
	wf_inherit_note_native();
	return abstime == NULL ?
		       wf_real.pthread_mutex_lock(m) :
		       wf_real.pthread_mutex_clocklock(m, clock, abstime);
}

int wf_inherit_lock(pthread_mutex_t *m, clockid_t clock,
		    const struct timespec *abstime)
{
	struct wf_carrier *c = NULL;
	uint32_t word = 0;
	int rc = 0;

	if (!wf_inherit_is_libc()) {
		c = own_carrier();
		if (c == NULL)
			return EAGAIN;
	}
	if (wf_inherit_is_libc())
		return lock_by_libc(m, clock, abstime);
	if (holds(c, m)) {
		rc = wf_libc_mutex_lock_again(m);
		if (rc != EBUSY)
			return rc;
	}
	set_pending(c, m);
	/* acquire: pairs with the release in free_word(). */
	if (!wf_cas_acq_rel(wf_libc_mutex_word(m), &word, id_of(c)))
		rc = lock_in_kernel(m, clock, abstime);
	if (rc != 0) {
		end_pending(c);
		return rc;
	}
	return own(c, m);
}

/*
 * Takes a free mutex; returns EBUSY if it has an owner. If the owner has died,
 * asks the kernel: only the kernel can give the mutex to the caller then.
 */
static int try_word(const struct wf_carrier *c, pthread_mutex_t *m)
{
	uint32_t word = 0;

	/* acquire: pairs with the release in free_word(). */
	if (wf_cas_acq_rel(wf_libc_mutex_word(m), &word, id_of(c)))
		return 0;
	if ((word & FUTEX_OWNER_DIED) == 0 ||
	    wf_sys(SYS_futex, wf_libc_mutex_word(m), FUTEX_TRYLOCK_PI) < 0)
		return EBUSY;
	return 0;
}

int wf_inherit_trylock(pthread_mutex_t *m)
{
	struct wf_carrier *c = NULL;
	int rc;

	if (!wf_inherit_is_libc()) {
		c = own_carrier();
		if (c == NULL)
			return EAGAIN;
	}
	if (wf_inherit_is_libc()) {
		wf_inherit_note_native();
		return wf_real.pthread_mutex_trylock(m);
	}
	if (holds(c, m))
		return wf_libc_mutex_lock_again(m);
	set_pending(c, m);
	rc = try_word(c, m);
	if (rc != 0) {
		end_pending(c);
		return rc;
	}
	return own(c, m);
}

int wf_inherit_unlock(pthread_mutex_t *m)
{
	bool is_consistent = m->libc_owner != WF_ROBUST_INCONSISTENT;
	const struct wf_thread *t = wf_self;
	struct wf_carrier *c;

	if (wf_inherit_is_libc())
		return wf_real.pthread_mutex_unlock(m);
	if (t->kind != WF_THREAD_BOUND || !holds(t->carrier, m))
		return EPERM;
	c = t->carrier;
	if (is_consistent && wf_libc_mutex_unlock_again(m))
		return 0;
	if (wf_libc_mutex_is_robust(m)) {
		set_pending(c, m);
		wf_robust_take_out(wf_robust_link(m));
	}
	m->libc_owner = is_consistent ? 0 : WF_ROBUST_NOT_RECOVERABLE;
	m->libc_users--;
	c->nr_inherited--;
	free_word(c, m);
	end_pending(c);
	return 0;
}

/* --- start and exit ----------------------------------------------------- */

void wf_inherit_start(struct wf_thread *t)
{
	if (wf_load_relaxed(&is_used_by_first))
		wf_carrier_bind(t, WF_BOUND_PI_FUTEX);
}

static bool has_inheriting(uintptr_t head)
{
	uintptr_t link = head != 0 ? *wf_robust_next(head) : 0;

	while (link != head && (link & WF_ROBUST_PI) == 0) {
		if (!wf_robust_follow(link, &link))
			return false;
	}
	return link != head;
}

/*
 * Returns the robust list that the kernel has for t's carrier, 0 if there is
 * none.
 */
static uintptr_t kernels_list(const struct wf_thread *t)
{
	if (wf_inherit_is_libc())
		return wf_tcb_robust_list(wf_cpu_thread_register());
	return t->carrier->robust.head.list.next != NULL ?
		       wf_robust_head(&t->carrier->robust) :
		       0;
}

void wf_inherit_thread_end(struct wf_thread *t)
{
	uintptr_t head;
	bool is_libc;

	if (WF_LIKELY(t->kind != WF_THREAD_BOUND))
		return;
	is_libc = wf_inherit_is_libc();
	head = kernels_list(t);
	wf_runtime_enter();
	if (!has_inheriting(head) || !wf_carrier_exchange(t))
		t->carrier->is_altered |= t->carrier->nr_inherited != 0;
	else if (is_libc)
		wf_robust_empty(head); /* the TCB still has this list */
	wf_runtime_leave(t);
}

void wf_inherit_fork_child(void)
{
	wf_store_relaxed(&is_used_by_first, false);
}

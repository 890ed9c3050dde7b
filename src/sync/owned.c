/* SPDX-License-Identifier: MIT */
/*
 * A thread of weft has an id that only its process knows. libc compares a
 * mutex's owner with that id alone, so weft adds the process in a field that
 * libc does not use here.
 *
 * OWNED-1. Threads of two processes may have the same id. So a mutex has the
 *     owner's process and id, written in one step. weft's functions lock and
 *     unlock: libc's would check only the id. A check before libc's function is
 *     not enough, since the owner may change in between.
 * OWNED-2. Only libc's wait on a condition needs libc's idea of the owner. The
 *     field is 0 until that wait is over.
 */
#include "sync/owned.h"

#include <errno.h>
#include <linux/futex.h>

#include "base/atomic.h"
#include "os/sys.h"
#include "sched/runtime.h"
#include "sched/table.h"
#include "sync/libc_mutex.h"
#include "sync/mutex.h"

enum {
	FIRST_OWN_TID = 1 << WF_TID_INDEX_BITS, /* the kernel's ids are below */
};

/* Returns the field with the owner's process and id. OWNED-1 */
static _Atomic uint64_t *owner_of(const pthread_mutex_t *m)
{
	return (_Atomic uint64_t *)&m->libc_prev;
}

static uint64_t as_owner(const struct wf_thread *t)
{
	return (uint64_t)wf_os_getpid() << 32 | (uint32_t)t->tid;
}

bool wf_owned_has_number(const struct wf_thread *t)
{
	return t != NULL && t->tid > FIRST_OWN_TID;
}

bool wf_owned_has(const pthread_mutex_t *m)
{
	int kind = m->libc_kind;

	return (kind & WF_MUTEX_SHARED) != 0 && (kind & WF_MUTEX_ROBUST) == 0 &&
	       wf_libc_mutex_asks_owner(m);
}

bool wf_owned_is_mine(const pthread_mutex_t *m)
{
	const struct wf_thread *t = wf_thread_self();

	return m->libc_owner == t->tid &&
	       (!wf_owned_has_number(t) ||
		wf_load_relaxed(owner_of(m)) == as_owner(t));
}

void wf_owned_show(pthread_mutex_t *m)
{
	wf_store_relaxed(owner_of(m), as_owner(wf_self));
}

void wf_owned_hide(pthread_mutex_t *m)
{
	/* OWNED-2: only libc's owner counts */
	wf_store_relaxed(owner_of(m), 0);
}

void wf_owned_begin(pthread_mutex_t *m)
{
	m->libc_owner = wf_self->tid;
	m->libc_users++;
	m->libc_count = 1;
	if (wf_owned_has_number(wf_self) && wf_owned_has(m))
		wf_owned_show(m);
}

void wf_owned_end(pthread_mutex_t *m)
{
	if (wf_owned_has(m))
		wf_owned_hide(m);
	m->libc_owner = 0;
	m->libc_users--;
	m->libc_count = 0;
}

int wf_owned_trylock(pthread_mutex_t *m)
{
	uint32_t word = WF_LIBC_MUTEX_FREE;

	if (wf_owned_is_mine(m))
		return wf_libc_mutex_type(m) == PTHREAD_MUTEX_RECURSIVE_NP ?
			       wf_libc_mutex_lock_again(m) :
			       EBUSY;
	/* acquire: pairs with the release in wf_owned_unlock(). */
	if (!wf_cas_acq_rel(wf_libc_mutex_word(m), &word, WF_LIBC_MUTEX_LOCKED))
		return EBUSY;
	wf_owned_begin(m);
	return 0;
}

int wf_owned_unlock(pthread_mutex_t *m)
{
	if (!wf_owned_is_mine(m))
		return EPERM;
	if (wf_libc_mutex_unlock_again(m))
		return 0;
	wf_owned_end(m);
	/* release: pairs with the acquire in wf_owned_trylock(). */
	if (atomic_exchange(wf_libc_mutex_word(m), WF_LIBC_MUTEX_FREE) ==
	    WF_LIBC_MUTEX_WAITED)
		wf_sys(SYS_futex, wf_libc_mutex_word(m), FUTEX_WAKE, 1);
	return 0;
}

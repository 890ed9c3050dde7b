/* SPDX-License-Identifier: MIT */
/*
 * A table of the timers that signal one thread: the kernel's timer id, the
 * thread's id and the signal. The kernel signals the receiver when a timer
 * expires, and the receiver finds the thread here.
 *
 * POSIX_TIMER-1. Entries change under the lock only. Entries [0, nr_used) have
 *     been used; id is 0 .. INT_MAX.
 * POSIX_TIMER-2. The kernel sends the receiver weft's signal, which it always
 *     takes. The program's signal then goes into the thread's queue.
 * POSIX_TIMER-3. The receiver may hold the signal of a timer when the timer is
 *     deleted. The entry then remembers that the timer signalled a thread, so
 *     that no other thread gets the signal. The entry is used again after all
 *     others.
 */
#include "signal/posix_timer.h"

#include <errno.h>
#include <string.h>

#include "base/spin.h"
#include "sched/table.h"
#include "signal/queue.h"

enum { MAX_TIMERS = 1024 };

struct entry {
	int id;
	int32_t tid;
	int sig;
	int overrun;
	bool is_deleted; /* the kernel's timer is deleted: POSIX_TIMER-3 */
};

static struct wf_spin lock = WF_SPIN_INIT;
static struct entry entries[MAX_TIMERS]; /* POSIX_TIMER-1: under the lock */
/* changes under the lock; read without it, too */
static _Atomic uint32_t nr_used;
/* where the search for a free entry begins; lock */
static uint32_t next_free;

/* Returns the entry of timer `id`, or NULL. */
static struct entry *find_locked(int id, bool is_deleted)
{
	for (uint32_t i = 0; i < wf_load_relaxed(&nr_used); i++) {
		struct entry *e = &entries[i];

		if (e->id == id && e->is_deleted == is_deleted)
			return e;
	}
	return NULL;
}

/*
 * Returns an entry that was never used, or else the one deleted longest ago:
 * POSIX_TIMER-3.
 */
static struct entry *find_free_locked(void)
{
	uint32_t nr = wf_load_relaxed(&nr_used);

	if (nr < MAX_TIMERS) {
		wf_store_relaxed(&nr_used, nr + 1);
		return &entries[nr];
	}
	for (uint32_t i = 0; i < MAX_TIMERS; i++) {
		struct entry *e = &entries[next_free++ % MAX_TIMERS];

		if (e->is_deleted)
			return e;
	}
	return NULL;
}

int wf_posix_timer_add(int id, int sig, int32_t tid)
{
	struct entry *e;

	wf_spin_lock(&lock, WF_RANK_POSIX_TIMERS);
	/* The kernel gives the numbers of deleted timers to new ones. */
	e = find_locked(id, true);
	if (e == NULL)
		e = find_free_locked();
	if (e != NULL)
		*e = (struct entry){ .id = id, .tid = tid, .sig = sig };
	wf_spin_unlock(&lock);
	return e != NULL ? 0 : -EAGAIN;
}

void wf_posix_timer_remove(int id)
{
	struct entry *e;

	wf_spin_lock(&lock, WF_RANK_POSIX_TIMERS);
	e = find_locked(id, false);
	if (e != NULL)
		e->is_deleted = true;
	wf_spin_unlock(&lock);
}

bool wf_posix_timer_target(siginfo_t *info, struct wf_thread **ret_target)
{
	const struct entry *e;
	bool is_deleted = false;
	int32_t tid = 0;

	if (info->si_code != SI_TIMER || wf_load_relaxed(&nr_used) == 0)
		return false;
	wf_spin_lock(&lock, WF_RANK_POSIX_TIMERS);
	e = find_locked(info->si_timerid, false);
	if (e != NULL) {
		tid = e->tid;
		/* POSIX_TIMER-2: the program's signal */
		info->si_signo = e->sig;
	} else {
		is_deleted = find_locked(info->si_timerid, true) != NULL;
	}
	wf_spin_unlock(&lock);
	*ret_target = tid != 0 ? wf_table_by_tid(tid) : NULL;
	return tid != 0 || is_deleted;
}

void wf_posix_timer_delivered(const siginfo_t *info)
{
	struct entry *e;

	if (info->si_code != SI_TIMER || wf_load_relaxed(&nr_used) == 0)
		return;
	wf_spin_lock(&lock, WF_RANK_POSIX_TIMERS);
	e = find_locked(info->si_timerid, false);
	if (e != NULL)
		e->overrun = info->si_overrun;
	wf_spin_unlock(&lock);
}

int wf_posix_timer_overrun(int id)
{
	const struct entry *e;
	int overrun = -ENOENT;

	wf_spin_lock(&lock, WF_RANK_POSIX_TIMERS);
	e = find_locked(id, false);
	if (e != NULL)
		overrun = e->overrun;
	wf_spin_unlock(&lock);
	return overrun;
}

bool wf_posix_timer_is_any(int32_t tid)
{
	bool is_any = false;

	wf_spin_lock(&lock, WF_RANK_POSIX_TIMERS);
	for (uint32_t i = 0; i < wf_load_relaxed(&nr_used); i++)
		is_any |= entries[i].tid == tid && !entries[i].is_deleted;
	wf_spin_unlock(&lock);
	return is_any;
}

void wf_posix_timer_fork_child(void)
{
	lock = WF_SPIN_INIT;
	memset(entries, 0, sizeof(entries));
	wf_store_relaxed(&nr_used, 0);
	next_free = 0;
}

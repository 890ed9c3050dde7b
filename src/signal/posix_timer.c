/*
 * T1. Entries change under the lock only. Entries [0, nr_used) may be in use,
 *     id 0 .. INT_MAX; free ones have tid 0.
 * T2. The receiver wants the signal from the timer's creation on, and for
 *     good: the kernel queues it for the receiver alone, so nobody else can
 *     see it there. It waits in the thread's own queue instead.
 */
#include "signal/posix_timer.h"

#include <errno.h>
#include <string.h>

#include "base/spin.h"
#include "sched/table.h"
#include "signal/queue.h"
#include "signal/receiver.h"

enum { MAX_TIMERS = 1024 };

struct entry {
	int id;
	int32_t tid;
	int overrun;
};

static struct wf_spin lock = WF_SPIN_INIT;
static struct entry entries[MAX_TIMERS]; /* T1 */
static _Atomic uint32_t nr_used;	 /* lock; may be read without */

/* NULL if there is none. tid 0 finds a free one. */
static struct entry *find_locked(int id, bool is_free)
{
	for (uint32_t i = 0; i < wf_load_relaxed(&nr_used); i++) {
		struct entry *e = &entries[i];

		if (is_free ? e->tid == 0 : e->tid != 0 && e->id == id)
			return e;
	}
	return NULL;
}

int wf_posix_timer_add(int id, int sig, int32_t tid)
{
	struct entry *e;
	uint32_t nr;

	wf_spin_lock(&lock);
	e = find_locked(0, true);
	nr = wf_load_relaxed(&nr_used);
	if (e == NULL && nr < MAX_TIMERS) {
		e = &entries[nr];
		wf_store_relaxed(&nr_used, nr + 1);
	}
	if (e != NULL)
		*e = (struct entry){ .id = id, .tid = tid };
	wf_spin_unlock(&lock);
	if (e == NULL)
		return -EAGAIN;
	wf_receiver_keep(WF_SIGNAL_BIT(sig)); /* T2 */
	return 0;
}

void wf_posix_timer_remove(int id)
{
	struct entry *e;

	wf_spin_lock(&lock);
	e = find_locked(id, false);
	if (e != NULL)
		e->tid = 0;
	wf_spin_unlock(&lock);
}

bool wf_posix_timer_target(const siginfo_t *info, struct wf_thread **ret_target)
{
	const struct entry *e;
	int32_t tid = 0;

	if (info->si_code != SI_TIMER || wf_load_relaxed(&nr_used) == 0)
		return false;
	wf_spin_lock(&lock);
	e = find_locked(info->si_timerid, false);
	if (e != NULL)
		tid = e->tid;
	wf_spin_unlock(&lock);
	if (tid == 0)
		return false;
	*ret_target = wf_table_by_tid(tid);
	return true;
}

void wf_posix_timer_delivered(const siginfo_t *info)
{
	struct entry *e;

	if (info->si_code != SI_TIMER || wf_load_relaxed(&nr_used) == 0)
		return;
	wf_spin_lock(&lock);
	e = find_locked(info->si_timerid, false);
	if (e != NULL)
		e->overrun = info->si_overrun;
	wf_spin_unlock(&lock);
}

int wf_posix_timer_overrun(int id)
{
	const struct entry *e;
	int overrun = -ENOENT;

	wf_spin_lock(&lock);
	e = find_locked(id, false);
	if (e != NULL)
		overrun = e->overrun;
	wf_spin_unlock(&lock);
	return overrun;
}

void wf_posix_timer_fork_child(void)
{
	lock = WF_SPIN_INIT;
	memset(entries, 0, sizeof(entries));
	wf_store_relaxed(&nr_used, 0);
}

/* SPDX-License-Identifier: MIT */
/*
 * wf_ufutex_park and its relatives, made of the waits of fake_wait.c, and
 * functions that no test of it reaches.
 */
#include <stdlib.h>

#include "sync/priority.h"
#include "wait/ufutex_internal.h"

/* Mutexes with a priority protocol are not tested here. */
int wf_priority_lock(struct wf_mutex *m, int64_t deadline_ns)
{
	abort();
}

int wf_priority_trylock(struct wf_mutex *m)
{
	abort();
}

void wf_priority_unlock(struct wf_mutex *m)
{
	abort();
}

static int parked(struct wf_thread *t, const struct wf_ufutex_note *note)
{
	t->wait_was_moved = note->was_moved;
	return note->result;
}

int wf_ufutex_park(struct wf_thread *t, const void *addr, uint32_t expected)
{
	struct wf_ufutex_note note;

	wf_ufutex_wait_noted(WF_WAIT_SEM, addr, expected, WF_UFUTEX_ANY,
			     WF_FOREVER, &note);
	return parked(t, &note);
}

int wf_ufutex_park_commit(struct wf_thread *t, const void *addr,
			  wf_ufutex_commit_fn *commit, void *arg)
{
	struct wf_ufutex_note note;

	wf_ufutex_wait_commit(WF_WAIT_COND, addr, commit, arg, WF_FOREVER,
			      &note);
	return parked(t, &note);
}

int wf_ufutex_result(struct wf_thread *t, int result)
{
	return result;
}

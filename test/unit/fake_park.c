/* SPDX-License-Identifier: MIT */
/* wf_ufutex_park and its relatives, made of the waits of fake_wait.c. */
#include "wait/ufutex_internal.h"

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

/* SPDX-License-Identifier: MIT */
/*
 * Lists the threads by a walk over the table. No thread stops meanwhile.
 *
 * SEE_LIST-1. A row is made between two readings of the fields that say which
 *     thread has the record, and in which wait it is. If they differ, the row
 *     is made anew, a few times. So the name, the wait and its kind belong to
 *     one thread.
 */
#include "see/list.h"

#include <string.h>

#include "base/self.h"
#include "sched/entry.h"
#include "sched/reserved.h"
#include "sched/table.h"
#include "weft/weft.h"

enum { TRIES = 8 }; /* of a row that changes each time */

/* Another thread may store it meanwhile. */
#define READ(field) (*(const volatile __typeof__(field) *)&(field))

#define WORD(name, text) [WF_WAIT_##name] = text,
static const char *const wait_kinds[] = { WF_WAIT_KINDS(WORD) };
#undef WORD
#define WORD(name, text) [WF_BOUND_##name] = text,
static const char *const bound_reasons[] = { WF_BOUND_REASONS(WORD) };
#undef WORD

static const char *word_of(const char *const *words, size_t nr, size_t at)
{
	return at < nr ? words[at] : NULL;
}
#define WORD_OF(words, at) \
	word_of(words, sizeof(words) / sizeof((words)[0]), at)

static const char *bound_why(const struct wf_thread *t)
{
	const struct wf_carrier *c = NULL;

	if (READ(t->kind) == WF_THREAD_BOUND ||
	    (wf_load_relaxed(&t->exit_work) & WF_WORK_BIND) != 0)
		c = wf_reserved_find(t);
	return c != NULL ? WORD_OF(bound_reasons, READ(c->bound_why)) : NULL;
}

static const char *state_of(const struct wf_thread *t)
{
	if (t == wf_self)
		return "running";
	if ((wf_load_relaxed(&t->exit_state) & WF_EXIT_DONE) != 0)
		return "exited";
	if ((wf_load_relaxed(&t->not_started) & WF_NOT_STARTED_BIT) != 0)
		return "new";
	if (READ(t->wait_addr) != NULL)
		return "parked";
	return READ(t->ctx.sp) == NULL ||
			       READ(t->kind) != WF_THREAD_MULTIPLEXED ?
		       "running" :
		       "runnable";
}

/* False: the record is free. */
static bool make_row(const struct wf_thread *t, struct weft_thread *row)
{
	for (int i = 0; i < TRIES; i++) {
		int32_t tid = READ(t->tid);
		const void *wait = READ(t->wait_addr);
		uint64_t generation = READ(t->wait_generation);

		if (tid <= 0)
			return false;
		*row = (struct weft_thread){
			.thread = (pthread_t)READ(t->slot.tcb),
			.tid = tid,
			.state = state_of(t),
			.waits_for = wait != NULL && t != wf_self ?
					     WORD_OF(wait_kinds,
						     READ(t->wait_kind)) :
					     NULL,
			.bound_why = bound_why(t),
		};
		memcpy(row->name, t->name, sizeof(row->name) - 1);
		wf_fence_acquire(); /* SEE_LIST-1 */
		if (READ(t->tid) == tid && READ(t->wait_addr) == wait &&
		    READ(t->wait_generation) == generation)
			return true;
	}
	row->waits_for = NULL;
	return true;
}

size_t wf_see_list(void *threads, size_t nr, size_t size)
{
	uint32_t high = wf_table_high();
	struct weft_thread row;
	size_t found = 0;

	for (uint32_t i = 1; i < high; i++) {
		char *to = (char *)threads + found * size;

		if (!make_row(wf_table_at(i), &row))
			continue;
		if (found++ >= nr)
			continue;
		memset(to, 0, size);
		memcpy(to, &row, size < sizeof(row) ? size : sizeof(row));
	}
	return found;
}

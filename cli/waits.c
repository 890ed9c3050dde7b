/* SPDX-License-Identifier: MIT */
/*
 * First the deadlocks, each thread with its stack. Then the objects that most
 * threads wait for, with the stack of the owner: it shows for what that waits,
 * or in which function it keeps the object. No stack is printed twice.
 */
#include "waits.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "see/json.h"
#include "see/text.h"
#include "wait_stacks.h"

enum { MOST_OBJECTS = 20 };

struct waits {
	const struct wf_see *see;
	const struct wf_see_table *table;
	struct wf_wait_stacks *stacks;
	bool *has_stack; /* by number in the table: printed, or to be printed */
	bool all_wait;
	uint32_t nr_objects;
};

static int begin(struct waits *w, const struct wf_see *see,
		 const struct wf_see_table *table)
{
	*w = (struct waits){ .see = see, .table = table };
	w->has_stack = calloc((size_t)table->nr + 1, sizeof(*w->has_stack));
	w->stacks = wf_wait_stacks_new(see);
	if (w->has_stack == NULL || w->stacks == NULL)
		return -ENOMEM;
	w->all_wait = wf_see_all_wait(see, table);
	return 0;
}

static void end(struct waits *w)
{
	wf_wait_stacks_free(w->stacks);
	free(w->has_stack);
}

/* False if it was true before. */
static bool mark(struct waits *w, const struct wf_see_thread *t)
{
	bool *has = &w->has_stack[t - w->table->threads], had = *has;

	*has = true;
	return !had;
}

static const struct wf_see_thread *owner_of(const struct waits *w,
					    const struct wf_see_thread *waiter)
{
	return waiter->owner < w->table->nr ?
		       &w->table->threads[waiter->owner] :
		       NULL;
}

/* --- for people ---------------------------------------------------------- */

static void print_member(struct waits *w, const struct wf_see_thread *t)
{
	char text[WF_SEE_TEXT];
	bool is_read = wf_wait_stacks_read(w->stacks, t);

	printf("  %d (%s) waits", t->tid, t->name);
	if (t->since_ns != 0 && w->table->now_ns != 0) {
		wf_see_duration(w->table->now_ns - t->since_ns, text,
				sizeof(text));
		printf(" since %s", text);
	}
	if (is_read) {
		wf_wait_stacks_line(w->stacks, text, sizeof(text));
		printf(" at %s", text);
	}
	wf_see_describe(w->see, w->table, t, text, sizeof(text));
	printf(" for %s\n", text);
	if (is_read && mark(w, t))
		wf_wait_stacks_print(w->stacks, "      ");
}

static void print_cycle(void *arg, const struct wf_see_thread *const *of,
			uint32_t nr)
{
	printf("Deadlock of %u thread%s:\n", nr, nr == 1 ? "" : "s");
	for (uint32_t i = 0; i < nr; i++)
		print_member(arg, of[i]);
	putchar('\n');
}

static void print_object(void *arg, const struct wf_see_thread *waiter,
			 uint32_t nr_waiters)
{
	struct waits *w = arg;
	const struct wf_see_thread *owner = owner_of(w, waiter);
	struct wf_see_thread object = *waiter;
	char text[WF_SEE_TEXT];

	if (w->nr_objects++ >= MOST_OBJECTS)
		return;
	object.until_ns = 0; /* these are of one waiter */
	object.is_bound = false;
	wf_see_describe(w->see, w->table, &object, text, sizeof(text));
	printf("%8u  %s%s\n", nr_waiters, text,
	       w->all_wait && waiter->mutex != 0 && !waiter->was_moved ?
		       "; no thread can signal this condition" :
		       "");
	if (owner == NULL || !mark(w, owner))
		return;
	if (wf_wait_stacks_read(w->stacks, owner))
		wf_wait_stacks_print(w->stacks, "              ");
	else
		printf("%14s(%d: %s)\n", "", owner->tid,
		       wf_see_state_name(owner->state));
}

int wf_waits_print(const struct wf_see *see, const struct wf_see_table *table)
{
	struct waits w;
	int err = begin(&w, see, table), nr;

	nr = err == 0 ? wf_see_cycles(see, table, print_cycle, &w) : err;
	if (nr == 0)
		puts("No deadlock.\n");
	if (nr >= 0 && w.all_wait)
		puts("Every thread waits for another one, and no wait has a "
		     "time limit: no thread can\nsignal a condition, post a "
		     "semaphore or unlock a mutex any more.\n");
	if (nr >= 0) {
		printf("%8s  %s\n", "WAITERS", "OBJECT");
		nr = wf_see_objects(table, print_object, &w);
	}
	if (nr >= 0 && w.nr_objects > MOST_OBJECTS)
		printf("and %u more objects\n", w.nr_objects - MOST_OBJECTS);
	end(&w);
	return nr < 0 ? nr : 0;
}

/* --- for programs -------------------------------------------------------- */

static void mark_cycle(void *arg, const struct wf_see_thread *const *of,
		       uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		mark(arg, of[i]);
}

static void json_object(void *arg, const struct wf_see_thread *waiter,
			uint32_t nr_waiters)
{
	struct waits *w = arg;
	const struct wf_see_thread *owner = owner_of(w, waiter);

	if (w->nr_objects >= MOST_OBJECTS)
		return;
	printf("%s{", w->nr_objects++ > 0 ? ",\n " : "");
	wf_see_json_object(w->table, waiter);
	printf(", \"waiters\": %" PRIu32 "}", nr_waiters);
	if (owner != NULL)
		mark(w, owner);
}

static void json_head(void *arg)
{
	struct waits *w = arg;

	wf_see_cycles(w->see, w->table, mark_cycle, w);
	printf(",\n\"allWait\": %s,\n\"mostWaitedFor\": [",
	       w->all_wait ? "true" : "false");
	wf_see_objects(w->table, json_object, w);
	printf("]");
}

static void json_thread(void *arg, const struct wf_see_thread *t)
{
	struct waits *w = arg;

	if (!w->has_stack[t - w->table->threads] ||
	    !wf_wait_stacks_read(w->stacks, t))
		return;
	printf(",\n \"stack\": [");
	wf_wait_stacks_json(w->stacks);
	printf("]");
}

int wf_waits_json(const struct wf_see *see, const struct wf_see_table *table,
		  const struct wf_see_thread *const *order, uint32_t nr)
{
	struct waits w;
	const struct wf_see_json_more more = { &w, json_head, json_thread };
	int err = begin(&w, see, table);

	if (err == 0)
		wf_see_json(see, table, order, nr, &more);
	end(&w);
	return err;
}

/* SPDX-License-Identifier: MIT */
/*
 * The waits-for graph. A thread waits for at most one other thread: the owner
 * of a mutex, the writer of a reader-writer lock, or the thread that it joins.
 * So each thread leads into at most one cycle.
 *
 * GRAPH-1. The rows of a table are of different moments, so a cycle in the
 *     table may never have existed. So the reader reads the threads of each
 *     cycle in two more rounds. When the second round begins, all owners have
 *     been read again. If the second round finds all threads in the same waits,
 *     they were in these waits while the owners were read. A thread in a wait
 *     neither locks nor unlocks.
 * GRAPH-2. A thread may wake another one and then wait itself, between the
 *     readings of their rows. So all rows are read again. If all threads are
 *     then in the same waits, they were in them between the two readings.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "threads.h"

static bool is_waiting(const struct wf_see_thread *t)
{
	return t->wait_kind != NULL && t->owner != WF_SEE_NO_THREAD;
}

/* GRAPH-1 */
static bool is_confirmed(const struct wf_see *see,
			 const struct wf_see_thread *const *of, uint32_t nr)
{
	struct wf_see_reading r;

	if (wf_see_pid(see) == 0)
		return true; /* a core has one moment */
	if (wf_see_begin(see, &r) < 0)
		return false;
	for (uint32_t i = 0; i < 2 * nr; i++)
		if (!wf_see_still_waits(&r, of[i % nr]))
			return false;
	return true;
}

/* The cycle in which `first` is. Returns its length; of has room. */
static uint32_t collect(const struct wf_see_table *table, uint32_t first,
			const struct wf_see_thread **of)
{
	uint32_t nr = 0, at = first;

	do {
		of[nr++] = &table->threads[at];
		at = table->threads[at].owner;
	} while (at != first && nr < table->nr);
	return nr;
}

/*
 * Walks from `start` until a thread that waits for none, or one that was
 * reached before. Returns a thread of a new cycle, or WF_SEE_NO_THREAD.
 */
static uint32_t walk(const struct wf_see_table *table, uint32_t start,
		     uint32_t *reached)
{
	uint32_t at = start;

	while (reached[at] == 0) {
		reached[at] = start + 1;
		if (!is_waiting(&table->threads[at]))
			return WF_SEE_NO_THREAD;
		at = table->threads[at].owner;
	}
	return reached[at] == start + 1 ? at : WF_SEE_NO_THREAD;
}

int wf_see_cycles(const struct wf_see *see, const struct wf_see_table *table,
		  wf_see_cycle_fn *found, void *arg)
{
	size_t room = (size_t)table->nr + 1;
	uint32_t *reached = calloc(room, sizeof(*reached));
	const struct wf_see_thread **of = malloc(room * sizeof(*of));
	int nr_cycles = reached != NULL && of != NULL ? 0 : -ENOMEM;

	for (uint32_t i = 0; nr_cycles >= 0 && i < table->nr; i++) {
		uint32_t at = walk(table, i, reached), nr;

		if (at == WF_SEE_NO_THREAD)
			continue;
		nr = collect(table, at, of);
		if (is_confirmed(see, of, nr)) {
			nr_cycles++;
			found(arg, of, nr);
		}
	}
	free(reached);
	free(of);
	return nr_cycles;
}

static bool has_object(const struct wf_see_thread *t)
{
	static const char *const without[] = { "sleep", "signal", "runtime",
					       "io", "wait_word" };

	if (t->wait_kind == NULL)
		return false;
	for (size_t i = 0; i < sizeof(without) / sizeof(without[0]); i++)
		if (strcmp(t->wait_kind, without[i]) == 0)
			return false;
	return true;
}

static bool is_own(const struct wf_see_thread *t)
{
	return t->wait_kind != NULL && strcmp(t->wait_kind, "runtime") == 0;
}

/*
 * The deadline of a bound thread is not known. Threads of the process that
 * weft did not make have no row. Weft's own thread wakes no waiter.
 */
static bool may_go_on(const struct wf_see_thread *t)
{
	if (t->state == WF_SEE_EXITED || is_own(t))
		return false;
	return t->state != WF_SEE_PARKED || !has_object(t) || t->is_bound ||
	       t->until_ns != 0;
}

static bool is_same_wait(const struct wf_see_thread *a,
			 const struct wf_see_thread *b)
{
	return a->tid == b->tid && a->state == b->state &&
	       a->wait_addr == b->wait_addr &&
	       a->wait_generation == b->wait_generation;
}

/* The next row from i on that is not of weft's own thread. */
static const struct wf_see_thread *next(const struct wf_see_table *table,
					uint32_t *i)
{
	while (*i < table->nr && is_own(&table->threads[*i]))
		++*i;
	return *i < table->nr ? &table->threads[(*i)++] : NULL;
}

static bool is_same_table(const struct wf_see_table *x,
			  const struct wf_see_table *y)
{
	uint32_t i = 0, k = 0;

	for (;;) {
		const struct wf_see_thread *a = next(x, &i), *b = next(y, &k);

		if (a == NULL || b == NULL)
			return a == b;
		if (!is_same_wait(a, b))
			return false;
	}
}

/* GRAPH-2 */
bool wf_see_all_wait(const struct wf_see *see, const struct wf_see_table *table)
{
	struct wf_see_table again;
	bool is_same;

	for (uint32_t i = 0; i < table->nr; i++)
		if (may_go_on(&table->threads[i]))
			return false;
	if (table->nr == 0 || wf_see_pid(see) == 0)
		return table->nr > 0;
	if (wf_see_threads(see, &again) < 0)
		return false;
	is_same = is_same_table(table, &again);
	wf_see_table_free(&again);
	return is_same;
}

static int by_object(const void *a, const void *b)
{
	const struct wf_see_thread *const *x = a, *const *y = b;

	return (*x)->object < (*y)->object ? -1 : (*x)->object > (*y)->object;
}

struct group {
	const struct wf_see_thread *waiter;
	uint32_t nr;
};

static int by_waiters(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (x->nr != y->nr)
		return x->nr > y->nr ? -1 : 1;
	return by_object(&x->waiter, &y->waiter);
}

int wf_see_objects(const struct wf_see_table *table, wf_see_object_fn *found,
		   void *arg)
{
	size_t room = (size_t)table->nr + 1;
	const struct wf_see_thread **sorted = malloc(room * sizeof(*sorted));
	struct group *groups = calloc(room, sizeof(*groups));
	int err = sorted != NULL && groups != NULL ? 0 : -ENOMEM;
	uint32_t nr = 0, nr_groups = 0;

	for (uint32_t i = 0; err == 0 && i < table->nr; i++)
		if (has_object(&table->threads[i]))
			sorted[nr++] = &table->threads[i];
	if (err == 0)
		qsort(sorted, nr, sizeof(*sorted), by_object);
	for (uint32_t i = 0; i < nr; i++) {
		if (i == 0 || sorted[i]->object != sorted[i - 1]->object)
			groups[nr_groups++].waiter = sorted[i];
		groups[nr_groups - 1].nr++;
	}
	if (err == 0)
		qsort(groups, nr_groups, sizeof(*groups), by_waiters);
	for (uint32_t i = 0; i < nr_groups; i++)
		found(arg, groups[i].waiter, groups[i].nr);
	free(sorted);
	free(groups);
	return err;
}

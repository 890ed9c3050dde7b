/* SPDX-License-Identifier: MIT */
/* weft stacks: the stacks of the threads of a process or a core file. */
#include "stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "see/grow.h"
#include "see_command.h"
#include "stacks_own.h"

struct options {
	int tid;
	bool folded, json, no_stop, runtime;
};

struct groups {
	struct wf_stack_group *groups;
	uint32_t nr, *table, size; /* table: by hash, number of group + 1 */
};

void wf_stacks_help(FILE *to)
{
	fputs("usage: weft stacks [OPTIONS] PID|CORE\n\n"
	      "Prints the stacks of the threads of a process on weft, or of "
	      "its core file, also\nof threads that wait. Equal stacks are "
	      "printed once, the most frequent first.\n"
	      "The kernel thread of a thread that runs is stopped for a "
	      "moment.\n"
	      "A frame with '?' was found by the frame pointer, and may be "
	      "wrong.\n\n"
	      "  --tid=TID         only the thread with this id, or the one "
	      "on the kernel\n"
	      "                    thread with this id\n"
	      "  --no-stop         leave out threads that run: no kernel "
	      "thread is stopped\n"
	      "  --runtime         weft's own frames, too\n"
	      "  --folded          a line for each stack, for flame graphs\n"
	      "  --json            all that is known, for programs\n\n"
	      "Exit status: 0, or 125 if the threads cannot be read.\n",
	      to);
}

static bool parse_option(const char *arg, void *options)
{
	struct options *o = options;

	if (strcmp(arg, "--folded") == 0)
		return o->folded = true;
	if (strcmp(arg, "--runtime") == 0)
		return o->runtime = true;
	if (strcmp(arg, "--no-stop") == 0)
		return o->no_stop = true;
	if (strcmp(arg, "--json") == 0)
		return o->json = true;
	return strncmp(arg, "--tid=", 6) == 0 && (o->tid = atoi(arg + 6)) > 0;
}

/* --- equal stacks -------------------------------------------------------- */

static uint64_t hash(const struct wf_see_stack *s, enum wf_see_state state)
{
	uint64_t h = (uint64_t)state << 8 | (uint64_t)s->end;

	for (uint32_t i = 0; i < s->nr; i++)
		h = (h ^ s->frames[i].address) * 0x9e3779b97f4a7c15ULL ^
		    h >> 29;
	return h ^ h >> 32;
}

static bool is_equal(const struct wf_stack_group *g,
		     const struct wf_see_stack *s, enum wf_see_state state)
{
	if (g->state != state || g->end != s->end || g->nr_frames != s->nr)
		return false;
	for (uint32_t i = 0; i < s->nr; i++)
		if (g->frames[i].address != s->frames[i].address ||
		    g->frames[i].is_guess != s->frames[i].is_guess)
			return false;
	return true;
}

/* A group of its own for the first thread with this stack. */
static struct wf_stack_group *add_group(struct groups *all,
					const struct wf_see_stack *s,
					enum wf_see_state state)
{
	struct wf_stack_group *g = &all->groups[all->nr];

	g->frames = malloc((s->nr + 1) * sizeof(*g->frames));
	if (g->frames == NULL)
		return NULL;
	memcpy(g->frames, s->frames, s->nr * sizeof(*g->frames));
	g->nr_frames = s->nr;
	g->state = state;
	g->end = s->end;
	all->nr++;
	return g;
}

static struct wf_stack_group *group_of(struct groups *all,
				       const struct wf_see_stack *s,
				       enum wf_see_state state)
{
	uint32_t mask = all->size - 1, i = (uint32_t)hash(s, state) & mask;
	struct wf_stack_group *g;

	for (; all->table[i] != 0; i = (i + 1) & mask) {
		g = &all->groups[all->table[i] - 1];
		if (is_equal(g, s, state))
			return g;
	}
	g = add_group(all, s, state);
	if (g != NULL)
		all->table[i] = all->nr;
	return g;
}

static int add(struct groups *all, const struct wf_see_stack *s,
	       const struct wf_see_thread *t)
{
	struct wf_stack_group *g = group_of(all, s, t->state);
	void *more;

	if (g == NULL)
		return -ENOMEM;
	more = wf_see_grow((void *)g->threads, g->nr, sizeof(*g->threads));
	if (more == NULL)
		return -ENOMEM;
	g->threads = more;
	g->threads[g->nr++] = t;
	return 0;
}

static int begin(struct groups *all, uint32_t nr_threads)
{
	*all = (struct groups){ .size = 16 };
	while (all->size < 2 * nr_threads)
		all->size *= 2;
	all->groups = calloc(nr_threads + 1, sizeof(*all->groups));
	all->table = calloc(all->size, sizeof(*all->table));
	return all->groups != NULL && all->table != NULL ? 0 : -ENOMEM;
}

static void end(struct groups *all)
{
	for (uint32_t i = 0; i < all->nr; i++) {
		free(all->groups[i].frames);
		free((void *)all->groups[i].threads);
	}
	free(all->groups);
	free(all->table);
}

/* The most threads first. */
static int compare(const void *a, const void *b)
{
	const struct wf_stack_group *x = a, *y = b;

	if (x->nr != y->nr)
		return x->nr > y->nr ? -1 : 1;
	return x->threads[0]->index < y->threads[0]->index ? -1 : 1;
}

/* --- the command --------------------------------------------------------- */

static int read_stacks(const struct wf_see *see, const struct options *o,
		       const struct wf_see_table *table,
		       struct wf_see_objects *objects, struct groups *all)
{
	struct wf_own_code own = wf_own_code_of(see);
	struct wf_see_unwinder *unwinder = wf_see_unwinder_new(objects);
	static struct wf_see_stack stack;
	int err = unwinder != NULL ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < table->nr && err == 0; i++) {
		const struct wf_see_thread *t = &table->threads[i];

		if (o->tid != 0 && t->tid != o->tid && t->carrier_tid != o->tid)
			continue;
		err = wf_see_stack_read(see, unwinder, t, !o->no_stop, &stack);
		if (err == 0 && !o->runtime)
			wf_stack_cut_own(&own, objects, &stack);
		err = err == 0 ? add(all, &stack, t) : err < 0 ? err : 0;
	}
	wf_see_unwinder_free(unwinder);
	qsort(all->groups, all->nr, sizeof(*all->groups), compare);
	return err;
}

static int report(const struct wf_see *see, const void *options,
		  const struct wf_see_table *table)
{
	const struct options *o = options;
	struct wf_see_objects objects = { .see = see };
	struct groups all;
	int err = begin(&all, table->nr);

	if (err == 0)
		err = read_stacks(see, o, table, &objects, &all);
	if (err == 0 && o->json)
		wf_stacks_json(see, &objects, all.groups, all.nr);
	else if (err == 0 && o->folded)
		wf_stacks_folded(see, &objects, all.groups, all.nr);
	else if (err == 0)
		wf_stacks_print(see, &objects, all.groups, all.nr);
	end(&all);
	wf_see_objects_free(&objects);
	return err;
}

int wf_stacks_main(char **argv)
{
	static const struct wf_see_command stacks = {
		.name = "stacks",
		.help = wf_stacks_help,
		.parse_option = parse_option,
		.report = report,
	};
	struct options o = { 0 };

	return wf_see_command(&stacks, argv, &o);
}

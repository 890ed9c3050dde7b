/* SPDX-License-Identifier: MIT */
/* weft threads: the threads of a process or a core file. */
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli.h"
#include "see/json.h"
#include "see/see.h"
#include "see/text.h"
#include "see/utf8.h"
#include "see_command.h"
#include "waits.h"

struct options {
	const char *sort, *state, *name, *waits_for;
	int tid;
	bool json, waits;
};

static const char *const sorts[] = { "tid", "name", "state", "since", NULL };

void wf_threads_help(FILE *to)
{
	fputs("usage: weft threads [OPTIONS] PID|CORE\n\n"
	      "Lists the threads of a process on weft, or of its core file: "
	      "what each one\nwaits for, and for how long. The process is not "
	      "stopped.\n\n"
	      "  --waits           the deadlocks, then the objects that most "
	      "threads wait for,\n"
	      "                    with the stacks of their owners. Selects "
	      "and sorts only\n"
	      "                    with --json\n"
	      "  --state=STATE     only threads in this state: running, "
	      "runnable, parked,\n"
	      "                    system-call, new, exiting, exited, "
	      "changing\n"
	      "  --name=PATTERN    only threads with such a name: 'worker*'\n"
	      "  --waits-for=WHAT  only threads that wait for an object of "
	      "this kind (mutex,\n"
	      "                    condition, semaphore, join, io, sleep), "
	      "for the one at\n"
	      "                    this address, or for the thread with "
	      "this tid\n"
	      "  --tid=TID         only the thread with this id, or the one "
	      "on the kernel\n"
	      "                    thread with this id\n"
	      "  --sort=BY         tid, name, state or since (longest first)\n"
	      "  --json            all that is known, for programs\n\n"
	      "Exit status: 0, or 125 if the threads cannot be read.\n",
	      to);
}

static bool is_among(const char *word, const char *const *words)
{
	while (*words != NULL && strcmp(*words, word) != 0)
		words++;
	return *words != NULL;
}

static bool is_state(const char *word)
{
	for (int s = 0; s < WF_SEE_NR_STATES; s++)
		if (strcmp(wf_see_state_name((enum wf_see_state)s), word) == 0)
			return true;
	return false;
}

/* The value of --NAME=VALUE, or NULL if arg is another option. */
static const char *value_of(const char *arg, const char *name)
{
	size_t n = strlen(name);

	return strncmp(arg, name, n) == 0 && arg[n] == '=' ? arg + n + 1 : NULL;
}

static bool parse_option(const char *arg, void *options)
{
	struct options *o = options;
	const char *value;

	if (strcmp(arg, "--json") == 0)
		return o->json = true;
	if (strcmp(arg, "--waits") == 0)
		return o->waits = true;
	if ((value = value_of(arg, "--sort")) != NULL)
		return is_among(o->sort = value, sorts);
	if ((value = value_of(arg, "--state")) != NULL)
		return is_state(o->state = value);
	if ((value = value_of(arg, "--name")) != NULL)
		return (o->name = value) != NULL;
	if ((value = value_of(arg, "--waits-for")) != NULL)
		return *(o->waits_for = value) != '\0';
	if ((value = value_of(arg, "--tid")) != NULL)
		return (o->tid = atoi(value)) > 0;
	return false;
}

/* The text of --waits has all threads, in an order of its own. */
static int check(const void *options)
{
	const struct options *o = options;
	const char *other = o->state != NULL	 ? "--state" :
			    o->name != NULL	 ? "--name" :
			    o->waits_for != NULL ? "--waits-for" :
			    o->tid != 0		 ? "--tid" :
			    o->sort != NULL	 ? "--sort" :
						   NULL;

	if (!o->waits || o->json || other == NULL)
		return 0;
	return wf_complain(WF_EXIT_WEFT,
			   "threads: --waits shows all threads; leave out %s, "
			   "or add --json",
			   other);
}

static bool waits_for(const struct wf_see_thread *t, const char *what)
{
	char *end;
	unsigned long long number = strtoull(what, &end, 0);

	if (t->wait_kind == NULL)
		return false;
	if (*end == '\0')
		return number != 0 &&
		       (number == t->object ||
			number == (unsigned long long)t->owner_tid);
	/* "rwlock" is both of its kinds. */
	return strncmp(t->was_moved ? "mutex" : t->wait_kind, what,
		       strlen(what)) == 0;
}

static bool is_wanted(const struct options *o, const struct wf_see_thread *t)
{
	return (o->tid == 0 || t->tid == o->tid || t->carrier_tid == o->tid) &&
	       (o->state == NULL ||
		strcmp(wf_see_state_name(t->state), o->state) == 0) &&
	       (o->name == NULL || fnmatch(o->name, t->name, 0) == 0) &&
	       (o->waits_for == NULL || waits_for(t, o->waits_for));
}

static const char *sort_by;

static int by_since(const struct wf_see_thread *x,
		    const struct wf_see_thread *y)
{
	int64_t a = x->wait_kind != NULL ? x->since_ns : INT64_MAX;
	int64_t b = y->wait_kind != NULL ? y->since_ns : INT64_MAX;

	return a < b ? -1 : a > b;
}

static int compare(const void *a, const void *b)
{
	const struct wf_see_thread *x = *(const struct wf_see_thread *const *)a;
	const struct wf_see_thread *y = *(const struct wf_see_thread *const *)b;
	int order = 0;

	if (strcmp(sort_by, "name") == 0)
		order = strcmp(x->name, y->name);
	else if (strcmp(sort_by, "state") == 0)
		order = (int)x->state - (int)y->state;
	else if (strcmp(sort_by, "since") == 0)
		order = by_since(x, y);
	if (order == 0)
		order = x->tid < y->tid ? -1 : x->tid > y->tid;
	return order;
}

/* Columns of the terminal, or a number that cuts nothing. */
static size_t line_width(void)
{
	struct winsize size;

	if (isatty(STDOUT_FILENO) &&
	    ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40)
		return size.ws_col;
	return 1 << 20;
}

/* The width for printf, which counts bytes, of a column of characters. */
static int bytes_of(size_t columns, const char *text)
{
	return (int)(columns + strlen(text) - wf_see_utf8_count(text));
}

static void puts_cut(const char *line, size_t width)
{
	printf("%.*s\n", (int)wf_see_utf8_first(line, width), line);
}

static void print_table(const struct wf_see *see,
			const struct wf_see_table *table,
			const struct wf_see_thread *const *order, uint32_t nr)
{
	char line[4 * WF_SEE_TEXT], start[WF_SEE_TEXT], text[WF_SEE_TEXT];
	size_t width = line_width();

	snprintf(line, sizeof(line), "%10s  %-15s  %-11s  %9s  %-24s  %s",
		 "TID", "NAME", "STATE", "SINCE", "START",
		 "WAITS FOR OR RUNS ON");
	puts_cut(line, width);
	for (uint32_t i = 0; i < nr; i++) {
		const struct wf_see_thread *t = order[i];
		char since[32] = "-";

		if (t->wait_kind != NULL && t->since_ns != 0 &&
		    table->now_ns != 0)
			wf_see_duration(table->now_ns - t->since_ns, since,
					sizeof(since));
		wf_see_place(see, t->start, start, sizeof(start));
		wf_see_describe(see, table, t, text, sizeof(text));
		snprintf(line, sizeof(line), "%10d  %-*s  %-11s  %9s  %-*s  %s",
			 t->tid, bytes_of(15, t->name), t->name,
			 wf_see_state_name(t->state), since,
			 bytes_of(24, start), start, text);
		puts_cut(line, width);
	}
}

/* --- the command --------------------------------------------------------- */

static int list(const struct wf_see *see, const struct options *o,
		const struct wf_see_table *table)
{
	const struct wf_see_thread **order =
		malloc(((size_t)table->nr + 1) * sizeof(*order));
	uint32_t nr = 0;
	int err = 0;

	if (order == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < table->nr; i++)
		if (is_wanted(o, &table->threads[i]))
			order[nr++] = &table->threads[i];
	sort_by = o->sort;
	if (sort_by != NULL)
		qsort(order, nr, sizeof(*order), compare);
	if (o->json && o->waits)
		err = wf_waits_json(see, table, order, nr);
	else if (o->json)
		wf_see_json(see, table, order, nr, NULL);
	else
		print_table(see, table, order, nr);
	free(order);
	return err;
}

static int report(const struct wf_see *see, const void *options,
		  const struct wf_see_table *table)
{
	const struct options *o = options;

	return o->waits && !o->json ? wf_waits_print(see, table) :
				      list(see, o, table);
}

int wf_threads_main(char **argv)
{
	static const struct wf_see_command threads = {
		.name = "threads",
		.help = wf_threads_help,
		.parse_option = parse_option,
		.check = check,
		.report = report,
	};
	struct options o = { 0 };

	return wf_see_command(&threads, argv, &o);
}

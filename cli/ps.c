/* SPDX-License-Identifier: MIT */
/*
 * weft ps: a row for each process on weft: its id, its program, and how many of
 * its threads are in each state.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "see/json.h"
#include "see/see.h"

void wf_ps_help(FILE *to)
{
	fputs("usage: weft ps [--json]\n\n"
	      "Lists the processes on weft that the caller may read, with the "
	      "number of their\nthreads in each state.\n\n"
	      "  --json  for programs\n",
	      to);
}

static const struct {
	const char *title;
	enum wf_see_state state;
} columns[] = {
	{ "RUNNING", WF_SEE_RUNNING }, { "RUNNABLE", WF_SEE_RUNNABLE },
	{ "PARKED", WF_SEE_PARKED },   { "CALLS", WF_SEE_SYSTEM_CALL },
	{ "NEW", WF_SEE_NOT_STARTED },
};
enum { NR_COLUMNS = sizeof(columns) / sizeof(columns[0]) };

static const char *program_of(int pid, char *path, size_t room)
{
	char link[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%d/exe", pid);
	n = readlink(link, path, room - 1);
	path[n > 0 ? n : 0] = '\0';
	return n > 0 ? path : "?";
}

static void count_states(const struct wf_see_table *table,
			 uint32_t nr[WF_SEE_NR_STATES])
{
	memset(nr, 0, WF_SEE_NR_STATES * sizeof(nr[0]));
	for (uint32_t i = 0; i < table->nr; i++)
		nr[table->threads[i].state]++;
}

static void print_row(const struct wf_see *see,
		      const struct wf_see_table *table, const char *program)
{
	uint32_t nr[WF_SEE_NR_STATES];
	const char *name = strrchr(program, '/');

	count_states(table, nr);
	printf("%8d  %-16s  %-8s  %4u  %8u", wf_see_pid(see),
	       name != NULL ? name + 1 : program, wf_see_version(see),
	       table->nr_vps, table->nr);
	for (int i = 0; i < NR_COLUMNS; i++)
		printf("  %8u", nr[columns[i].state]);
	putchar('\n');
}

static void print_json(const struct wf_see *see,
		       const struct wf_see_table *table, const char *program,
		       bool is_first)
{
	uint32_t nr[WF_SEE_NR_STATES];

	count_states(table, nr);
	printf("%s{\"processId\": %d, \"program\": ", is_first ? "" : ",\n",
	       wf_see_pid(see));
	wf_see_json_string(program);
	printf(", \"runtimeVersion\": \"weft %s\", \"virtualProcessors\": %u, "
	       "\"threads\": %u, \"states\": {",
	       wf_see_version(see), table->nr_vps, table->nr);
	for (int s = 0; s < WF_SEE_NR_STATES; s++)
		printf("%s\"%s\": %u", s > 0 ? ", " : "",
		       wf_see_state_name((enum wf_see_state)s), nr[s]);
	printf("}}");
}

/*
 * Prints the process with this number if it runs on weft. Returns true if so.
 */
static bool print_process(const char *number, bool json, bool is_first)
{
	static char path[PATH_MAX];
	struct wf_see_table table;
	struct wf_see *see;
	const char *program;

	if (wf_see_open(number, &see) < 0)
		return false;
	if (wf_see_threads(see, &table) < 0) {
		wf_see_close(see);
		return false;
	}
	program = program_of(wf_see_pid(see), path, sizeof(path));
	if (json)
		print_json(see, &table, program, is_first);
	else
		print_row(see, &table, program);
	wf_see_table_free(&table);
	wf_see_close(see);
	return true;
}

static int print_all(bool json)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	bool is_first = true;

	if (proc == NULL)
		return wf_complain(WF_EXIT_WEFT, "/proc: %s",
				   wf_error_text(errno));
	if (json)
		printf("{\"processes\": [");
	else
		printf("%8s  %-16s  %-8s  %4s  %8s  %8s  %8s  %8s  %8s  %8s\n",
		       "PID", "PROGRAM", "VERSION", "VPS", "THREADS",
		       columns[0].title, columns[1].title, columns[2].title,
		       columns[3].title, columns[4].title);
	while ((entry = readdir(proc)) != NULL) {
		if (atoi(entry->d_name) > 0 &&
		    print_process(entry->d_name, json, is_first))
			is_first = false;
	}
	if (json)
		puts("]}");
	closedir(proc);
	return 0;
}

int wf_ps_main(char **argv)
{
	bool json = argv[1] != NULL && strcmp(argv[1], "--json") == 0;

	if (argv[1] != NULL && wf_asks_for_help(argv[1])) {
		wf_ps_help(stdout);
		return 0;
	}
	if (argv[1] != NULL && (!json || argv[2] != NULL))
		return wf_complain(WF_EXIT_WEFT, "usage: weft ps [--json]");
	return print_all(json);
}

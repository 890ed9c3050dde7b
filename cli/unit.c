/* SPDX-License-Identifier: MIT */
/*
 * weft unit: prints the drop-in that runs a systemd service on weft. With
 * --check it reports the settings of the unit that keep weft from working.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "path.h"
#include "place.h"
#include "preload.h"
#include "target.h"
#include "unit_check.h"
#include "unit_file.h"

/*
 * Exit statuses of --check: no problem, or a setting keeps weft from working.
 */
enum { CLEAR = 0, IN_THE_WAY = 1 };

static char command[PATH_MAX];

/* The characters that may stand before the program's path in ExecStart=. */
#define PREFIXES "-@:+!|"

static size_t word_length(const char *text)
{
	return strcspn(text, " \t");
}

/* The next word. */
static const char *next_word(const char *text)
{
	text += word_length(text);
	return text + strspn(text, " \t");
}

static bool is_weft(const char *program)
{
	size_t len = word_length(program);
	const char *end = program + len, *name = end;

	while (name > program && name[-1] != '/')
		name--;
	return end - name == 4 && strncmp(name, "weft", 4) == 0;
}

/* Drops the prefix "@" with the argument after the program: since the program
 * is now weft, systemd would pass that argument as weft's name. */
static void print_start(const char *value)
{
	size_t nr = strspn(value, PREFIXES);
	const char *program = value + nr;
	bool has_name = memchr(value, '@', nr) != NULL;

	printf("ExecStart=");
	for (size_t i = 0; i < nr; i++)
		if (value[i] != '@')
			putchar(value[i]);
	printf("%s run ", command);
	if (!has_name) {
		puts(program);
		return;
	}
	printf("%.*s", (int)word_length(program), program);
	program = next_word(next_word(program));
	printf("%s%s\n", *program != '\0' ? " " : "", program);
}

static int print_drop_in(const struct wf_unit *unit)
{
	printf("# /etc/systemd/system/%s.d/" WF_UNIT_DROP_IN "\n"
	       "[Service]\n"
	       "ExecStart=\n",
	       unit->name);
	for (size_t i = 0; i < unit->nr; i++)
		if (strcmp(unit->settings[i].key, "ExecStart") == 0)
			print_start(unit->settings[i].value);
	return 0;
}

/*
 * True if weft can run the program, or if the program is not installed here, as
 * when a unit of another machine is checked. wf_target_inspect prints the
 * reason for a refusal.
 */
static bool can_run(const char *value)
{
	static struct wf_target target;
	static char program[PATH_MAX], path[PATH_MAX];
	const char *from = value + strspn(value, PREFIXES);

	if (is_weft(from))
		return true;
	snprintf(program, sizeof(program), "%.*s", (int)word_length(from),
		 from);
	printf("%-15s%s\n", "program", program);
	if (wf_path_search(program, path) != 0) {
		printf("%-15s%s\n", "not looked at", program);
		return true;
	}
	fflush(stdout);
	return wf_target_inspect(path, &target) == 0;
}

static int check(const struct wf_unit *unit)
{
	static char library[PATH_MAX];
	int status = wf_preload_find_library(library);
	bool is_clear = true;

	if (status != 0)
		return status;
	printf("%-15s%s\n", "unit", unit->path);
	for (size_t i = 0; i < unit->nr; i++)
		if (strcmp(unit->settings[i].key, "ExecStart") == 0)
			is_clear &= can_run(unit->settings[i].value);
	is_clear &= wf_unit_check(unit, command, library);
	printf("%-15s%s\n", "verdict",
	       is_clear ? "nothing is in the way" :
			  "something is in the way: see above");
	return is_clear ? CLEAR : IN_THE_WAY;
}

void wf_unit_help(FILE *to)
{
	fputs("usage: weft unit [--check] [--root FOLDER] SERVICE\n\n"
	      "Prints a drop-in for systemd that runs SERVICE on weft. SERVICE "
	      "is the name of a\nunit, or the path of its file.\n\n"
	      "  --check        says what in the settings of the unit is in "
	      "weft's way, and which\n"
	      "                 lines to add to the drop-in\n"
	      "  --root FOLDER  looks for the unit below FOLDER\n\n"
	      "Exit status: 0, 1 if --check found something in the way, or "
	      "125.\n",
	      to);
}

static int complain_of_usage(void)
{
	return wf_complain(WF_EXIT_WEFT,
			   "usage: weft unit [--check] [--root FOLDER] "
			   "SERVICE");
}

static int run(const char *root, const char *service, bool checks)
{
	static struct wf_unit unit;
	const char *start;
	int status;

	if (!wf_place_own(command))
		return wf_complain(WF_EXIT_WEFT, "cannot tell where the "
						 "command itself is; mount "
						 "/proc");
	status = wf_unit_read(root, service,
			      checks ? WF_UNIT_ALL : WF_UNIT_WITHOUT_OWN,
			      &unit);
	if (status != 0)
		return status;
	start = wf_unit_get(&unit, "ExecStart");
	if (start == NULL)
		return wf_complain(WF_EXIT_WEFT,
				   "%s: has no ExecStart= in [Service]",
				   unit.path);
	if (checks)
		return check(&unit);
	if (is_weft(start + strspn(start, PREFIXES)))
		return wf_complain(WF_EXIT_WEFT, "%s: runs on weft already",
				   unit.path);
	return print_drop_in(&unit);
}

int wf_unit_main(char **argv)
{
	const char *root = "";
	bool checks = false;

	for (argv++; *argv != NULL && **argv == '-'; argv++) {
		if (wf_asks_for_help(*argv)) {
			wf_unit_help(stdout);
			return 0;
		}
		if (strcmp(*argv, "--check") == 0)
			checks = true;
		else if (strcmp(*argv, "--root") == 0 && argv[1] != NULL)
			root = *++argv;
		else
			return complain_of_usage();
	}
	if (argv[0] == NULL || argv[1] != NULL)
		return complain_of_usage();
	return run(root, argv[0], checks);
}

/* SPDX-License-Identifier: MIT */
/*
 * Turns the arguments of `weft run` into those of execve. This file is compiled
 * twice. bare.c runs it without libc. If a step fails there, or the user asks
 * for help, main() runs it again.
 */
#include "prepare.h"

#include <string.h>

#include "base/options.h"
#include "cli.h"
#include "environment.h"
#include "path.h"
#include "place.h"
#include "preload.h"
#include "target.h"

bool wf_asks_for_help(const char *arg)
{
	return strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0;
}

/* The row of the option with this name of len bytes, or wf_nr_options. */
static size_t find_option(const char *name, size_t len)
{
	size_t row = 0;

	while (row < wf_nr_options &&
	       (strlen(wf_option_rows[row].option) != len ||
		memcmp(wf_option_rows[row].option, name, len) != 0))
		row++;
	return row;
}

/* Checks the option's value and sets its variable. */
static int set_option(size_t row, const char *value)
{
	const struct wf_option_row *r = &wf_option_rows[row];
	const char *new_value = wf_option_new_value(r, value);

	if (wf_option_set(&wf_options, row, value) < 0)
		return wf_complain(WF_EXIT_WEFT, "--%s: '%s' is not %s",
				   r->option, value, r->accepts);
	if (new_value != NULL)
		wf_complain(0, "--%s %s is now --%s %s", r->option, value,
			    r->option, new_value);
	if (!wf_environment_set(r->variable,
				new_value != NULL ? new_value : value))
		return wf_complain(WF_EXIT_WEFT, "out of memory");
	return 0;
}

static int complain_of_option(const char *name, size_t len)
{
	const struct wf_option_row *nearest =
		wf_option_nearest(name, len, false);

	if (nearest == NULL)
		return wf_complain(WF_EXIT_WEFT,
				   "unknown option '--%.*s'; see 'weft run "
				   "--help'",
				   (int)len, name);
	return wf_complain(WF_EXIT_WEFT,
			   "unknown option '--%.*s'; did you mean --%s? See "
			   "'weft run --help'",
			   (int)len, name, nearest->option);
}

static bool may_omit_value(size_t row)
{
	return wf_option_rows[row].kind == WF_OPTION_FLAG ||
	       wf_option_rows[row].kind == WF_OPTION_SWITCH;
}

/* Takes one option, --name, --name VALUE or --name=VALUE, off *argv. */
static int take_option(char ***argv)
{
	const char *name = **argv + 2;
	size_t len = strcspn(name, "=");
	bool has_value = name[len] == '=';
	size_t row = find_option(name, len);
	const char *value;

	++*argv;
	if (row == wf_nr_options)
		return complain_of_option(name, len);
	if (has_value)
		return set_option(row, name + len + 1);
	if (may_omit_value(row))
		return set_option(row, "1");
	value = **argv;
	if (value == NULL)
		return wf_complain(WF_EXIT_WEFT, "--%s needs a value: %s", name,
				   wf_option_rows[row].accepts);
	++*argv;
	return set_option(row, value);
}

/* Takes the options off *argv. */
static int take_options(char ***argv)
{
	while (**argv != NULL && ***argv == '-') {
		const char *arg = **argv;
		int status;

		if (strcmp(arg, "--") == 0) {
			++*argv;
			return 0;
		}
		if (wf_asks_for_help(arg))
			return WF_PREPARE_HELP;
		if (arg[1] != '-')
			return wf_complain(WF_EXIT_WEFT,
					   "unknown option '%s'; see 'weft run "
					   "--help'",
					   arg);
		status = take_option(argv);
		if (status != 0)
			return status;
	}
	return 0;
}

/*
 * Sets the new names of renamed values, so that the program's processes do not
 * print the line again.
 */
static int rename_values(void)
{
	struct wf_option_fault old;
	const char *new_value;
	size_t row = 0;

	while ((new_value = wf_options_next_renamed(&row, wf_environment_all(),
						    &old)) != NULL) {
		const char *variable = old.row->variable;

		wf_complain(0, "%s=%s is now %s=%s", variable, old.value,
			    variable, new_value);
		if (!wf_environment_set(variable, new_value))
			return wf_complain(WF_EXIT_WEFT, "out of memory");
	}
	return 0;
}

/* Checks the variables that no option has replaced. */
static int check_variables(void)
{
	char text[WF_OPTION_TEXT_MAX];
	struct wf_option_fault fault;

	if (wf_options_load_env(&wf_options, wf_environment_all(), &fault) == 0)
		return rename_values();
	wf_option_fault_text(&fault, text);
	return wf_complain(WF_EXIT_WEFT, "%s", text);
}

/*
 * The library starts the command at a signal (--dump-on). Without /proc it does
 * without.
 */
static int tell_command(void)
{
	static char own[PATH_MAX];

	if (wf_options.dump_on == WF_DUMP_ON_NONE || !wf_place_own(own) ||
	    wf_environment_set(WF_OPTION_COMMAND, own))
		return 0;
	return wf_complain(WF_EXIT_WEFT, "out of memory");
}

/* Inspects the program and sets LD_PRELOAD for it. */
static int prepare_program(const char *path)
{
	static struct wf_target target;
	static char library[PATH_MAX];
	int status = wf_target_inspect(path, &target);

	if (status == 0)
		status = wf_preload_find_library(library);
	if (status == 0)
		status = wf_preload_set(library, target.sanitizer,
					wf_options.mpi);
	return status;
}

int wf_prepare(char **argv, struct wf_prepared *ret_prepared)
{
	int status;

	argv++;
	status = take_options(&argv);
	if (status == 0)
		status = check_variables();
	if (status != 0)
		return status;
	status = tell_command();
	if (status != 0)
		return status;
	if (*argv == NULL)
		return wf_complain(WF_EXIT_WEFT,
				   "no program to run; see 'weft run --help'");
	status = wf_path_find(*argv, ret_prepared->path);
	if (status == 0)
		status = prepare_program(ret_prepared->path);
	ret_prepared->argv = argv;
	return status;
}

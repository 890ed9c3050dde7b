/*
 * weft run: checks, sets up the environment and becomes the program, so that
 * pid, exit status, signals and descriptors are the program's own.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/options.h"
#include "cli.h"
#include "path.h"
#include "preload.h"
#include "target.h"

/* Where a line of the help has to end. */
#define HELP_COLUMNS 78
#define HELP_INDENT 24

/* Prints the text from column HELP_INDENT on, broken between words. */
static void print_folded(FILE *to, const char *text)
{
	size_t column = HELP_INDENT;

	while (*text != '\0') {
		size_t len = strcspn(text, " ");

		if (column > HELP_INDENT && column + 1 + len > HELP_COLUMNS) {
			fprintf(to, "\n%*s", HELP_INDENT, "");
			column = HELP_INDENT;
		}
		column += (size_t)fprintf(to, "%s%.*s",
					  column > HELP_INDENT ? " " : "",
					  (int)len, text);
		text += len;
		text += strspn(text, " ");
	}
	fputc('\n', to);
}

void wf_run_help(FILE *to)
{
	fputs("usage: weft run [OPTIONS] [--] PROGRAM [ARGS...]\n\n"
	      "Runs PROGRAM with its threads on weft. Each option can be given "
	      "as a variable,\ntoo; the option wins.\n\n",
	      to);
	for (size_t i = 0; i < wf_nr_options; i++) {
		const struct wf_option_row *r = &wf_option_rows[i];
		const char *space = *r->value != '\0' ? " " : "";
		char left[64], variable[256];

		snprintf(left, sizeof(left), "--%s%s%s", r->option, space,
			 r->value);
		fprintf(to, "  %-*s", HELP_INDENT - 2, left);
		if (strlen(left) > HELP_INDENT - 4)
			fprintf(to, "\n%*s", HELP_INDENT, "");
		print_folded(to, r->help);
		snprintf(variable, sizeof(variable), "%s: %s", r->variable,
			 r->accepts);
		fprintf(to, "%*s", HELP_INDENT, "");
		print_folded(to, variable);
	}
	fputs("\nExit status: PROGRAM's own, or 125 if weft cannot run it, 126 "
	      "if it is not\nexecutable, 127 if it is not found.\n",
	      to);
}

/* The row of an option named by the first len bytes, or wf_nr_options. */
static size_t find_option(const char *name, size_t len)
{
	size_t row = 0;

	while (row < wf_nr_options &&
	       (strlen(wf_option_rows[row].option) != len ||
		memcmp(wf_option_rows[row].option, name, len) != 0))
		row++;
	return row;
}

/* Checks the value and sets the variable. */
static int set_option(size_t row, const char *value)
{
	const struct wf_option_row *r = &wf_option_rows[row];

	if (wf_option_set(&wf_options, row, value) < 0)
		return wf_complain(WF_EXIT_WEFT, "--%s: '%s' is not %s",
				   r->option, value, r->accepts);
	if (setenv(r->variable, value, 1) < 0)
		return wf_complain(WF_EXIT_WEFT, "out of memory");
	return 0;
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
		return wf_complain(WF_EXIT_WEFT,
				   "unknown option '--%.*s'; see 'weft run "
				   "--help'",
				   (int)len, name);
	if (wf_option_rows[row].kind == WF_OPTION_FLAG) {
		if (has_value)
			return wf_complain(WF_EXIT_WEFT,
					   "--%.*s takes no value", (int)len,
					   name);
		return set_option(row, "1");
	}
	if (has_value)
		return set_option(row, name + len + 1);
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
		if (wf_asks_for_help(arg)) {
			wf_run_help(stdout);
			exit(wf_printed(0));
		}
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

/* The variables that no option has replaced have to be right, too. */
static int check_variables(void)
{
	const char *name;

	if (wf_options_load_env(&wf_options, environ, &name) == 0)
		return 0;
	for (size_t row = 0; row < wf_nr_options; row++) {
		const struct wf_option_row *r = &wf_option_rows[row];

		if (strcmp(r->variable, name) == 0)
			return wf_complain(WF_EXIT_WEFT, "%s: '%s' is not %s",
					   name, getenv(name), r->accepts);
	}
	return WF_EXIT_WEFT;
}

static int execute(const char *path, char **argv)
{
	execve(path, argv, environ);
	if (errno == ENOEXEC)
		return wf_complain(WF_EXIT_CANNOT_RUN,
				   "%s: neither an ELF program nor a script "
				   "that starts with #!",
				   path);
	return wf_complain(errno == ENOENT ? WF_EXIT_NOT_FOUND :
					     WF_EXIT_CANNOT_RUN,
			   "%s: %s", path, strerror(errno));
}

int wf_run_main(char **argv)
{
	struct wf_target target;
	char library[PATH_MAX];
	char path[PATH_MAX];
	int status;

	argv++;
	status = take_options(&argv);
	if (status == 0)
		status = check_variables();
	if (status != 0)
		return status;
	if (*argv == NULL)
		return wf_complain(WF_EXIT_WEFT,
				   "no program to run; see 'weft run --help'");
	status = wf_path_find(*argv, path);
	if (status == 0)
		status = wf_target_inspect(path, &target);
	if (status == 0)
		status = wf_preload_find_library(library);
	if (status == 0)
		status = wf_preload_set(library, target.sanitizer);
	return status != 0 ? status : execute(path, argv);
}

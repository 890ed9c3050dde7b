/* SPDX-License-Identifier: MIT */
/*
 * weft run: checks the program, sets up its environment and becomes the program
 * by execve. So the program has the command's pid, exit status, signals and
 * descriptors.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/options.h"
#include "cli.h"
#include "environment.h"
#include "prepare.h"

/* The last column of the help. */
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
		bool is_switch = r->kind == WF_OPTION_SWITCH;
		const char *space = *r->value != '\0' ? " " : "";
		char left[64], variable[256];

		snprintf(left, sizeof(left), "--%s%s%s%s", r->option,
			 is_switch ? "[=" : space, r->value,
			 is_switch ? "]" : "");
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

static int execute(const struct wf_prepared *p)
{
	execve(p->path, p->argv, wf_environment_all());
	if (errno == ENOEXEC)
		return wf_complain(WF_EXIT_CANNOT_RUN,
				   "%s: neither an ELF program nor a script "
				   "that starts with #!",
				   p->path);
	return wf_complain(errno == ENOENT ? WF_EXIT_NOT_FOUND :
					     WF_EXIT_CANNOT_RUN,
			   "%s: %s", p->path, wf_error_text(errno));
}

int wf_run_main(char **argv)
{
	static struct wf_prepared prepared;
	int status = wf_prepare(argv, &prepared);

	if (status == 0)
		return execute(&prepared);
	if (status == WF_PREPARE_HELP) {
		wf_run_help(stdout);
		return 0;
	}
	return status;
}

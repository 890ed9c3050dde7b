/* SPDX-License-Identifier: MIT */
/*
 * The weft command. It calls the function of the subcommand. The functions that
 * print messages for all subcommands are here, too.
 */
#include <ctype.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "environment.h"
#include "weft/weft.h"

#define PREFIX "weft: "

int wf_complain(int status, const char *fmt, ...)
{
	static char line[4 * PATH_MAX] = PREFIX;
	size_t room = sizeof(line) - strlen(PREFIX "\n");
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line + strlen(PREFIX), room, fmt, ap);
	va_end(ap);
	/* A file's name may have newlines, and a script's first line a CR. */
	for (char *c = line; *c != '\0'; c++)
		if (iscntrl((unsigned char)*c))
			*c = '?';
	strcat(line, "\n");
	/* fprintf would take a large buffer off the stack. */
	fputs(line, stderr);
	return status;
}

int wf_printed(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	return wf_complain(WF_EXIT_WEFT, "cannot write to standard output");
}

static int unknown(const char *command)
{
	return wf_complain(WF_EXIT_WEFT,
			   "unknown command '%s'; see 'weft help'", command);
}

static void help(FILE *to)
{
	fputs("usage: weft COMMAND\n"
	      "\n"
	      "  run [OPTIONS] [--] PROGRAM [ARGS...]\n"
	      "                    run PROGRAM with its threads on weft\n"
	      "  doctor [--libraries] [PROGRAM|PID]\n"
	      "                    what this system offers, whether PROGRAM\n"
	      "                    can run on weft, or how PID runs on it\n"
	      "  unit [--check] SERVICE\n"
	      "                    print a drop-in for systemd that runs\n"
	      "                    SERVICE on weft, or say what is in the way\n"
	      "  ps                list the processes on weft\n"
	      "  threads PID|CORE  list the threads of a process or core file\n"
	      "  stacks PID|CORE   print the stacks of all threads\n"
	      "  core IN [OUT]     add all threads to a core file, for "
	      "debuggers;\n"
	      "                    with a PID for IN, write one\n"
	      "  help [COMMAND]    this text, or more on COMMAND\n"
	      "  version           the version\n"
	      "\n"
	      "'weft run --help' lists the options.\n",
	      to);
}

const char *wf_error_text(int err)
{
	return strerror(err);
}

/* command: the subcommand that the help is about, or NULL. */
static int help_main(const char *command)
{
	if (command == NULL || strcmp(command, "help") == 0)
		help(stdout);
	else if (strcmp(command, "run") == 0)
		wf_run_help(stdout);
	else if (strcmp(command, "doctor") == 0)
		wf_doctor_help(stdout);
	else if (strcmp(command, "unit") == 0)
		wf_unit_help(stdout);
	else if (strcmp(command, "core") == 0)
		wf_core_help(stdout);
	else if (strcmp(command, "ps") == 0)
		wf_ps_help(stdout);
	else if (strcmp(command, "stacks") == 0)
		wf_stacks_help(stdout);
	else if (strcmp(command, "threads") == 0)
		wf_threads_help(stdout);
	else
		return unknown(command);
	return 0;
}

static bool asks_for_version(const char *arg)
{
	return strcmp(arg, "version") == 0 || strcmp(arg, "--version") == 0 ||
	       strcmp(arg, "-V") == 0;
}

static int run_command(int argc, char **argv)
{
	const char *command = argc > 1 ? argv[1] : NULL;

	if (command == NULL) {
		help(stderr);
		return WF_EXIT_WEFT;
	}
	if (strcmp(command, "run") == 0)
		return wf_run_main(argv + 1);
	if (strcmp(command, "doctor") == 0)
		return wf_doctor_main(argv + 1);
	if (strcmp(command, "unit") == 0)
		return wf_unit_main(argv + 1);
	if (strcmp(command, "core") == 0)
		return wf_core_main(argv + 1);
	if (strcmp(command, "ps") == 0)
		return wf_ps_main(argv + 1);
	if (strcmp(command, "stacks") == 0)
		return wf_stacks_main(argv + 1);
	if (strcmp(command, "threads") == 0)
		return wf_threads_main(argv + 1);
	if (strcmp(command, "help") == 0)
		return help_main(argv[2]);
	if (wf_asks_for_help(command))
		return help_main(NULL);
	if (asks_for_version(command)) {
		puts("weft " WEFT_VERSION);
		return 0;
	}
	return unknown(command);
}

int main(int argc, char **argv)
{
	if (!wf_environment_begin(environ))
		return wf_complain(WF_EXIT_WEFT, "out of memory");
	return wf_printed(run_command(argc, argv));
}

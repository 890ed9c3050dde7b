/* weft: the command. */
#include <stdarg.h>
#include <string.h>

#include "cli.h"
#include "weft/weft.h"

int wf_complain(int status, const char *fmt, ...)
{
	va_list ap;

	fputs("weft: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return status;
}

static void help(FILE *to)
{
	fputs("usage: weft COMMAND\n"
	      "\n"
	      "  run [OPTIONS] [--] PROGRAM [ARGS...]\n"
	      "                    run PROGRAM with its threads on weft\n"
	      "  doctor [PROGRAM]  what this system offers, or whether\n"
	      "                    PROGRAM can run on weft\n"
	      "  help              this text\n"
	      "\n"
	      "'weft run --help' lists the options, 'weft --version' prints\n"
	      "the version.\n",
	      to);
}

int main(int argc, char **argv)
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
	if (strcmp(command, "help") == 0 || strcmp(command, "--help") == 0) {
		help(stdout);
		return 0;
	}
	if (strcmp(command, "--version") == 0) {
		puts("weft " WEFT_VERSION);
		return 0;
	}
	return wf_complain(WF_EXIT_WEFT,
			   "unknown command '%s'; see 'weft help'", command);
}

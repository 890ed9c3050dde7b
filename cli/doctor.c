/*
 * weft doctor: what this system offers and what weft will use of it, or
 * whether a program can run.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"
#include "differs.h"
#include "environment.h"
#include "path.h"
#include "preload.h"
#include "system.h"
#include "target.h"

/* With a program: it can run on weft, or it cannot. */
enum { CAN_RUN = 0, CANNOT_RUN = 1 };

static void row(const char *name, const char *text)
{
	printf("%-18s%s\n", name, text);
}

/*
 * Loads the library into a program that does nothing. It looks for what it
 * needs of libc then, and says what it misses. NULL, or what is wrong.
 */
static const char *try_library(void)
{
	char path[PATH_MAX];
	char *argv[] = { "true", NULL };
	int status;
	pid_t pid;

	if (wf_path_find(argv[0], path) != 0)
		return "not looked for: there is no true(1) to load it into";
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		execve(path, argv, wf_environment_all());
		_exit(WF_EXIT_CANNOT_RUN);
	}
	if (pid < 0)
		return "not looked for: no process can be made";
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ?
		       NULL :
		       "not found: see above; weft cannot run";
}

static int report_library(void)
{
	char library[PATH_MAX];
	int status = wf_preload_find_library(library);
	const char *problem;

	if (status == 0)
		status = wf_preload_set(library, "");
	if (status != 0)
		return status;
	row("libweft.so", library);
	problem = try_library();
	if (problem != NULL) {
		row("TCB layout", problem);
		return WF_EXIT_WEFT;
	}
	row("TCB layout", "found: sizes and offsets are libc's own");
	return 0;
}

static int report_system(void)
{
	bool ok = true;

	for (size_t i = 0; i < wf_nr_system_rows; i++) {
		char text[WF_SYSTEM_TEXT] = "";

		if (!wf_system_rows[i].ask(text))
			ok = false;
		if (*text != '\0')
			row(wf_system_rows[i].name, text);
	}
	if (report_library() != 0)
		ok = false;
	row("not needed", "root, capabilities, perf_event, ptrace, a kernel "
			  "module");
	return ok ? 0 : WF_EXIT_WEFT;
}

static void report_difference(const char *text)
{
	row("differs", text);
}

static int report_program(const char *program)
{
	struct wf_target target;
	char path[PATH_MAX];

	if (wf_path_find(program, path) != 0 ||
	    wf_target_inspect(path, &target) != 0)
		return CANNOT_RUN;
	if (target.loader[0] == '\0' && access(target.binary, R_OK) == 0) {
		wf_complain(CANNOT_RUN,
			    "%s: neither an ELF program nor a script that "
			    "starts with #!",
			    path);
		return CANNOT_RUN;
	}
	row("program", path);
	if (strcmp(path, target.binary) != 0)
		row("interpreter", target.binary);
	if (target.loader[0] == '\0') {
		row("verdict", "unknown: it cannot be read");
		return CAN_RUN;
	}
	row("loader", target.loader);
	if (target.sanitizer[0] != '\0')
		row("preloaded first", target.sanitizer);
	wf_differs(target.binary, report_difference);
	row("verdict", "can run on weft");
	return CAN_RUN;
}

void wf_doctor_help(FILE *to)
{
	fputs("usage: weft doctor [PROGRAM]\n\n"
	      "Says whether PROGRAM can run on weft, and what is different "
	      "there for it; without\nPROGRAM, what this system offers and "
	      "what weft will use of it.\n\n"
	      "Exit status: 0, 1 if PROGRAM cannot run on weft, or 125 if no "
	      "program can.\n",
	      to);
}

int wf_doctor_main(char **argv)
{
	if (argv[1] == NULL)
		return report_system();
	if (wf_asks_for_help(argv[1])) {
		wf_doctor_help(stdout);
		return 0;
	}
	if (argv[2] != NULL || argv[1][0] == '-')
		return wf_complain(WF_EXIT_WEFT,
				   "usage: weft doctor [PROGRAM]");
	return report_program(argv[1]);
}

/*
 * weft doctor: what this system offers and what weft will use of it, or
 * whether a program can run.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
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

/* Becomes true(1) with the library, which leaves a line of statistics. */
static void become_true(char *path, int said)
{
	char *argv[] = { "true", NULL };

	dup2(said, STDERR_FILENO);
	if (wf_environment_set("WEFT_STATS", "1"))
		execve(path, argv, wf_environment_all());
	_exit(WF_EXIT_CANNOT_RUN);
}

/* Passes on what the trial said; whether the statistics were there. */
static bool pass_on(int said)
{
	FILE *from = fdopen(said, "r");
	bool was_loaded = false;
	char line[1024];

	if (from != NULL)
		rewind(from);
	while (from != NULL && fgets(line, sizeof(line), from) != NULL) {
		if (strstr(line, "made no threads") != NULL)
			was_loaded = true;
		else
			fputs(line, stderr);
	}
	if (from != NULL)
		fclose(from);
	else
		close(said);
	return was_loaded;
}

/*
 * Loads the library into a program that does nothing. It looks for what it
 * needs of libc then, and says what it misses. NULL, or what is wrong.
 */
static const char *try_library(void)
{
	static char path[PATH_MAX];
	bool was_loaded;
	int status;
	pid_t pid;
	int said;

	if (wf_path_find("true", path) != 0)
		return "not looked for: there is no true(1) to load it into";
	/* Not a pipe: one number may be all that is left. */
	said = memfd_create("weft doctor", MFD_CLOEXEC);
	if (said < 0)
		return "not looked for: no file can be made for what it says";
	fflush(stdout);
	/* Else, if our creator ignores it, nobody learns how the child ends. */
	signal(SIGCHLD, SIG_DFL);
	pid = fork();
	if (pid == 0)
		become_true(path, said);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	was_loaded = pass_on(said);
	if (pid < 0)
		return "not looked for: no process can be made";
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return "not found: see above; weft cannot run";
	if (!was_loaded)
		return "not looked for: true(1) does not load the library";
	return NULL;
}

static int report_library(void)
{
	static char library[PATH_MAX];
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
	static struct wf_target target;
	static char path[PATH_MAX];

	if (wf_path_find(program, path) != 0 ||
	    wf_target_inspect(path, &target) != 0)
		return CANNOT_RUN;
	if (target.loader[0] == '\0' && target.was_read) {
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

/* SPDX-License-Identifier: MIT */
/*
 * weft doctor. Without a program it reports the features of this system and
 * which of them weft will use. With a program it reports whether the program
 * can run on weft. Whether the library works is found by a trial: it is loaded
 * into true(1).
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "advice.h"
#include "base/options.h"
#include "cli.h"
#include "differs.h"
#include "environment.h"
#include "libraries.h"
#include "path.h"
#include "preload.h"
#include "see/see.h"
#include "system.h"
#include "target.h"

/* The exit statuses with a program: it can run on weft, or cannot. */
enum { CAN_RUN = 0, CANNOT_RUN = 1 };

static void row(const char *name, const char *text)
{
	printf("%-18s%s\n", name, text);
}

/* Becomes true(1) with the library, which prints a line of statistics. */
static void become_true(char *path, int said)
{
	char *argv[] = { "true", NULL };

	dup2(said, STDERR_FILENO);
	if (wf_environment_set("WEFT_STATS", "1") &&
	    wf_environment_set("WEFT_STATS_FILE", "/proc/self/fd/2"))
		execve(path, argv, wf_environment_all());
	_exit(WF_EXIT_CANNOT_RUN);
}

/*
 * Prints the trial's other lines. Returns whether the statistics were among
 * them.
 */
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
 * Loads the library into a program that does nothing. The library then checks
 * that libc has all that it needs, and prints the name of a missing part.
 * Returns NULL, or the fault.
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
	/*
	 * A pipe would take two descriptors, and the limit may leave only one.
	 */
	said = memfd_create("weft doctor", MFD_CLOEXEC);
	if (said < 0)
		return "not looked for: no file can be made for what it says";
	fflush(stdout);
	/* If the caller ignores SIGCHLD, the child's status would be lost. */
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
		status = wf_preload_set(library, "", false);
	if (status != 0)
		return status;
	row("libweft.so.0", library);
	problem = try_library();
	if (problem != NULL) {
		row("TCB layout", problem);
		return WF_EXIT_WEFT;
	}
	row("TCB layout", "found: sizes and offsets are libc's own");
	return 0;
}

/*
 * Reports WEFT_ variables that weft does not know: they may be another
 * program's, or be misspelt.
 */
static void report_variables(void)
{
	char *const *envp = wf_environment_all();
	char text[WF_OPTION_TEXT_MAX];
	struct wf_option_fault fault;

	while (wf_option_unknown(&envp, &fault)) {
		wf_option_fault_text(&fault, text);
		row("not used", text);
	}
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
	report_variables();
	row("not needed", "root, capabilities, perf_event, ptrace, a kernel "
			  "module");
	return ok ? 0 : WF_EXIT_WEFT;
}

static void report_difference(const char *text)
{
	row("differs", text);
}

/* The libraries of a program. */
struct libraries {
	bool with_differences; /* note the calls that are different on weft */
	int nr;		       /* that were read */
};

static void read_library(const char *path, void *arg)
{
	struct libraries *l = arg;

	wf_advice_read(path, false);
	if (l->with_differences && wf_differs_read(path))
		l->nr++;
}

static void read_libraries(const struct wf_target *target,
			   bool with_differences)
{
	struct libraries l = { .with_differences = with_differences };
	bool has_all = wf_libraries_visit(target, read_library, &l);
	char text[WF_SYSTEM_TEXT];

	if (!with_differences)
		return;
	snprintf(text, sizeof(text), "%d read%s", l.nr,
		 has_all ? "" : "; the loader has not found all of them");
	row("libraries", text);
}

static bool is_shell(const char *path)
{
	static const char *const shells[] = { "sh",  "bash", "dash",   "ash",
					      "zsh", "ksh",  "mksh",   "fish",
					      "csh", "tcsh", "busybox" };
	const char *name = wf_path_name(path);

	for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++)
		if (strcmp(name, shells[i]) == 0)
			return true;
	return false;
}

static int report_program(const char *program, bool with_libraries)
{
	static struct wf_target target;
	static char path[PATH_MAX];
	bool is_script;

	if (wf_path_find(program, path) != 0 ||
	    wf_target_inspect(path, &target) != 0)
		return CANNOT_RUN;
	if (target.is_weft)
		return wf_complain(CAN_RUN,
				   "%s: weft itself; ask about the program "
				   "that it is to run",
				   path);
	if (target.loader[0] == '\0' && target.was_read)
		return wf_complain(CANNOT_RUN,
				   "%s: neither an ELF program nor a script "
				   "that starts with #!",
				   path);
	row("program", path);
	is_script = strcmp(path, target.binary) != 0;
	if (is_script)
		row("interpreter", target.binary);
	if (target.loader[0] == '\0') {
		row("verdict", "unknown: it cannot be read");
		return CAN_RUN;
	}
	row("loader", target.loader);
	if (target.sanitizer[0] != '\0')
		row("preloaded first", target.sanitizer);
	wf_differs_read(target.binary);
	wf_advice_read(target.binary, true);
	read_libraries(&target, with_libraries);
	wf_differs_report(report_difference);
	/* Wrappers, as those of pyenv, execute another program. */
	if (is_script && is_shell(target.binary))
		row("not looked at", "the programs that this shell script "
				     "starts: ask about each of them");
	row("verdict", "can run on weft");
	row("should", wf_advice());
	return CAN_RUN;
}

void wf_doctor_help(FILE *to)
{
	fputs("usage: weft doctor [--libraries] [PROGRAM|PID]\n\n"
	      "Says whether PROGRAM can run on weft, whether it should, and "
	      "what is different\nthere for it. Of the process PID, which "
	      "runs on weft, it says which I/O backend it\nuses, which "
	      "threads have a kernel thread of their own and why, and what "
	      "the kernel\nhas refused. Without an argument, it says what "
	      "this system offers and what weft\nwill use of it.\n\n"
	      "  --libraries  looks at the functions that PROGRAM's libraries "
	      "call as well: those\n"
	      "               that its loader finds, and those in folders of "
	      "its own (RUNPATH)\n\n"
	      "Exit status: 0, 1 if PROGRAM cannot run on weft, or 125 if no "
	      "program can, or if\nPID cannot be read.\n",
	      to);
}

static int complain_of_usage(void)
{
	return wf_complain(WF_EXIT_WEFT,
			   "usage: weft doctor [--libraries] [PROGRAM|PID]");
}

int wf_doctor_main(char **argv)
{
	bool with_libraries = false;

	if (argv[1] != NULL && wf_asks_for_help(argv[1])) {
		wf_doctor_help(stdout);
		return 0;
	}
	if (argv[1] != NULL && strcmp(argv[1], "--libraries") == 0) {
		with_libraries = true;
		argv++;
	}
	if (argv[1] == NULL)
		return with_libraries ? complain_of_usage() : report_system();
	if (argv[2] != NULL || argv[1][0] == '-')
		return complain_of_usage();
	if (!with_libraries && wf_see_process_number(argv[1]) > 0)
		return wf_doctor_process(argv[1]);
	return report_program(argv[1], with_libraries);
}

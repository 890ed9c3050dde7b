/* SPDX-License-Identifier: MIT */
/*
 * Functions that the parts of the command share: messages, exit statuses, and
 * the entry points of the subcommands.
 *
 *     if (strpbrk(path, ": ") != NULL)
 *             return wf_complain(WF_EXIT_WEFT, "%s: not a path", path);
 *
 * A function that may reject the user's input returns 0, or an exit status
 * after it has printed one line with the reason.
 *
 * The caller of the command may have set a stack limit of 16 KiB (ulimit -s
 * 16), arguments included. So buffers with room for a path are static.
 */
#ifndef WEFT_CLI_CLI_H
#define WEFT_CLI_CLI_H

#include <stdbool.h>
#include <stdio.h>

/* Exit statuses as those of env(1). */
enum wf_exit {
	WF_EXIT_WEFT = 125,	  /* weft cannot do it */
	WF_EXIT_CANNOT_RUN = 126, /* found, and not executable */
	WF_EXIT_NOT_FOUND = 127,
};

/*
 * Prints "weft: ", the text and a newline on stderr. Control characters in the
 * text become '?', so that it is one line. Returns `status`.
 */
int wf_complain(int status, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The text of strerror(3). */
const char *wf_error_text(int err);

/*
 * Writes what is left in stdout's buffer. Returns `status`, or complains if a
 * write has failed.
 */
int wf_printed(int status);

bool wf_asks_for_help(const char *arg);

/* weft doctor PID: cli/doctor_process.c. Returns the exit status. */
int wf_doctor_process(const char *pid);

/* Each in the file of its name, as cli/run.c; argv[0] is the subcommand. */
int wf_core_main(char **argv);
void wf_core_help(FILE *to);
int wf_run_main(char **argv);
void wf_run_help(FILE *to);
int wf_doctor_main(char **argv);
void wf_doctor_help(FILE *to);
int wf_unit_main(char **argv);
void wf_unit_help(FILE *to);
int wf_ps_main(char **argv);
void wf_ps_help(FILE *to);
int wf_stacks_main(char **argv);
void wf_stacks_help(FILE *to);
int wf_threads_main(char **argv);
void wf_threads_help(FILE *to);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * What the parts of the command share.
 *
 * A function that may find the user at fault returns 0 or an exit status and
 * has printed the one line that says why.
 *
 * Who starts the command may allow a stack of 16 KiB (ulimit -s 16), arguments
 * included: so what has room for a path is static.
 */
#ifndef WEFT_CLI_CLI_H
#define WEFT_CLI_CLI_H

#include <stdbool.h>
#include <stdio.h>

/* Exit statuses as of env(1). */
enum wf_exit {
	WF_EXIT_WEFT = 125,	  /* weft cannot do it */
	WF_EXIT_CANNOT_RUN = 126, /* found, and not executable */
	WF_EXIT_NOT_FOUND = 127,
};

/*
 * Prints "weft: ", the text and a newline on stderr, in one line whatever the
 * text is made of; returns `status`.
 */
int wf_complain(int status, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* As strerror(3). */
const char *wf_error_text(int err);

/*
 * What stdout has been given is written: returns `status`, or complains if it
 * cannot be.
 */
int wf_printed(int status);

bool wf_asks_for_help(const char *arg);

/* cli/run.c, cli/doctor.c, cli/unit.c: argv[0] is the subcommand. */
int wf_run_main(char **argv);
void wf_run_help(FILE *to);
int wf_doctor_main(char **argv);
void wf_doctor_help(FILE *to);
int wf_unit_main(char **argv);
void wf_unit_help(FILE *to);

#endif

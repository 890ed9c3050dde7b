/* SPDX-License-Identifier: MIT */
/*
 * Runs a command that reads the threads of a process. Its arguments are options
 * and one process or core file.
 *
 *     struct options o = { 0 };
 *
 *     return wf_see_command(&threads, argv, &o);
 */
#ifndef WEFT_CLI_SEE_COMMAND_H
#define WEFT_CLI_SEE_COMMAND_H

#include <stdbool.h>
#include <stdio.h>

#include "see/see.h"

struct wf_see_command {
	const char *name;
	void (*help)(FILE *to);
	/* Returns false if the option is wrong. */
	bool (*parse_option)(const char *arg, void *options);
	/*
	 * Of all options: returns 0, or the exit status after a complaint.
	 * NULL: all go together.
	 */
	int (*check)(const void *options);
	/* Prints the threads. Returns 0 or an error of see.h. */
	int (*report)(const struct wf_see *see, const void *options,
		      const struct wf_see_table *table);
};

/* Returns the exit status. */
int wf_see_command(const struct wf_see_command *command, char **argv,
		   void *options);

#endif

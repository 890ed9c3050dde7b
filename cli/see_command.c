/* SPDX-License-Identifier: MIT */
/* Parses the arguments, reads the threads, and reports errors in one line. */
#include "see_command.h"

#include "cli.h"

/* Returns 0, or the exit status after a complaint. */
static int parse(const struct wf_see_command *command, char **argv,
		 void *options, const char **ret_which)
{
	const char *which = NULL;

	for (char **arg = argv + 1; *arg != NULL; arg++) {
		bool is_option = (*arg)[0] == '-' && (*arg)[1] != '\0';

		if (!is_option && which == NULL)
			which = *arg;
		else if (!is_option)
			return wf_complain(WF_EXIT_WEFT,
					   "%s takes one process or core file",
					   command->name);
		else if (!command->parse_option(*arg, options))
			return wf_complain(WF_EXIT_WEFT,
					   "%s: wrong option '%s'; see "
					   "'weft %s --help'",
					   command->name, *arg, command->name);
	}
	if (which == NULL)
		return wf_complain(WF_EXIT_WEFT,
				   "usage: weft %s [OPTIONS] PID|CORE",
				   command->name);
	*ret_which = which;
	return 0;
}

int wf_see_command(const struct wf_see_command *command, char **argv,
		   void *options)
{
	struct wf_see_table table = { 0 };
	struct wf_see *see = NULL;
	const char *which = NULL;
	int err;

	if (argv[1] != NULL && wf_asks_for_help(argv[1])) {
		command->help(stdout);
		return 0;
	}
	err = parse(command, argv, options, &which);
	if (err == 0 && command->check != NULL)
		err = command->check(options);
	if (err != 0)
		return err;
	err = wf_see_open(which, &see);
	if (err == 0)
		err = wf_see_threads(see, &table);
	if (err == 0)
		err = command->report(see, options, &table);
	wf_see_table_free(&table);
	wf_see_close(see);
	if (err < 0)
		return wf_complain(WF_EXIT_WEFT, "%s: %s", which,
				   wf_see_error_text(err));
	return 0;
}

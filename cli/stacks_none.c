/* SPDX-License-Identifier: MIT */
/* weft stacks in a build without libdw. */
#include "cli.h"

void wf_stacks_help(FILE *to)
{
	fputs("usage: weft stacks PID|CORE\n\n"
	      "This 'weft' was built without libdw of elfutils, and cannot "
	      "print stacks.\n",
	      to);
}

int wf_stacks_main(char **argv)
{
	if (argv[1] != NULL && wf_asks_for_help(argv[1])) {
		wf_stacks_help(stdout);
		return 0;
	}
	return wf_complain(WF_EXIT_WEFT, "stacks: this 'weft' was built "
					 "without libdw of elfutils");
}

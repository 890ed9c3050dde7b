/* SPDX-License-Identifier: MIT */
/*
 * The service that prints the stacks of all threads when the process gets the
 * signal of --dump-on.
 *
 *     wf_service_start(wf_dump_run, &self, &tid);
 */
#ifndef WEFT_SEE_DUMP_H
#define WEFT_SEE_DUMP_H

#include "base/compiler.h"

/* Never returns. */
void wf_dump_run(void *arg);

/*
 * For a raw fork child of this process: starts `weft stacks -` with its output
 * on `out`, serves it the memory of this process and ends. The exit status is
 * 0, or a number of enum wf_dump_failure.
 */
WF_NORETURN void wf_dump_serve(int out, unsigned int nr_paused);

enum wf_dump_failure {
	WF_DUMP_NO_COMMAND = 1, /* it cannot be executed */
	WF_DUMP_NO_SOCKET,
	WF_DUMP_NO_PROCESS,
	WF_DUMP_NO_ANSWER, /* it has ended with an error */
	WF_DUMP_NO_END,	   /* it was killed after a time */
};

#endif

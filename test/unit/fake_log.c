/* SPDX-License-Identifier: MIT */
/*
 * Stands for os/ as base/log.c calls it, for tests that only need it to link.
 */
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"

void wf_log_sink(const char *line, size_t len)
{
	if (write(STDERR_FILENO, line, len) < 0)
		abort();
}

/* Weak: sched/table.c has it. */
__attribute__((weak)) long wf_log_thread_id(void)
{
	return getpid();
}

void wf_log_abort(void)
{
	abort();
}

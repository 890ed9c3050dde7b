/* SPDX-License-Identifier: MIT */
/*
 * Replaces the functions of os/ that base/log.c calls, for tests that only need
 * them to link.
 */
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"

void wf_log_sink(const char *line, size_t len)
{
	if (write(STDERR_FILENO, line, len) < 0)
		abort();
}

/* Weak, because sched/table.c defines it, too. */
__attribute__((weak)) long wf_log_thread_id(void)
{
	return getpid();
}

void wf_log_abort(void)
{
	abort();
}

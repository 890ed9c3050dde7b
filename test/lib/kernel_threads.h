/* SPDX-License-Identifier: MIT */
/*
 * Counts the kernel threads of the process, as other processes see them.
 *
 *     CHECK(kernel_threads_are_fewer_than(NR_THREADS));
 */
#ifndef KERNEL_THREADS_H
#define KERNEL_THREADS_H

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft/weft.h>

#include "check.h"

static inline int kernel_threads_of(pid_t pid)
{
	char path[64], line[128];
	int nr = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "r");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		sscanf(line, "Threads: %d", &nr);
	return nr;
}

/*
 * Are there fewer than nr? nr is 100 at most. Also true natively, and if there
 * are that many CPUs.
 */
static inline bool kernel_threads_are_fewer_than(int nr)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(kernel_threads_of(getppid()));
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	return !weft_is_active() || WEXITSTATUS(status) < nr ||
	       sysconf(_SC_NPROCESSORS_ONLN) >= nr / 2;
}

#endif

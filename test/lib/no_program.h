/* SPDX-License-Identifier: MIT */
/*
 * A file that looks like a program and is none: an exec of it fails. The exec
 * takes some time, since its arguments are long.
 *
 *     no_program_make();
 *     CHECK_ERRNO(no_program_exec(), ENOEXEC);
 */
#ifndef NO_PROGRAM_H
#define NO_PROGRAM_H

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

static char no_program[] = "/tmp/weft-no-program-XXXXXX";
static char no_program_argument[100000];

static inline void no_program_remove(void)
{
	unlink(no_program);
}

static inline void no_program_make(void)
{
	int fd = mkstemp(no_program);

	CHECK(fd >= 0);
	check_at_end(no_program_remove);
	CHECK_EQ(write(fd, "\1\2\3\4", 4), 4);
	CHECK_EQ(fchmod(fd, 0700), 0);
	CHECK_EQ(close(fd), 0);
	memset(no_program_argument, 'a', sizeof(no_program_argument) - 1);
}

static inline int no_program_exec(void)
{
	enum { NR_ARGUMENTS = 8 };
	char *argv[NR_ARGUMENTS + 1] = { 0 };

	for (int i = 0; i < NR_ARGUMENTS; i++)
		argv[i] = no_program_argument;
	return execv(no_program, argv);
}

#endif

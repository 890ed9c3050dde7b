/* SPDX-License-Identifier: MIT */
/* A temporary file for a test, which is removed when the test has ended. */
#ifndef FILES_H
#define FILES_H

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"

static char path[] = "/tmp/weft-test-XXXXXX";
static int fd;

static inline void remove_file(void)
{
	unlink(path);
}

static inline void make_file(void)
{
	fd = mkstemp(path);
	CHECK(fd >= 0);
	check_at_end(remove_file);
}

/* Opens the file again, with a file description of its own. */
static inline int open_again(void)
{
	int again = open(path, O_RDWR | O_CLOEXEC);

	CHECK(again >= 0);
	return again;
}

#endif

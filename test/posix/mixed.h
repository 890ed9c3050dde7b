/* SPDX-License-Identifier: MIT */
/*
 * Objects that processes on weft and others share: a case starts itself once
 * more without LD_PRELOAD, and that one finds the same memory.
 *
 *     s = map_objects(sizeof(*s));
 *     if (is_third())
 *             ...             natively
 *     pid = start_third();
 */
#ifndef MIXED_H
#define MIXED_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared.h"

#define SHARED_FD "SHARED_TEST_FD"

extern char **environ;

static int objects_fd;

/* Maps the same memory in all processes; the first process zeroes it. */
static inline void *map_objects(size_t bytes)
{
	const char *given = getenv(SHARED_FD);
	void *objects;

	objects_fd = given != NULL ? atoi(given) : memfd_create("objects", 0);
	CHECK(objects_fd >= 0);
	CHECK_EQ(ftruncate(objects_fd, (off_t)bytes), 0);
	objects = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
		       objects_fd, 0);
	CHECK(objects != MAP_FAILED);
	return objects;
}

static inline bool is_third(void)
{
	return getenv(SHARED_FD) != NULL;
}

/* Starts this case once more, natively. */
static inline pid_t start_third(void)
{
	char number[32];
	pid_t pid;

	snprintf(number, sizeof(number), "%d", objects_fd);
	pid = fork();
	CHECK(pid >= 0);
	if (pid != 0)
		return pid;
	unsetenv("LD_PRELOAD");
	unsetenv("GLIBC_TUNABLES");
	setenv(SHARED_FD, number, 1);
	execle("/proc/self/exe", "posix", check_current, NULL, environ);
	_exit(99);
}

static inline void await_child(pid_t pid)
{
	int status;

	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

#endif

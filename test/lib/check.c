/* SPDX-License-Identifier: MIT */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

const char *check_current = "main";

static void (*clean_up_at_end)(void);
static pid_t clean_up_of;

static void clean_up(void)
{
	/*
	 * A child's end must not clean up, since its parent may still use the
	 * files.
	 */
	if (clean_up_at_end != NULL && getpid() == clean_up_of)
		clean_up_at_end();
}

void check_at_end(void (*clean)(void))
{
	clean_up_at_end = clean;
	clean_up_of = getpid();
	atexit(clean_up);
}

static void __attribute__((noreturn)) end(int status)
{
	clean_up();
	_exit(status);
}

/* Uses dprintf and _exit, because other threads may hold any lock. */
void check_failed(const char *file, int line, const char *what)
{
	dprintf(STDERR_FILENO, "%s:%d: %s: not true: %s (errno %d)\n", file,
		line, check_current, what, errno);
	end(1);
}

void check_report(const char *file, int line, const char *what, long actual,
		  long expected)
{
	dprintf(STDERR_FILENO, "%s:%d: %s: not true: %s: %ld, not %ld\n", file,
		line, check_current, what, actual, expected);
}

void check_not_equal(const char *file, int line, const char *what, long actual,
		     long expected)
{
	check_report(file, line, what, actual, expected);
	end(1);
}

void check_skip(const char *why)
{
	dprintf(STDOUT_FILENO, "skip %s: %s\n", check_current, why);
	end(CHECK_STATUS_SKIP);
}

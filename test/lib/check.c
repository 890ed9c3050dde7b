#include "check.h"

#include <stdio.h>
#include <unistd.h>

const char *check_current = "main";

/* dprintf and _exit: other threads may hold any lock. */
void check_failed(const char *file, int line, const char *what)
{
	dprintf(STDERR_FILENO, "%s:%d: %s: not true: %s (errno %d)\n", file,
		line, check_current, what, errno);
	_exit(1);
}

void check_not_equal(const char *file, int line, const char *what, long actual,
		     long expected)
{
	dprintf(STDERR_FILENO, "%s:%d: %s: not true: %s: %ld, not %ld\n", file,
		line, check_current, what, actual, expected);
	_exit(1);
}

void check_skip(const char *why)
{
	dprintf(STDOUT_FILENO, "skip %s: %s\n", check_current, why);
	_exit(CHECK_STATUS_SKIP);
}

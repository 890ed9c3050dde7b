#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

const char *check_current = "main";

static void (*clean_up_at_end)(void);

void check_at_end(void (*clean_up)(void))
{
	clean_up_at_end = clean_up;
	atexit(clean_up);
}

static void __attribute__((noreturn)) end(int status)
{
	if (clean_up_at_end != NULL)
		clean_up_at_end();
	_exit(status);
}

/* dprintf and _exit: other threads may hold any lock. */
void check_failed(const char *file, int line, const char *what)
{
	dprintf(STDERR_FILENO, "%s:%d: %s: not true: %s (errno %d)\n", file,
		line, check_current, what, errno);
	end(1);
}

void check_not_equal(const char *file, int line, const char *what, long actual,
		     long expected)
{
	dprintf(STDERR_FILENO, "%s:%d: %s: not true: %s: %ld, not %ld\n", file,
		line, check_current, what, actual, expected);
	end(1);
}

void check_skip(const char *why)
{
	dprintf(STDOUT_FILENO, "skip %s: %s\n", check_current, why);
	end(CHECK_STATUS_SKIP);
}

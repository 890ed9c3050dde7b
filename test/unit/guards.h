/* SPDX-License-Identifier: MIT */
/* Catches faults of writes to a page. Include it behind cmocka.h. */
#ifndef WEFT_TEST_GUARDS_H
#define WEFT_TEST_GUARDS_H

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Returns the signal with which a write to p ends a child, or 0. */
static inline int signal_of_write(char *p)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		struct rlimit no_core = { 0, 0 };

		setrlimit(RLIMIT_CORE, &no_core);
		signal(SIGSEGV, SIG_DFL);
		*(volatile char *)p = 1;
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * A child of vfork installs a seccomp filter that kills for system calls of
 * weft's. The filter is not the parent's, so the parent's threads must stay on
 * weft.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"
#include "child.h"
#include "confine.h"
#include "threading.h"

static void *pass(void *arg)
{
	return arg;
}

static void confine(void)
{
	struct sock_filter code[] = {
		CONFINE_LOAD_NUMBER,
		CONFINE_KILL_FOR(membarrier),
		CONFINE_KILL_FOR(io_uring_enter),
		CONFINE_ALLOW,
	};

	_exit(confine_to(code, sizeof(code) / sizeof(code[0])) == 0 ? 0 : 1);
}

int main(void)
{
	int (*is_active)(void);
	pid_t pid = vfork();

	if (pid == 0)
		confine();
	CHECK(pid > 0);
	if (child_wait(pid) != 0)
		SKIP("filters of system calls are refused");
	thread_join(thread_start(pass, NULL));
	/* The function exists only on weft, and has to return true. */
	*(void **)&is_active = dlsym(RTLD_DEFAULT, "weft_is_active");
	CHECK(is_active == NULL || is_active());
	puts("the parent is not confined");
	return 0;
}

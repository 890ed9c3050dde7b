/* SPDX-License-Identifier: MIT */
/*
 * Handlers run while a thread is about to execute a file that is no program:
 * they change the process's credentials, try to execute a program, or never
 * return. The other threads must run as if no exec had begun.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "no_program.h"
#include "waiting.h"

enum { NR_SIGNALS = 300 };

static sigjmp_buf back;
static _Atomic bool is_over, is_in_exec;
static _Atomic int nr_come;

static void act(int sig, siginfo_t *info, void *context)
{
	char *argv[] = { "nothing", NULL };
	int saved = errno;
	int nr = ++nr_come;

	if (nr % 3 == 1)
		CHECK_ERRNO(execv("/nonexistent/nothing", argv), ENOENT);
	CHECK_EQ(seteuid(geteuid()), 0);
	errno = saved;
	if (nr % 3 == 2 && is_in_exec)
		siglongjmp(back, 1);
}

static void *fail_to_exec(void *arg)
{
	sigsetjmp(back, 1);
	while (!is_over) {
		is_in_exec = true;
		CHECK_ERRNO(no_program_exec(), ENOEXEC);
		is_in_exec = false;
	}
	return arg;
}

static void *compute(void *arg)
{
	while (!is_over)
		;
	return arg;
}

int main(void)
{
	pthread_t exec, computes;

	no_program_make();
	handle(SIGUSR1, act, 0);
	exec = thread_start(fail_to_exec, NULL);
	computes = thread_start(compute, NULL);
	for (int i = 1; i <= NR_SIGNALS; i++) {
		CHECK_EQ(pthread_kill(exec, SIGUSR1), 0);
		await_count(&nr_come, i);
	}
	is_over = true;
	thread_join(exec);
	thread_join(computes);
	CHECK_EQ(seteuid(geteuid()), 0);
	puts("all handlers have run");
	return 0;
}

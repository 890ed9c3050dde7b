/* SPDX-License-Identifier: MIT */
#include "process.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fail.h"
#include "linuxthreads.h"
#include "memory.h"

enum {
	SHARED = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND,
	FOR_LIBC = CLONE_SETTLS | CLONE_CHILD_SETTID,
};

pid_t lt_process_clone(int (*run)(void *thread), struct lt_thread *thread)
{
	/* The stack ends where the descriptor begins. */
	return clone(run, thread, SHARED | FOR_LIBC | LT_END, thread, NULL,
		     thread->tcb, lt_memory_tid(thread));
}

void lt_process_bind(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		lt_process_exit(EXIT_FAILURE);
}

void lt_process_wait(pid_t pid)
{
	while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
		;
}

void lt_process_exit(int status)
{
	for (;;)
		syscall(SYS_exit_group, status);
}

void lt_fail(const char *what)
{
	dprintf(STDERR_FILENO, "linuxthreads: %s\n", what);
	abort();
}

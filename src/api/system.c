/* SPDX-License-Identifier: MIT */
/*
 * system(). While the command runs, SIGCHLD is blocked and SIGINT and SIGQUIT
 * are ignored. libc's system() does both by direct system calls, which weft
 * does not notice. The program's handlers would run then, and a handler for
 * SIGCHLD could take the command's exit status. So weft runs the command by
 * posix_spawn(). Before the runtime starts, system() is libc's.
 */
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/api.h"
#include "libc/cleanup.h"
#include "libc/real.h"
#include "os/sys.h"
#include "sched/runtime.h"
#include "signal/ignored.h"

struct command {
	pid_t pid;	 /* 0: not started, or its status was taken */
	bool is_ignored; /* wf_ignored_begin has been called, not _end */
	sigset_t mask;
};

static int spawn(struct command *c, const char *line, uint64_t heeded)
{
	char *const argv[] = { (char *)"sh", (char *)"-c", (char *)line, NULL };
	posix_spawnattr_t attr;
	sigset_t defaults;
	int err;

	sigemptyset(&defaults);
	memcpy(&defaults, &heeded, sizeof(heeded));
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &c->mask);
	posix_spawnattr_setsigdefault(&attr, &defaults);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF |
						POSIX_SPAWN_SETSIGMASK);
	err = posix_spawn(&c->pid, "/bin/sh", NULL, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	if (err != 0)
		c->pid = 0;
	return err;
}

static void block_all(sigset_t *ret_mask)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, ret_mask);
}

/*
 * Starts the command with all signals blocked: no handler can jump out before
 * *c says what to undo. SIGCHLD stays blocked until end(). Returns 0 or Exxx.
 */
static int start(struct command *c, const char *line)
{
	sigset_t child;
	int err;

	block_all(&c->mask);
	child = c->mask;
	sigaddset(&child, SIGCHLD);
	c->is_ignored = true;
	err = spawn(c, line, wf_ignored_begin());
	pthread_sigmask(SIG_SETMASK, &child, NULL);
	return err;
}

/*
 * The thread leaves the wait by a jump or by its exit: kills the command and
 * waits for it. As in libc, the mask of before the call is not restored.
 */
static void leave(void *command)
{
	struct command *c = command;
	int saved_errno = errno;
	sigset_t mask;

	block_all(&mask);
	if (c->pid > 0) {
		kill(c->pid, SIGKILL);
		while (wf_sys(SYS_wait4, c->pid, NULL, 0, NULL) == -EINTR)
			;
	}
	if (c->is_ignored)
		wf_ignored_end();
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	errno = saved_errno;
}

static void end(struct command *c)
{
	int saved_errno = errno;

	block_all(NULL);
	wf_ignored_end();
	c->is_ignored = false;
	pthread_sigmask(SIG_SETMASK, &c->mask, NULL);
	errno = saved_errno;
}

static pid_t wait_for(struct command *c, int *ret_status)
{
	pid_t pid;

	do
		pid = waitpid(c->pid, ret_status, 0);
	while (pid < 0 && errno == EINTR);
	c->pid = 0;
	return pid;
}

static int run(const char *line)
{
	WF_CLEANUP struct wf_cleanup cleanup = WF_CLEANUP_NONE;
	struct command c = { .pid = 0 };
	int status = -1, type, err;

	/* An asynchronous cancellation could come between any two steps. */
	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
	wf_cleanup_begin(&cleanup, leave, &c);
	err = start(&c, line);
	if (err != 0) {
		errno = err;
		status = W_EXITCODE(127, 0);
	} else if (wait_for(&c, &status) < 0) {
		status = -1;
	}
	end(&c);
	wf_cleanup_end(&cleanup);
	pthread_setcanceltype(type, NULL);
	return status;
}

WF_API(int, system, const char *line)
{
	if (!wf_is_started())
		return wf_real.system(line);
	return line != NULL ? run(line) : run("exit 0") == 0;
}

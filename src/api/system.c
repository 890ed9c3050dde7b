/*
 * system: libc's own blocks SIGCHLD and ignores two signals without anybody's
 * knowing. The program's handlers would run meanwhile, and one that waits for
 * children would take the command's.
 */
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/api.h"
#include "libc/real.h"
#include "os/sys.h"
#include "sched/runtime.h"
#include "signal/ignored.h"

struct command {
	pid_t pid; /* 0: it does not run, or has been waited for */
	sigset_t mask;
};

static int start(struct command *c, const char *line, uint64_t heeded)
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

/* Also when its thread is cancelled. */
static void end(struct command *c)
{
	int saved_errno = errno;

	if (c->pid > 0) {
		kill(c->pid, SIGKILL);
		while (wf_sys(SYS_wait4, c->pid, NULL, 0, NULL) == -EINTR)
			;
	}
	wf_ignored_end();
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
	__attribute__((cleanup(end))) struct command c = { .pid = 0 };
	int status = -1, err;
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	pthread_sigmask(SIG_BLOCK, &child, &c.mask);
	err = start(&c, line, wf_ignored_begin());
	if (err != 0) {
		errno = err;
		return W_EXITCODE(127, 0);
	}
	return wait_for(&c, &status) < 0 ? -1 : status;
}

WF_API(int, system, const char *line)
{
	if (!wf_is_started())
		return wf_real.system(line);
	return line != NULL ? run(line) : run("exit 0") == 0;
}

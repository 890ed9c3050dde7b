/* SPDX-License-Identifier: MIT */
#include "stop.h"

#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

bool wf_see_stop(int tid, struct wf_see_stopped *ret_stopped)
{
	struct wf_see_stopped *s = ret_stopped;
	int status;

	*s = (struct wf_see_stopped){ .tid = tid };
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) != 0)
		return false;
	if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) != 0)
		return false;
	while (waitpid(tid, &status, __WALL) < 0)
		if (errno != EINTR)
			return false;
	if (!WIFSTOPPED(status))
		return false; /* it has ended, which detaches it */
	/* A stop for a signal: the thread gets the signal when it goes on. */
	if (status >> 16 == 0)
		s->signal = WSTOPSIG(status);
	if (ptrace(PTRACE_GETREGS, tid, NULL, &s->registers) == 0)
		return true;
	wf_see_go_on(s);
	return false;
}

void wf_see_go_on(const struct wf_see_stopped *stopped)
{
	ptrace(PTRACE_DETACH, stopped->tid, NULL, (long)stopped->signal);
}

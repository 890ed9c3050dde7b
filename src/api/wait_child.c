/* SPDX-License-Identifier: MIT */
/*
 * Waits for children. A thread that can park waits by io/call/child.h, and its
 * VP runs other threads.
 */
#include <sys/wait.h>

#include "api/park.h"
#include "io/call/child.h"
#include "libc/real.h"

/*
 * libc's header declares wait4 and wait3 as no cancellation points. If waitpid
 * called them, a cancellation could skip the clean-up of its caller.
 */
static pid_t wait_for(pid_t pid, int *status, int options, struct rusage *usage)
{
	return (pid_t)WF_PARK_OR(wf_real.wait4(pid, status, options, usage),
				 wf_io_wait4(pid, status, options, usage));
}

WF_API(pid_t, wait4, pid_t pid, int *status, int options, struct rusage *usage)
{
	return wait_for(pid, status, options, usage);
}

WF_API(pid_t, wait3, int *status, int options, struct rusage *usage)
{
	return wait_for(-1, status, options, usage);
}

WF_API(pid_t, waitpid, pid_t pid, int *status, int options)
{
	return wait_for(pid, status, options, NULL);
}
WF_API_ALIAS(waitpid, __waitpid);

WF_API(pid_t, wait, int *status)
{
	return wait_for(-1, status, 0, NULL);
}
WF_API_ALIAS(wait, __wait);

WF_API(int, waitid, idtype_t type, id_t id, siginfo_t *ret_info, int options)
{
	return (int)WF_PARK_OR(wf_real.waitid(type, id, ret_info, options),
			       wf_io_waitid(type, id, ret_info, options));
}

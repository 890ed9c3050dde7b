/* SPDX-License-Identifier: MIT */
/*
 * vfork(). The stub api/x86_64/vfork.S calls these functions in the parent,
 * before and after the system call. If the child cannot run in its parent's
 * memory, the stub forks, as POSIX allows.
 */
#include <unistd.h>

#include "api/api.h"
#include "boot/vfork.h"

bool wf_api_vfork_begin(void);
bool wf_api_vfork_begin(void)
{
	return wf_vfork_begin() != NULL;
}

pid_t wf_api_vfork_end(long pid);
pid_t wf_api_vfork_end(long pid)
{
	wf_vfork_child_end(wf_vfork_child_of(wf_self));
	return wf_api_errno((int)pid);
}

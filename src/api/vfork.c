/* SPDX-License-Identifier: MIT */
/*
 * vfork: api/x86_64/vfork.S with these. A child that cannot run in its parent's
 * memory is forked, as POSIX allows.
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

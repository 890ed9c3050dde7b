/* SPDX-License-Identifier: MIT */
#include "thread/name.h"

#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>

#include "os/sys.h"

bool wf_name_is_kept(const struct wf_thread *t)
{
	return wf_thread_exists(t) && t->kind != WF_THREAD_FOREIGN;
}

/* It may be another thread that runs there. */
static void name_process(const char *name)
{
	int fd = (int)wf_sys(SYS_openat, AT_FDCWD, "/proc/self/comm",
			     O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	wf_sys(SYS_write, fd, name, strlen(name));
	wf_sys(SYS_close, fd);
}

void wf_name_set(struct wf_thread *t, const char *name)
{
	size_t len = strnlen(name, sizeof(t->name) - 1);

	memcpy(t->name, name, len);
	memset(t->name + len, 0, sizeof(t->name) - len);
	if (t->is_first)
		name_process(t->name);
}

void wf_name_fork_child(const struct wf_thread *t)
{
	wf_sys(SYS_prctl, PR_SET_NAME, t->name);
}

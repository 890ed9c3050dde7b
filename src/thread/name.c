/* SPDX-License-Identifier: MIT */
/*
 * weft keeps a thread's name in struct wf_thread. A bound thread's name is also
 * given to its kernel thread, and the first thread's name to the process. So ps
 * and top show these.
 */
#include "thread/name.h"

#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/log.h"
#include "os/kthread.h"
#include "os/sys.h"
#include "sched/carrier_name.h"
#include "sched/runtime.h"

bool wf_name_is_kept(const struct wf_thread *t)
{
	return wf_thread_exists(t) && t->kind != WF_THREAD_FOREIGN;
}

static void write_comm(const char *path, const char *name)
{
	int fd = (int)wf_sys(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	wf_sys(SYS_write, fd, name, strlen(name));
	wf_sys(SYS_close, fd);
}

/* Gives a bound thread's name to its kernel thread. */
static void name_carrier(const struct wf_thread *t)
{
	struct wf_carrier *c = t->carrier;
	char path[48];

	if (t == wf_self) {
		wf_carrier_name_bound(c, t);
		return;
	}
	if (c == NULL || c->named == WF_NAMED_PROCESS)
		return;
	wf_format(path, sizeof(path), "/proc/self/task/%d/comm",
		  wf_load_relaxed(&c->tid));
	write_comm(path, t->name);
}

void wf_name_set(struct wf_thread *t, const char *name)
{
	size_t len = strnlen(name, sizeof(t->name) - 1);

	memcpy(t->name, name, len);
	memset(t->name + len, 0, sizeof(t->name) - len);
	if (t->kind == WF_THREAD_BOUND)
		name_carrier(t);
	/* separate: another thread may run on the first kernel thread */
	if (t->is_first)
		write_comm("/proc/self/comm", t->name);
}

void wf_name_meet_caller(void)
{
	if (wf_self == NULL && wf_is_started())
		wf_thread_self();
}

void wf_name_met(void)
{
	static const char own[] = "weft-";
	char name[WF_OS_NAME_BYTES] = "";
	int proc;

	wf_sys(SYS_prctl, PR_GET_NAME, name, 0, 0, 0);
	if (strncmp(name, own, sizeof(own) - 1) != 0)
		return;
	proc = wf_os_proc_open();
	if (proc < 0)
		return;
	wf_os_thread_name(proc, wf_os_getpid(), name);
	wf_sys(SYS_close, proc);
	/* false if /proc did not show the process's name */
	if (name[0] != '\0')
		wf_os_set_thread_name(name);
}

void wf_name_fork_child(const struct wf_thread *t)
{
	wf_os_set_thread_name(t->name);
}

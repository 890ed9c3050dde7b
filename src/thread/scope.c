/* SPDX-License-Identifier: MIT */
/*
 * At start, this file finds out from /proc whether a debugger traces the
 * process. With --bound, it asks the loader which object holds a new thread's
 * start routine. Then it searches the object's name or path for the pattern.
 */
#include "thread/scope.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <string.h>

#include "base/options.h"
#include "os/kthread.h"
#include "os/sys.h"
#include "sched/carrier.h"

bool wf_scope_is_debugged;

static int own_tracer(void)
{
	int proc = wf_os_proc_open(), pid;

	if (proc < 0)
		return 0;
	pid = wf_os_tracer_of(proc, wf_os_gettid());
	wf_sys(SYS_close, proc);
	return pid;
}

/* Sets wf_scope_is_debugged if a debugger that steps traces the process: gdb,
 * gdbserver, lldb, lldb-server. Other tracers such as strace show system calls.
 * With these, threads may change their kernel threads. */
void wf_scope_start(void)
{
	char name[WF_OS_NAME_BYTES];
	int pid = own_tracer(), proc;

	wf_scope_is_debugged = false;
	if (pid == 0)
		return;
	proc = wf_os_proc_open_of(pid);
	if (proc < 0)
		return;
	wf_os_thread_name(proc, pid, name);
	wf_sys(SYS_close, proc);
	wf_scope_is_debugged = strncmp(name, "gdb", 3) == 0 ||
			       strncmp(name, "lldb", 4) == 0;
}

bool wf_scope_has_room(void)
{
	enum { MOST = 2000 };

	return wf_carrier_count() < MOST;
}

/* Returns the program's path: the loader's list has no name for the program. */
static const char *program_path(char buf[PATH_MAX])
{
	long len = wf_sys(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", buf,
			  PATH_MAX - 1);

	buf[len > 0 ? len : 0] = '\0';
	return buf;
}

bool wf_scope_matches_slow(const void *start)
{
	const char *pattern = wf_options.bound;
	char buf[PATH_MAX];
	struct link_map *map;
	const char *path, *slash;
	Dl_info info;

	if (dladdr1(start, &info, (void **)&map, RTLD_DL_LINKMAP) == 0)
		/* the code is in no object: it was compiled at run time */
		return false;
	path = map->l_name[0] != '\0' ? map->l_name : program_path(buf);
	slash = strrchr(path, '/');
	if (slash != NULL && strchr(pattern, '/') == NULL)
		path = slash + 1;
	return strstr(path, pattern) != NULL;
}

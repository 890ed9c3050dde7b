/* SPDX-License-Identifier: MIT */
/*
 * Calls about the whole process: its exit, fork handlers, credentials. Before
 * the exit weft releases the files that its requests keep open. In a fork child
 * weft's handler runs before all others. A change of credentials is made on
 * every kernel thread (wf_setxid).
 */
#include <grp.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "api/api.h"
#include "boot/boot.h"
#include "libc/real.h"
#include "os/sys.h"
#include "signal/signal.h"

static WF_NORETURN void end_process(int status)
{
	wf_boot_end();
	for (;;)
		wf_sys(SYS_exit_group, status);
}

WF_API(WF_NORETURN void, _exit, int status)
{
	end_process(status);
}

WF_API(WF_NORETURN void, _Exit, int status)
{
	end_process(status);
}

/* weft registers its handlers first: its child handler must run first. */
WF_API(int, __register_atfork, void (*prepare)(void), void (*parent)(void),
       void (*child)(void), void *dso_handle)
{
	wf_boot_register_fork();
	return wf_real.__register_atfork(prepare, parent, child, dso_handle);
}

/* Runs no fork handlers but weft's; safe in a signal handler. */
WF_API(pid_t, _Fork, void)
{
	pid_t pid;

	wf_boot_fork_prepare();
	pid = wf_real._Fork();
	if (pid == 0)
		wf_boot_fork_child();
	else
		wf_signal_fork_parent();
	return pid;
}

WF_API(int, setuid, uid_t uid)
{
	return wf_api_errno(wf_setxid(SYS_setuid, uid, 0, 0));
}

WF_API(int, setgid, gid_t gid)
{
	return wf_api_errno(wf_setxid(SYS_setgid, gid, 0, 0));
}

WF_API(int, setreuid, uid_t ruid, uid_t euid)
{
	return wf_api_errno(wf_setxid(SYS_setreuid, ruid, euid, 0));
}

WF_API(int, setregid, gid_t rgid, gid_t egid)
{
	return wf_api_errno(wf_setxid(SYS_setregid, rgid, egid, 0));
}

WF_API(int, setresuid, uid_t ruid, uid_t euid, uid_t suid)
{
	return wf_api_errno(wf_setxid(SYS_setresuid, ruid, euid, suid));
}

WF_API(int, setresgid, gid_t rgid, gid_t egid, gid_t sgid)
{
	return wf_api_errno(wf_setxid(SYS_setresgid, rgid, egid, sgid));
}

WF_API(int, seteuid, uid_t euid)
{
	if (euid == (uid_t)-1)
		return wf_api_errno(-EINVAL);
	return wf_api_errno(wf_setxid(SYS_setresuid, -1, euid, -1));
}

WF_API(int, setegid, gid_t egid)
{
	if (egid == (gid_t)-1)
		return wf_api_errno(-EINVAL);
	return wf_api_errno(wf_setxid(SYS_setresgid, -1, egid, -1));
}

WF_API(int, setgroups, size_t size, const gid_t *list)
{
	return wf_api_errno(
		wf_setxid(SYS_setgroups, (long)size, (long)list, 0));
}

WF_API(int, initgroups, const char *user, gid_t group)
{
	enum { MAX_GROUPS = 65536 };
	gid_t *list = NULL;
	int room = 0, nr, err;

	getgrouplist(user, group, NULL, &room);
	room = room > MAX_GROUPS ? MAX_GROUPS : room;
	list = malloc((size_t)room * sizeof(*list));
	if (list == NULL)
		return -1;
	nr = room;
	/* The user may be in more groups by now: nr is their number then. */
	if (getgrouplist(user, group, list, &nr) < 0)
		nr = room;
	err = wf_setxid(SYS_setgroups, nr, (long)list, 0);
	free(list);
	return wf_api_errno(err);
}

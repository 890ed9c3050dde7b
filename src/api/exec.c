/* SPDX-License-Identifier: MIT */
/*
 * The functions that execute a program. Each computes the environment of the
 * new program, which may be without weft, and prepares the process for the exec
 * (boot/replacing.c). If exec fails, it undoes both. posix_spawn also gives the
 * child the caller's scheduling policy.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "api/api.h"
#include "api/exec.h"
#include "base/log.h"
#include "boot/boot.h"
#include "boot/children.h"
#include "libc/real.h"
#include "os/sys.h"
#include "sched/vfork_child.h"
#include "signal/memory.h"
#include "signal/preempt.h"
#include "signal/signal.h"
#include "thread/policy.h"

struct attempt {
	bool is_ours; /* a successful exec ends all of weft's threads */
	struct wf_children_env env;
};

/*
 * Returns the environment. The process is prepared only if the runtime runs in
 * it: a child of vfork or of clone() may call this in its parent's memory.
 */
static char *const *begin(struct attempt *a, int dir, const char *path,
			  char *const envp[])
{
	a->is_ours = wf_is_started() && wf_preempt_is_here();
	envp = wf_children_env(&a->env, dir, path, envp);
	wf_vfork_child_unmaps(a->env.memory, a->env.bytes);
	if (a->is_ours)
		wf_replacing_begin();
	return envp;
}

/* exec has failed with rc: undoes begin(). errno does not change. */
static int resume(int rc, struct attempt *a)
{
	int saved = errno;

	if (a->is_ours)
		wf_replacing_end();
	wf_vfork_child_unmaps(NULL, 0);
	wf_children_env_free(&a->env);
	errno = saved;
	return rc;
}

long wf_exec_syscall(long nr, const long *a)
{
	bool has_dir = nr == SYS_execveat;
	const long *path = has_dir ? &a[1] : &a[0];
	int dir = has_dir ? (int)a[0] : AT_FDCWD;
	char *const *envp = (char *const *)path[2];
	struct attempt attempt;
	long r;

	envp = begin(&attempt, dir, (const char *)path[0], envp);
	if (has_dir)
		r = wf_syscall6(nr, dir, path[0], path[1], (long)envp, a[4], 0);
	else
		r = wf_syscall6(nr, path[0], path[1], (long)envp, 0, 0, 0);
	return resume((int)r, &attempt);
}

WF_API(int, execve, const char *path, char *const argv[], char *const envp[])
{
	struct attempt a;

	envp = begin(&a, AT_FDCWD, path, envp);
	return resume(wf_real.execve(path, argv, envp), &a);
}

WF_API(int, execv, const char *path, char *const argv[])
{
	return execve(path, argv, environ);
}

WF_API(int, execvpe, const char *file, char *const argv[], char *const envp[])
{
	struct attempt a;
	char path[PATH_MAX];

	envp = begin(&a, AT_FDCWD, wf_children_find(file, path), envp);
	return resume(wf_real.execvpe(file, argv, envp), &a);
}

WF_API(int, execvp, const char *file, char *const argv[])
{
	return execvpe(file, argv, environ);
}

WF_API(int, fexecve, int fd, char *const argv[], char *const envp[])
{
	struct attempt a;
	char path[32];

	wf_format(path, sizeof(path), "/proc/self/fd/%d", fd);
	envp = begin(&a, AT_FDCWD, path, envp);
	return resume(wf_real.fexecve(fd, argv, envp), &a);
}

WF_API(int, execveat, int dir, const char *path, char *const argv[],
       char *const envp[], int flags)
{
	const long args[] = {
		dir, (long)path, (long)argv, (long)envp, flags, 0
	};

	return wf_api_errno((int)wf_exec_syscall(SYS_execveat, args));
}

/*
 * libc makes the child by a system call inside, so the child would have the
 * policy of the carrier. Returns attr, or *copy with the caller's policy.
 */
static const posix_spawnattr_t *with_policy(const posix_spawnattr_t *attr,
					    posix_spawnattr_t *copy)
{
	struct sched_param param;
	int policy, priority;
	short flags = 0;

	if (attr != NULL)
		posix_spawnattr_getflags(attr, &flags);
	if ((flags & POSIX_SPAWN_SETSCHEDULER) != 0 ||
	    !wf_policy_of_child(wf_thread_self(), &policy, &priority))
		return attr;
	if (attr != NULL)
		memcpy(copy, attr, sizeof(*copy));
	else
		posix_spawnattr_init(copy);
	/* A priority that the program has set stays. */
	if ((flags & POSIX_SPAWN_SETSCHEDPARAM) == 0) {
		param = (struct sched_param){ .sched_priority = priority };
		posix_spawnattr_setschedparam(copy, &param);
	}
	posix_spawnattr_setschedpolicy(copy, policy);
	posix_spawnattr_setflags(copy, flags | POSIX_SPAWN_SETSCHEDULER);
	return copy;
}

WF_API(int, posix_spawn, pid_t *ret_pid, const char *path,
       const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attr,
       char *const argv[], char *const envp[])
{
	struct wf_children_env e;
	posix_spawnattr_t copy;
	int err;

	attr = with_policy(attr, &copy);
	envp = wf_children_env(&e, AT_FDCWD, path, envp);
	err = wf_real.posix_spawn(ret_pid, path, actions, attr, argv, envp);
	wf_children_env_free(&e);
	return err;
}

WF_API(int, posix_spawnp, pid_t *ret_pid, const char *file,
       const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attr,
       char *const argv[], char *const envp[])
{
	struct wf_children_env e;
	char path[PATH_MAX];
	const char *found = NULL;
	posix_spawnattr_t copy;
	int err;

	attr = with_policy(attr, &copy);
	/* An invalid pointer must fail in the child, not here. */
	if (wf_memory_is_string(file, SIZE_MAX))
		found = wf_children_find(file, path);
	envp = wf_children_env(&e, AT_FDCWD, found, envp);
	err = wf_real.posix_spawnp(ret_pid, file, actions, attr, argv, envp);
	wf_children_env_free(&e);
	return err;
}

/* The number of arguments after the first, with the final NULL. */
static size_t count(va_list ap)
{
	size_t nr = 1;

	while (va_arg(ap, char *) != NULL)
		nr++;
	return nr;
}

static void collect(char **argv, const char *first, size_t nr, va_list ap)
{
	argv[0] = (char *)first;
	for (size_t i = 1; i <= nr; i++)
		argv[i] = va_arg(ap, char *);
}

/* Declares argv[] with `first` and the variable arguments behind it. */
#define COLLECT(argv, first, ap)   \
	size_t nr_##argv;          \
	va_start(ap, first);       \
	nr_##argv = count(ap);     \
	va_end(ap);                \
	char *argv[nr_##argv + 1]; \
	va_start(ap, first);       \
	collect(argv, first, nr_##argv, ap)

WF_API(int, execl, const char *path, const char *arg, ...)
{
	va_list ap;
	COLLECT(argv, arg, ap);

	va_end(ap);
	return execv(path, argv);
}

WF_API(int, execlp, const char *file, const char *arg, ...)
{
	va_list ap;
	COLLECT(argv, arg, ap);

	va_end(ap);
	return execvp(file, argv);
}

WF_API(int, execle, const char *path, const char *arg, ...)
{
	va_list ap;
	char *const *envp;
	COLLECT(argv, arg, ap);

	envp = va_arg(ap, char *const *);
	va_end(ap);
	return execve(path, argv, envp);
}

/*
 * Replacing the program. A preemption signal that is pending then would be the
 * new program's, which has no handler for it; so from here on there are none.
 */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include "api/api.h"
#include "api/exec.h"
#include "libc/real.h"
#include "os/sys.h"
#include "signal/preempt.h"

/* What exec returned, if it did: the runtime goes on. */
static int resume(int rc)
{
	int saved = errno;

	wf_preempt_exec_end();
	errno = saved;
	return rc;
}

long wf_exec_syscall(long nr, const long *a)
{
	long r;

	wf_preempt_exec_begin();
	r = wf_syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
	wf_preempt_exec_end();
	return r;
}

WF_API(int, execve, const char *path, char *const argv[], char *const envp[])
{
	wf_preempt_exec_begin();
	return resume(wf_real.execve(path, argv, envp));
}

WF_API(int, execv, const char *path, char *const argv[])
{
	wf_preempt_exec_begin();
	return resume(wf_real.execv(path, argv));
}

WF_API(int, execvp, const char *file, char *const argv[])
{
	wf_preempt_exec_begin();
	return resume(wf_real.execvp(file, argv));
}

WF_API(int, execvpe, const char *file, char *const argv[], char *const envp[])
{
	wf_preempt_exec_begin();
	return resume(wf_real.execvpe(file, argv, envp));
}

WF_API(int, fexecve, int fd, char *const argv[], char *const envp[])
{
	wf_preempt_exec_begin();
	return resume(wf_real.fexecve(fd, argv, envp));
}

WF_API(int, execveat, int dir, const char *path, char *const argv[],
       char *const envp[], int flags)
{
	const long args[] = {
		dir, (long)path, (long)argv, (long)envp, flags, 0
	};

	return wf_api_errno((int)wf_exec_syscall(SYS_execveat, args));
}

/* Arguments after the first, the ending NULL included. */
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

/* Declares argv[] out of the variable arguments behind `first`. */
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

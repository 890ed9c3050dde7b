/*
 * Forks that do not go through libc's fork: clone() and its system calls
 * without CLONE_VM. The child has a copy of the parent's memory and none of
 * its kernel threads, so weft's child handler has to run as after fork; no
 * other handler does.
 *
 * A child that shares the memory is a kernel thread of the program's own. One
 * that shares the descriptors alone would close the parent's if it were taken
 * for a child of fork; both are left to themselves.
 */
#include "api/clone.h"

#include <linux/sched.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/syscall.h>

#include "api/api.h"
#include "boot/boot.h"
#include "libc/real.h"
#include "os/sys.h"
#include "signal/signal.h"

struct child {
	int (*run)(void *arg);
	void *arg;
};

static bool is_fork(uint64_t flags)
{
	return (flags & (CLONE_VM | CLONE_FILES)) == 0;
}

/* In the stub's frame, which a child on another stack has not got. */
static bool is_fork_syscall(long nr, const long *args)
{
	const struct clone_args *clone3 = (const struct clone_args *)args[0];

	switch (nr) {
	case SYS_clone:
		return is_fork((uint64_t)args[0]) && args[1] == 0;
	case SYS_clone3:
		return args[1] >= CLONE_ARGS_SIZE_VER0 &&
		       is_fork(clone3->flags) && clone3->stack == 0;
	default:
		return true;
	}
}

long wf_clone_syscall(long nr, const long *args)
{
	bool is_ours = is_fork_syscall(nr, args);
	long pid;

	if (is_ours)
		wf_boot_fork_prepare();
	pid = wf_syscall6(nr, args[0], args[1], args[2], args[3], args[4],
			  args[5]);
	if (is_ours && pid == 0)
		wf_boot_fork_child();
	else if (is_ours)
		wf_signal_fork_parent();
	return pid;
}

/* The caller's frame is in the child's copy of the memory. */
static int run_child(void *arg)
{
	struct child child = *(struct child *)arg;

	wf_boot_fork_child();
	return child.run(child.arg);
}

static int fork_to(void *stack, int flags, struct child *child, pid_t *parent,
		   void *tls, pid_t *tid)
{
	int pid;

	wf_boot_fork_prepare();
	pid = wf_real.clone(run_child, stack, flags, child, parent, tls, tid);
	wf_signal_fork_parent();
	return pid;
}

WF_API(int, clone, int (*run)(void *), void *stack, int flags, void *arg, ...)
{
	va_list rest;
	pid_t *parent, *tid;
	void *tls;

	va_start(rest, arg);
	parent = va_arg(rest, pid_t *);
	tls = va_arg(rest, void *);
	tid = va_arg(rest, pid_t *);
	va_end(rest);
	if (run == NULL || stack == NULL || !is_fork((uint64_t)(unsigned)flags))
		return wf_real.clone(run, stack, flags, arg, parent, tls, tid);
	return fork_to(stack, flags, &(struct child){ run, arg }, parent, tls,
		       tid);
}
WF_API_ALIAS(clone, __clone);

/* SPDX-License-Identifier: MIT */
/*
 * Forks that do not go through libc's fork: clone() and its system calls
 * without CLONE_VM. The child has a copy of the parent's memory and none of
 * its kernel threads, so weft's child handler has to run as after fork; no
 * other handler does.
 *
 * A child in its parent's memory while the parent waits for it to execute a
 * program (CLONE_VFORK) is like a child of vfork. By a system call it would
 * come back here on its parent's stack, and gets a copy once there are threads.
 *
 * Another that shares the memory is a kernel thread of the program's own. One
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
#include "boot/vfork.h"
#include "libc/real.h"
#include "os/sys.h"
#include "signal/action.h"
#include "signal/memory.h"
#include "signal/signal.h"

struct child {
	int (*run)(void *arg);
	void *arg;
};

static bool is_fork(uint64_t flags)
{
	return (flags & (CLONE_VM | CLONE_FILES)) == 0;
}

/* A vfork child gets memory of its own. */
static uint64_t without_vfork(uint64_t flags)
{
	const uint64_t others = CLONE_FILES | CLONE_SIGHAND | CLONE_SETTLS;

	if (wf_is_started() && (flags & CLONE_VFORK) != 0 &&
	    (flags & others) == 0)
		flags &= ~(uint64_t)CLONE_VM;
	return flags;
}

/*
 * In the stub's frame, which a child on another stack has not got. The call as
 * it is to be made is left in *nr and *first, its first argument; what that
 * points to in *copy.
 */
static bool is_fork_syscall(long *nr, const long *args, long *first,
			    struct clone_args *copy)
{
	size_t bytes = (size_t)args[1];

	switch (*nr) {
	case SYS_clone:
		if (args[1] == 0)
			*first = (long)without_vfork((uint64_t)args[0]);
		return is_fork((uint64_t)*first) && args[1] == 0;
	case SYS_clone3:
		/* The kernel says what is wrong. */
		if (bytes < CLONE_ARGS_SIZE_VER0 ||
		    wf_memory_get(copy, (const void *)args[0],
				  bytes < sizeof(*copy) ? bytes :
							  sizeof(*copy)) < 0 ||
		    copy->stack != 0)
			return false;
		if (bytes > sizeof(*copy))
			return is_fork(copy->flags);
		copy->flags = without_vfork(copy->flags);
		*first = (long)copy;
		return is_fork(copy->flags);
	default:
		*nr = SYS_fork;
		return true;
	}
}

long wf_clone_syscall(long nr, const long *args)
{
	struct clone_args copy;
	long first = args[0];
	bool is_ours = is_fork_syscall(&nr, args, &first, &copy);
	bool loses_handlers = is_ours && nr == SYS_clone3 &&
			      (copy.flags & CLONE_CLEAR_SIGHAND) != 0;
	long pid;

	if (is_ours)
		wf_boot_fork_prepare();
	pid = wf_syscall6(nr, first, args[1], args[2], args[3], args[4],
			  args[5]);
	if (loses_handlers && pid == 0)
		wf_actions_forget_handlers();
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

/* With its own descriptors, actions and the caller's TLS. */
static bool is_vfork(unsigned int flags)
{
	const unsigned int both = CLONE_VM | CLONE_VFORK;

	return (flags & (both | CLONE_FILES | CLONE_SIGHAND | CLONE_SETTLS)) ==
	       both;
}

/* The caller's frame stays: it waits. */
static int run_vfork_child(void *arg)
{
	const struct child *child = arg;

	wf_vfork_enter_child();
	return child->run(child->arg);
}

static int start_vfork_child(void *stack, int flags, struct child *child,
			     pid_t *parent, void *tls, pid_t *tid)
{
	struct wf_vfork_child *l = wf_vfork_begin();
	int pid;

	if (l == NULL)
		return fork_to(stack, flags & ~CLONE_VM, child, parent, tls,
			       tid);
	pid = wf_real.clone(run_vfork_child, stack, flags, child, parent, tls,
			    tid);
	wf_vfork_child_end(l);
	return pid;
}

WF_API(int, clone, int (*run)(void *), void *stack, int flags, void *arg, ...)
{
	struct child child = { run, arg };
	va_list rest;
	pid_t *parent, *tid;
	void *tls;

	va_start(rest, arg);
	parent = va_arg(rest, pid_t *);
	tls = va_arg(rest, void *);
	tid = va_arg(rest, pid_t *);
	va_end(rest);
	if (run == NULL || stack == NULL)
		return wf_real.clone(run, stack, flags, arg, parent, tls, tid);
	if (is_fork((unsigned int)flags))
		return fork_to(stack, flags, &child, parent, tls, tid);
	if (is_vfork((unsigned int)flags))
		return start_vfork_child(stack, flags, &child, parent, tls,
					 tid);
	return wf_real.clone(run, stack, flags, arg, parent, tls, tid);
}
WF_API_ALIAS(clone, __clone);

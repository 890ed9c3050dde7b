/* SPDX-License-Identifier: MIT */
/*
 * Processes that a program makes without libc's fork: by clone() or by a system
 * call.
 *
 * Without CLONE_VM the child has a copy of the parent's memory and none of its
 * kernel threads. So weft's child handler runs in it, as after fork. No other
 * fork handler does.
 *
 * With CLONE_VM and CLONE_VFORK the child uses its parent's memory, and the
 * parent waits until the child executes a program. clone() treats such a child
 * as one of vfork. After a system call the child would return here on its
 * parent's stack. So once the runtime has started, it gets a copy of the memory
 * instead.
 *
 * Two kinds of children are not changed. A child that shares only the memory is
 * a kernel thread that the program manages. A child that shares only the
 * descriptors would close its parent's descriptors in weft's child handler.
 */
#include "api/syscall/clone.h"

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

/*
 * Once the runtime has started, removes CLONE_VM from the flags of a vfork
 * child. The child then gets a copy of the memory.
 */
static uint64_t without_vfork(uint64_t flags)
{
	const uint64_t others = CLONE_FILES | CLONE_SIGHAND | CLONE_SETTLS;

	if (wf_is_started() && (flags & CLONE_VFORK) != 0 &&
	    (flags & others) == 0)
		flags &= ~(uint64_t)CLONE_VM;
	return flags;
}

/*
 * Does the call make a child that returns here with a copy of this frame? A
 * child on another stack does not. *nr and *first, the first argument, become
 * those of the call to make; *first of clone3 points to *copy.
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
		/* The kernel returns the error. */
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

/* arg is in the caller's frame, of which the child has a copy. */
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

/*
 * Does the child have descriptors and signal actions of its own, and the
 * caller's TLS, as with vfork?
 */
static bool is_vfork(unsigned int flags)
{
	const unsigned int both = CLONE_VM | CLONE_VFORK;

	return (flags & (both | CLONE_FILES | CLONE_SIGHAND | CLONE_SETTLS)) ==
	       both;
}

/* arg is in the caller's frame; the caller waits meanwhile. */
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

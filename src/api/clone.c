/*
 * Forks that do not go through libc's fork: clone() and its system calls
 * without CLONE_VM. The child has a copy of the parent's memory and none of
 * its kernel threads, so weft's child handler has to run as after fork; no
 * other handler does.
 *
 * So has one that borrows the memory while the parent waits for it to execute a
 * program (CLONE_VFORK), once there are threads: it gets a copy. It has the
 * parent's thread register, and so would be the parent's thread, which the
 * monitor takes for blocked.
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
#include "boot/borrow.h"
#include "libc/real.h"
#include "os/sys.h"
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

/* A child that would borrow the memory gets its own. */
static uint64_t without_borrowing(uint64_t flags)
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
			*first = (long)without_borrowing((uint64_t)args[0]);
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
		copy->flags = without_borrowing(copy->flags);
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
	long pid;

	if (is_ours)
		wf_boot_fork_prepare();
	pid = wf_syscall6(nr, first, args[1], args[2], args[3], args[4],
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

static bool borrows(int flags)
{
	return (flags & CLONE_VM) != 0 && (flags & CLONE_VFORK) != 0;
}

WF_API(int, clone, int (*run)(void *), void *stack, int flags, void *arg, ...)
{
	va_list rest;
	pid_t *parent, *tid;
	bool is_lent;
	void *tls;
	int pid;

	va_start(rest, arg);
	parent = va_arg(rest, pid_t *);
	tls = va_arg(rest, void *);
	tid = va_arg(rest, pid_t *);
	va_end(rest);
	flags = (int)without_borrowing((unsigned int)flags);
	if (run != NULL && stack != NULL && is_fork((unsigned int)flags))
		return fork_to(stack, flags, &(struct child){ run, arg },
			       parent, tls, tid);
	is_lent = borrows(flags) && wf_borrow_begin();
	pid = wf_real.clone(run, stack, flags, arg, parent, tls, tid);
	if (is_lent)
		wf_borrow_end(pid);
	return pid;
}
WF_API_ALIAS(clone, __clone);

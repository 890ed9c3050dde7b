/* SPDX-License-Identifier: MIT */
/*
 * Ids and names of threads. A program sees the ids that weft gives to its
 * threads, not those of the carriers. weft also keeps most names. Calls of libc
 * with a process id also accept the id of a thread, so weft translates it.
 */
/* Otherwise libc's headers rename prlimit to prlimit64. */
#undef _FILE_OFFSET_BITS
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

#include "api/api.h"
#include "api/ids.h"
#include "api/state/kernel_state.h"
#include "libc/real.h"
#include "os/sys.h"
#include "sched/runtime.h"
#include "signal/memory.h"
#include "thread/lifecycle.h"
#include "thread/name.h"

/*
 * Is `real`, the caller's kernel thread id, that of t's carrier? If not, the
 * caller is a child process that shares this memory, made by a system call.
 */
static bool is_on_carrier(const struct wf_thread *t, long real)
{
	return t != NULL && t->carrier != NULL &&
	       wf_load_relaxed(&t->carrier->tid) == real;
}

long wf_ids_gettid_by(const long *args)
{
	long real = wf_syscall6(SYS_gettid, args[0], args[1], args[2], args[3],
				args[4], args[5]);
	const struct wf_thread *t = wf_self;

	return is_on_carrier(t, real) ? t->tid : real;
}

long wf_ids_gettid(void)
{
	return wf_ids_gettid_by((const long[6]){ 0 });
}

/*
 * Returns the id of a thread of weft and does nothing else. The kernel would
 * clear the word when the carrier exits, not when the thread does. No program
 * needs that: natively the call breaks pthread_join.
 */
long wf_ids_set_tid_address(long address)
{
	const struct wf_thread *t = wf_self;

	if (is_on_carrier(t, wf_os_gettid()))
		return t->tid;
	return wf_sys(SYS_set_tid_address, address);
}

/*
 * Ends only the thread, since its carrier runs other threads, too. A caller
 * without a carrier makes the system call itself: a sandbox may allow no other.
 */
void wf_ids_exit(int status)
{
	if (wf_self != NULL && wf_self->carrier != NULL &&
	    is_on_carrier(wf_self, wf_os_gettid()))
		wf_thread_leave(wf_self, status);
}

WF_API_FAST(pid_t, gettid, void)
{
	return (pid_t)wf_ids_gettid();
}

WF_API(int, pthread_setname_np, pthread_t thread, const char *name)
{
	struct wf_thread *t = wf_thread_of(thread);
	size_t len = strnlen(name, sizeof(t->name));

	if (len >= sizeof(t->name))
		return ERANGE;
	if (wf_name_is_kept(t)) {
		wf_name_set(t, name);
		return 0;
	}
	/* Threads that t creates inherit the name from here. */
	if (t != NULL)
		memcpy(t->name, name, len + 1);
	return wf_real.pthread_setname_np(thread, name);
}

WF_API(int, pthread_getname_np, pthread_t thread, char *buf, size_t size)
{
	const struct wf_thread *t = wf_thread_of(thread);

	if (t == NULL)
		wf_name_meet_caller(); /* `thread` may be the caller */
	if (!wf_name_is_kept(t))
		return wf_real.pthread_getname_np(thread, buf, size);
	if (size < sizeof(t->name))
		return ERANGE;
	return -wf_memory_put(buf, t->name, sizeof(t->name));
}

/* --- calls that take a process's id, or that of any of its threads -------- */

#define CALL(nr, ...) \
	wf_kernel_state_syscall(nr, (const long[6]){ __VA_ARGS__ })

WF_API(pid_t, getpgid, pid_t id)
{
	return (pid_t)wf_api_result(CALL(SYS_getpgid, id));
}
WF_API_ALIAS(getpgid, __getpgid);

WF_API(pid_t, getsid, pid_t id)
{
	return (pid_t)wf_api_result(CALL(SYS_getsid, id));
}

WF_API(int, prlimit, pid_t id, enum __rlimit_resource resource,
       const struct rlimit *limit, struct rlimit *ret_old)
{
	return (int)wf_api_result(
		CALL(SYS_prlimit64, id, resource, (long)limit, (long)ret_old));
}
WF_API_ALIAS_64(prlimit, prlimit64);

WF_API(ssize_t, process_vm_readv, pid_t id, const struct iovec *here,
       unsigned long nr_here, const struct iovec *there, unsigned long nr_there,
       unsigned long flags)
{
	return wf_api_result(CALL(SYS_process_vm_readv, id, (long)here,
				  (long)nr_here, (long)there, (long)nr_there,
				  (long)flags));
}

WF_API(ssize_t, process_vm_writev, pid_t id, const struct iovec *here,
       unsigned long nr_here, const struct iovec *there, unsigned long nr_there,
       unsigned long flags)
{
	return wf_api_result(CALL(SYS_process_vm_writev, id, (long)here,
				  (long)nr_here, (long)there, (long)nr_there,
				  (long)flags));
}

/* libc has this function from 2.36 on. */
WF_API(int, pidfd_open, pid_t id, unsigned int flags)
{
	return (int)wf_api_result(CALL(SYS_pidfd_open, id, flags));
}

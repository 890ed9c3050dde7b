/* SPDX-License-Identifier: MIT */
/*
 * Calls that send signals, and calls that wait for them. weft itself delivers
 * signals to threads of this process and to the process (signal/routing.h).
 * Signals to other processes are the kernel's, except those to a thread of
 * another process on weft (signal/other_process.h).
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/api.h"
#include "api/cancel.h"
#include "api/ids.h"
#include "api/signal.h"
#include "base/log.h"
#include "libc/real.h"
#include "os/clock.h"
#include "os/sys.h"
#include "sched/carrier.h"
#include "sched/runtime.h"
#include "sched/table.h"
#include "signal/other_process.h"
#include "signal/action.h"
#include "signal/mask.h"
#include "signal/memory.h"
#include "signal/queue.h"
#include "signal/routing.h"
#include "signal/sigwait.h"
#include "thread/lifecycle.h"

/* --- sending -------------------------------------------------------------- */

/* Does weft deliver sig? Not SIGKILL, SIGSTOP, and signals of libc and weft. */
static bool is_ours(int sig)
{
	return sig >= 1 && sig <= 64 && sig != SIGKILL && sig != SIGSTOP &&
	       sig != 32 && sig != 33;
}

static siginfo_t info_of(int sig, int code)
{
	siginfo_t info;

	memset(&info, 0, sizeof(info));
	info.si_signo = sig;
	info.si_code = code;
	info.si_pid = wf_os_getpid();
	info.si_uid = (uid_t)wf_sys(SYS_getuid);
	return info;
}

static int send_info(struct wf_thread *t, const siginfo_t *info)
{
	struct wf_thread *me;
	int err, pid;

	if (info->si_signo == SIGKILL || info->si_signo == SIGSTOP) {
		pid = wf_os_getpid();
		/* A seccomp filter may refuse getpid. kill(-1) would signal
		 * all processes. */
		return pid < 0 ? pid :
				 (int)wf_sys(SYS_kill, pid, info->si_signo);
	}
	me = wf_runtime_enter();
	err = wf_routing_to_thread(me, t, info);
	wf_runtime_leave(me);
	return err;
}

static bool is_native(const struct wf_thread *t)
{
	return !wf_is_started() || t == NULL || t->kind == WF_THREAD_FOREIGN;
}

/* Has t ended, and is not joined? The runtime may have stopped since. */
static bool has_ended(const struct wf_thread *t)
{
	return t != NULL && t->kind != WF_THREAD_FOREIGN &&
	       !wf_thread_exists(t);
}

WF_API(int, pthread_kill, pthread_t thread, int sig)
{
	struct wf_thread *t = wf_thread_of(thread);
	siginfo_t info;
	int err;

	if (is_native(t) && !has_ended(t))
		return wf_real.pthread_kill(thread, sig);
	if (sig < 0 || sig > 64 || sig == 32 || sig == 33)
		return EINVAL;
	info = info_of(sig, SI_TKILL);
	err = sig != 0 && !has_ended(t) ? send_info(t, &info) : 0;
	/* As libc: a signal to a thread that has ended is no error. */
	return err == -ESRCH ? 0 : -err;
}

WF_API(int, pthread_sigqueue, pthread_t thread, int sig,
       const union sigval value)
{
	struct wf_thread *t = wf_thread_of(thread);
	siginfo_t info = info_of(sig, SI_QUEUE);

	if (is_native(t))
		return wf_real.pthread_sigqueue(thread, sig, value);
	if (sig < 0 || sig > 64 || sig == 32 || sig == 33)
		return EINVAL;
	info.si_value = value;
	if (!wf_thread_exists(t))
		return ESRCH;
	return sig != 0 ? -send_info(t, &info) : 0;
}

WF_API(int, raise, int sig)
{
	struct wf_thread *t = wf_thread_self();
	siginfo_t info;

	if (is_native(t))
		return wf_real.raise(sig);
	if (sig < 0 || sig > 64 || sig == 32 || sig == 33)
		return wf_api_errno(-EINVAL);
	info = info_of(sig, SI_TKILL);
	return sig != 0 ? wf_api_errno(send_info(t, &info)) : 0;
}
WF_API_ALIAS(raise, gsignal);

/*
 * Sends to this process by weft if a thread takes the signal now. False: the
 * caller makes the system call, and the signal stays pending in the kernel.
 */
static bool send_to_process(pid_t pid, const siginfo_t *info)
{
	struct wf_thread *me = wf_thread_self();
	bool is_taken;

	if (!wf_is_started() || pid != wf_os_getpid() ||
	    !is_ours(info->si_signo))
		return false;
	wf_runtime_enter();
	is_taken = wf_routing_leave_to_kernel(WF_SIGNAL_BIT(info->si_signo)) ==
		   0;
	if (is_taken)
		wf_routing_to_process(me, info, me);
	wf_runtime_leave(me);
	return is_taken;
}

/* Translates a thread's id to the process's, for calls that accept either. */
static long process_of(long id)
{
	return wf_is_started() && wf_table_by_tid((int32_t)id) != NULL ?
		       wf_os_getpid() :
		       id;
}

/* Has a signal that the caller does not block reached it or its carrier? */
static bool has_come(struct wf_thread *me, int sig)
{
	const struct wf_signal_slot *s = &me->carrier->signal_slot;

	return wf_load_relaxed(&s->nr) != 0 ||
	       (wf_sigqueue_pending(&me->sigqueue) & WF_SIGNAL_BIT(sig)) != 0;
}

/*
 * The caller has sent a signal by the kernel, and it is for the caller. Another
 * kernel thread may have taken it and be about to pass it on. By POSIX the
 * caller handles it before the call returns. So it waits, but for 20 ms at
 * most: the kernel drops a signal if the same one is already pending.
 */
static void await_own(struct wf_thread *me, int sig)
{
	int64_t end_ns = wf_os_now() + 20 * WF_NS_PER_MS;

	if (me->carrier == NULL || (me->sigmask & WF_SIGNAL_BIT(sig)) != 0 ||
	    !wf_routing_prefers(me, sig) || wf_action_ignores(sig) ||
	    wf_action_is_default(sig))
		return;
	while (!has_come(me, sig) && wf_os_now() < end_ns)
		wf_sys(SYS_sched_yield);
	/* The queueing thread may not yet have set this flag. */
	atomic_fetch_or(&me->exit_work, WF_WORK_SIGNAL);
}

/* Sends to the process group `group`, in which this process is. */
static long kill_group(long group, int sig)
{
	struct wf_thread *me;
	long rc;

	if (!wf_is_started() || !is_ours(sig))
		return wf_sys(SYS_kill, group, sig);
	me = wf_runtime_enter();
	wf_routing_leave_to_kernel(WF_SIGNAL_BIT(sig));
	rc = wf_sys(SYS_kill, group, sig);
	if (rc == 0)
		await_own(me, sig);
	wf_runtime_leave(me);
	return rc;
}

static bool is_own_group(long pid)
{
	return pid == 0 || (pid < -1 && -pid == wf_sys(SYS_getpgid, 0));
}

long wf_signal_kill(long pid, long sig)
{
	siginfo_t info;

	if (is_own_group(pid))
		return kill_group(pid, (int)sig);
	if (!wf_is_started())
		return wf_sys(SYS_kill, pid, sig);
	pid = process_of(pid);
	info = info_of((int)sig, SI_USER);
	if (send_to_process((pid_t)pid, &info))
		return 0;
	return wf_sys(SYS_kill, pid, sig);
}

WF_API(int, kill, pid_t pid, int sig)
{
	return wf_api_errno((int)wf_signal_kill(pid, sig));
}

WF_API(int, killpg, pid_t group, int sig)
{
	return group >= 0 ? kill(-group, sig) : wf_api_errno(-EINVAL);
}

/*
 * Does si_code say that the kernel sends it? A thread may do so only to itself.
 */
static bool is_forged(const siginfo_t *info, long id)
{
	return (info->si_code >= 0 || info->si_code == SI_TKILL) &&
	       wf_ids_gettid() != id;
}

long wf_signal_queueinfo(long id, long sig, const siginfo_t *info)
{
	long pid = process_of(id);
	siginfo_t own;

	if (wf_memory_get(&own, info, sizeof(own)) < 0)
		return -EFAULT;
	own.si_signo = (int)sig;
	if (pid == wf_os_getpid() && is_forged(&own, id))
		return -EPERM;
	if (sig >= 1 && sig <= 64 && send_to_process((pid_t)pid, &own))
		return 0;
	return wf_sys(SYS_rt_sigqueueinfo, pid, sig, info);
}

/* Is fd a pidfd of this process, made without PIDFD_THREAD? */
static bool is_own_pidfd(int fd)
{
	char name[40], own[24], text[512];
	const char *flags;
	long about, n;

	wf_format(name, sizeof(name), "/proc/self/fdinfo/%d", fd);
	wf_format(own, sizeof(own), "\nPid:\t%d\n", wf_os_getpid());
	about = wf_sys(SYS_openat, AT_FDCWD, name, O_RDONLY | O_CLOEXEC);
	if (about < 0)
		return false;
	n = wf_sys(SYS_read, about, text, sizeof(text) - 1);
	wf_sys(SYS_close, about);
	text[n > 0 ? n : 0] = '\0';
	flags = strstr(text, "flags:\t");
	return flags != NULL && strstr(text, own) != NULL &&
	       (strtoul(flags + sizeof("flags:"), NULL, 8) & O_EXCL) == 0;
}

long wf_signal_pidfd(const long *a)
{
	const siginfo_t *info = (const siginfo_t *)a[2];
	pid_t pid = wf_os_getpid();
	siginfo_t own;

	if (!wf_is_started() || a[3] != 0 || !is_own_pidfd((int)a[0]))
		return wf_sys(SYS_pidfd_send_signal, a[0], a[1], a[2], a[3]);
	if (info == NULL)
		return wf_signal_kill(pid, a[1]);
	if (wf_memory_get(&own, info, sizeof(own)) < 0)
		return -EFAULT;
	if (own.si_signo != a[1])
		return -EINVAL;
	return wf_signal_queueinfo(pid, a[1], info);
}

WF_API(int, pidfd_send_signal, int fd, int sig, siginfo_t *info,
       unsigned int flags)
{
	return wf_api_errno((int)wf_signal_pidfd(
		(const long[]){ fd, sig, (long)info, flags }));
}

long wf_signal_tgqueueinfo(long pid, long tid, long sig, const siginfo_t *info)
{
	struct wf_thread *t = NULL;
	siginfo_t own;

	if (pid == wf_os_getpid())
		t = wf_table_by_tid((int32_t)tid);
	if (is_native(t) || sig == 32 || sig == 33)
		return wf_sys(SYS_rt_tgsigqueueinfo, pid, tid, sig, info);
	if (sig < 0 || sig > 64)
		return -EINVAL;
	if (wf_memory_get(&own, info, sizeof(own)) < 0)
		return -EFAULT;
	if (is_forged(&own, tid))
		return -EPERM;
	own.si_signo = (int)sig;
	return sig != 0 ? send_info(t, &own) : 0;
}

WF_API(int, sigqueue, pid_t pid, int sig, const union sigval value)
{
	siginfo_t info = info_of(sig, SI_QUEUE);

	info.si_value = value;
	pid = (pid_t)process_of(pid);
	if (send_to_process(pid, &info))
		return 0;
	return wf_api_errno((int)wf_sys(SYS_rt_sigqueueinfo, pid, sig, &info));
}

long wf_signal_tgkill(long pid, long tid, long sig)
{
	struct wf_thread *t = NULL;
	siginfo_t info;

	if (wf_is_started() && pid == wf_os_getpid())
		t = wf_table_by_tid((int32_t)tid);
	if (is_native(t) && wf_other_process_is_id(tid) &&
	    pid != wf_os_getpid())
		return wf_other_process_send(pid, tid, sig);
	if (is_native(t) || sig == 32 || sig == 33)
		return wf_sys(SYS_tgkill, pid, tid, sig);
	if (sig < 0 || sig > 64)
		return -EINVAL;
	info = info_of((int)sig, SI_TKILL);
	if (has_ended(t))
		return -ESRCH;
	return sig != 0 ? send_info(t, &info) : 0;
}

long wf_signal_tkill(long tid, long sig)
{
	/* A debugger stops threads of another process by this call. */
	if (!wf_is_started() || wf_table_by_tid((int32_t)tid) == NULL)
		return wf_sys(SYS_tkill, tid, sig);
	return wf_signal_tgkill(wf_os_getpid(), tid, sig);
}

WF_API(int, tgkill, pid_t pid, pid_t tid, int sig)
{
	return wf_api_errno((int)wf_signal_tgkill(pid, tid, sig));
}

/* --- waiting -------------------------------------------------------------- */

/* The first word of a set: all that the kernel has. */
static const uint64_t *word_of(const sigset_t *set)
{
	return (const uint64_t *)set;
}

WF_API(int, sigpending, sigset_t *ret_set)
{
	uint64_t pending = wf_mask_pending();

	return wf_api_errno(wf_memory_put(ret_set, &pending, sizeof(pending)));
}

WF_API(int, sigtimedwait, const sigset_t *set, siginfo_t *ret_info,
       const struct timespec *timeout)
{
	siginfo_t info;
	int rc = WF_CANCEL_POINT(
		(int)wf_signal_timedwait(word_of(set), &info, timeout));

	/* libc reports such a signal in the same way. */
	if (rc > 0 && info.si_code == SI_TKILL)
		info.si_code = SI_USER;
	if (rc > 0 && ret_info != NULL &&
	    wf_memory_put(ret_info, &info, sizeof(info)) < 0)
		rc = -EFAULT;
	return wf_api_errno(rc);
}

WF_API(int, sigwaitinfo, const sigset_t *set, siginfo_t *ret_info)
{
	return sigtimedwait(set, ret_info, NULL);
}

WF_API(int, sigwait, const sigset_t *set, int *ret_sig)
{
	siginfo_t info;
	int rc;

	do {
		rc = WF_CANCEL_POINT(
			(int)wf_signal_timedwait(word_of(set), &info, NULL));
	} while (rc == -EINTR);
	if (rc < 0)
		return -rc;
	*ret_sig = rc;
	return 0;
}

static int suspend(uint64_t mask)
{
	return wf_api_errno(WF_CANCEL_POINT(wf_signal_suspend(mask)));
}

WF_API(int, sigsuspend, const sigset_t *mask)
{
	uint64_t bits;

	if (wf_memory_get(&bits, mask, sizeof(bits)) < 0)
		return wf_api_errno(-EFAULT);
	return suspend(bits);
}
WF_API_ALIAS(sigsuspend, __sigsuspend);

WF_API(int, pause, void)
{
	return wf_api_errno(WF_CANCEL_POINT(wf_signal_pause()));
}

static int suspend_without(int sig)
{
	uint64_t mask, none = 0;

	if (sig < 1 || sig > 64)
		return wf_api_errno(-EINVAL);
	wf_mask_change(SIG_BLOCK, &none, &mask);
	return suspend(mask & ~WF_SIGNAL_BIT(sig));
}

/* X/Open's sigpause(): waits with the mask without one signal. */
WF_API(int, __xpg_sigpause, int sig)
{
	return suspend_without(sig);
}

/* BSD's sigpause(): waits with a mask; arg is its first 32 bits. */
WF_API(int, __sigpause, int arg, int is_signal)
{
	if (is_signal)
		return suspend_without(arg);
	return suspend((unsigned int)arg);
}

/* BSD's sigpause() as well. libc's header makes the name sigpause X/Open's. */
WF_EXPORT int pause_of_old_programs(int mask) __asm__("sigpause");
int pause_of_old_programs(int mask)
{
	return suspend((unsigned int)mask);
}

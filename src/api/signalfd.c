/* SPDX-License-Identifier: MIT */
/*
 * signalfd. A read from a signalfd has to return the signals to the reading
 * thread, too, and these are in weft's queues. So weft remembers the numbers of
 * the last 64 signalfds. A read takes the signals in weft's queues first, then
 * calls the kernel. Each read checks that the number is still a signalfd, since
 * libc may close descriptors inside.
 */
#include <errno.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "api/api.h"
#include "api/cancel.h"
#include "api/signalfd.h"
#include "base/log.h"
#include "io/io.h"
#include "libc/real.h"
#include "os/sys.h"
#include "sched/runtime.h"
#include "signal/memory.h"
#include "signal/routing.h"
#include "signal/signalfd.h"

enum { MAX_KNOWN = 64 };

/* The last signalfds made. A reader takes no lock; is_signalfd() verifies. */
static struct {
	_Atomic int fd;
	_Atomic uint64_t mask;
} known[MAX_KNOWN];

_Atomic uint32_t wf_signalfd_nr; /* numbers remembered so far, in all */

static void remember(int fd, uint64_t mask)
{
	uint32_t i;

	for (i = 0; i < wf_load_relaxed(&wf_signalfd_nr) && i < MAX_KNOWN; i++)
		if (wf_load_relaxed(&known[i].fd) == fd) {
			wf_store_relaxed(&known[i].mask, mask);
			return;
		}
	i = atomic_fetch_add(&wf_signalfd_nr, 1) % MAX_KNOWN;
	wf_store_relaxed(&known[i].mask, mask);
	wf_store_release(&known[i].fd, fd);
}

static bool is_signalfd(int fd)
{
	static const char wanted[] = "anon_inode:[signalfd]";
	char path[32], target[sizeof(wanted)];

	wf_format(path, sizeof(path), "/proc/self/fd/%d", fd);
	return wf_sys(SYS_readlinkat, -100, path, target, sizeof(target)) ==
		       (long)sizeof(wanted) - 1 &&
	       memcmp(target, wanted, sizeof(wanted) - 1) == 0;
}

WF_NOINLINE bool wf_signalfd_find(int fd, uint64_t *ret_mask)
{
	const struct wf_thread *t = wf_self;

	if (t == NULL || t->carrier == NULL)
		return false;
	for (uint32_t i = 0; i < MAX_KNOWN; i++) {
		if (wf_load_acquire(&known[i].fd) != fd)
			continue;
		*ret_mask = wf_load_relaxed(&known[i].mask);
		return *ret_mask != 0 && is_signalfd(fd);
	}
	return false;
}

/*
 * From now on a signal of `mask` that no thread takes stays pending in the
 * kernel, so that poll reports the signalfd as readable.
 */
static void show(uint64_t mask)
{
	struct wf_thread *me = wf_runtime_enter();

	atomic_fetch_or(&wf_routing_shown, mask);
	if (wf_is_started())
		wf_routing_leave_shown(mask);
	wf_runtime_leave(me);
}

WF_API(int, signalfd, int fd, const sigset_t *mask, int flags)
{
	int made = wf_api_errno(
		(int)wf_sys(SYS_signalfd4, fd, mask, sizeof(uint64_t), flags));
	uint64_t bits;

	if (made >= 0) {
		memcpy(&bits, mask, sizeof(bits));
		remember(made, bits);
		show(bits);
	}
	return made;
}

/* The kind of the fields in the rest of a siginfo_t, by the kernel's rules. */
enum subject { SENDER, VALUE, TIMER, CHILD, DESCRIPTOR, FAULT, CALL };

static enum subject subject_of(int sig, int code)
{
	if (code == SI_TIMER)
		return TIMER;
	if (code == SI_SIGIO)
		return DESCRIPTOR;
	if (code < 0)
		return VALUE;
	if (code == SI_USER || code >= SI_KERNEL)
		return SENDER;
	switch (sig) {
	case SIGILL:
	case SIGFPE:
	case SIGSEGV:
	case SIGBUS:
	case SIGTRAP:
		return FAULT;
	case SIGSYS:
		return CALL;
	case SIGCHLD:
		return code <= CLD_CONTINUED ? CHILD : SENDER;
	default: /* F_SETSIG may replace SIGIO by any signal */
		return code <= POLL_HUP ? DESCRIPTOR : SENDER;
	}
}

static struct signalfd_siginfo record_of(const siginfo_t *info)
{
	enum subject subject = subject_of(info->si_signo, info->si_code);
	struct signalfd_siginfo r;

	memset(&r, 0, sizeof(r));
	r.ssi_signo = (uint32_t)info->si_signo;
	r.ssi_errno = info->si_errno;
	r.ssi_code = info->si_code;
	if (subject <= CHILD && subject != TIMER) {
		r.ssi_pid = (uint32_t)info->si_pid;
		r.ssi_uid = info->si_uid;
	}
	if (subject == VALUE || subject == TIMER) {
		r.ssi_ptr = (uintptr_t)info->si_ptr;
		r.ssi_int = info->si_int;
	}
	switch (subject) {
	case TIMER:
		r.ssi_tid = (uint32_t)info->si_timerid;
		r.ssi_overrun = (uint32_t)info->si_overrun;
		break;
	case CHILD:
		r.ssi_status = info->si_status;
		r.ssi_utime = (uint64_t)info->si_utime;
		r.ssi_stime = (uint64_t)info->si_stime;
		break;
	case DESCRIPTOR:
		r.ssi_band = (uint32_t)info->si_band;
		r.ssi_fd = info->si_fd;
		break;
	case FAULT:
		r.ssi_addr = (uintptr_t)info->si_addr;
		if (info->si_signo == SIGBUS &&
		    (info->si_code == BUS_MCEERR_AR ||
		     info->si_code == BUS_MCEERR_AO))
			r.ssi_addr_lsb = (uint16_t)info->si_addr_lsb;
		break;
	case CALL:
		r.ssi_call_addr = (uintptr_t)info->si_call_addr;
		r.ssi_syscall = info->si_syscall;
		r.ssi_arch = info->si_arch;
		break;
	case SENDER:
	case VALUE:
		break;
	}
	return r;
}

/*
 * Writes a record for each signal of the set in weft's queues, while there is
 * room.
 */
static ssize_t read_held(uint64_t set, char *buf, size_t bytes)
{
	size_t at = 0;
	siginfo_t info;

	while (bytes - at >= sizeof(struct signalfd_siginfo) &&
	       wf_signalfd_take(set, &info)) {
		struct signalfd_siginfo r = record_of(&info);

		if (wf_memory_put(buf + at, &r, sizeof(r)) < 0)
			return at > 0 ? (ssize_t)at : -EFAULT;
		at += sizeof(r);
	}
	return (ssize_t)at;
}

static long read_kernel(int fd, void *buf, size_t bytes)
{
	long n = wf_io_can_park() ? wf_io_read(fd, buf, bytes) : -ENOSYS;

	if (n == -ENOSYS) {
		n = wf_real.read(fd, buf, bytes);
		n = n < 0 ? -errno : n;
	}
	return n;
}

static long read_any(int fd, uint64_t mask, void *buf, size_t bytes)
{
	for (;;) {
		uint64_t set = wf_signalfd_set(mask);
		long n;

		wf_signalfd_begin(set);
		n = read_held(set, buf, bytes);
		if (n == 0) {
			wf_signalfd_before_wait();
			n = read_kernel(fd, buf, bytes);
		}
		if (!wf_signalfd_end(set) || n != -EINTR)
			return n;
	}
}

WF_NOINLINE ssize_t wf_signalfd_read(int fd, uint64_t mask, void *buf,
				     size_t bytes)
{
	if (bytes < sizeof(struct signalfd_siginfo))
		return wf_api_result(-EINVAL);
	return wf_api_result(WF_CANCEL_POINT(read_any(fd, mask, buf, bytes)));
}

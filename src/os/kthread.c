/* SPDX-License-Identifier: MIT */
/*
 * Makes kernel threads by clone with the flags of pthread_create, and reads the
 * state of kernel threads from /proc. Also the slow halves of spin locks and of
 * wf_log's abort, which need system calls.
 */
#include "os/kthread.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/log.h"
#include "base/spin.h"
#include "os/clock.h"
#include "os/sys.h"

_Atomic uint32_t wf_os_execs;

/*
 * The kernel makes no kernel thread that shares the root with a thread in exec.
 * An exec takes long if other processes have the CPUs or the program is read
 * from a disk. So this tries again for up to 2 s.
 */
static int retry_clone(unsigned long flags, void *stack_top, uintptr_t tp,
		       void (*fn)(void *), void *arg, _Atomic uint32_t *clear)
{
	const struct timespec nap = { .tv_nsec = 100 * WF_NS_PER_US };
	const int64_t most_ns = 2 * WF_NS_PER_S;
	int64_t begin_ns = 0;

	for (;;) {
		bool is_exec = atomic_load(&wf_os_execs) != 0;
		int tid = (int)wf_arch_clone(flags, stack_top, tp, fn, arg,
					     clear);

		is_exec = is_exec || atomic_load(&wf_os_execs) != 0;
		if (tid != -EAGAIN || !is_exec)
			return tid;
		if (begin_ns == 0)
			begin_ns = wf_os_now();
		if (wf_os_now() - begin_ns > most_ns)
			return tid;
		wf_sys(SYS_nanosleep, &nap, NULL);
	}
}

int wf_os_kthread_start(void (*fn)(void *), void *arg, void *stack_top,
			uintptr_t tp, _Atomic uint32_t *clear)
{
	/*
	 * The flags of pthread_create: seccomp filters as QEMU's refuse others.
	 */
	unsigned long flags = CLONE_VM | CLONE_FS | CLONE_FILES |
			      CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
			      CLONE_SETTLS | CLONE_PARENT_SETTID |
			      CLONE_CHILD_CLEARTID;

	return retry_clone(flags, stack_top, tp, fn, arg, clear);
}

/*
 * The kernel removes an ended thread's id first and the rest of its state just
 * after that, both under one lock. waitid takes that lock, so it returns when
 * the rest is removed.
 */
static void await_rest(void)
{
	wf_sys(SYS_waitid, P_PID, wf_os_getpid(), NULL,
	       WEXITED | WNOHANG | WNOWAIT, NULL);
}

bool wf_os_kthread_await_end(int tid, void (*wake)(void))
{
	enum { YIELDS = 20, MOST_NAPS = 50 * 1000 };
	const struct timespec nap = { 0, 100 * WF_NS_PER_US };

	for (int i = 0; i < YIELDS + MOST_NAPS; i++) {
		if (wf_os_tgkill(tid, 0) == -ESRCH) {
			await_rest();
			return true;
		}
		if (wake != NULL)
			wake();
		if (i < YIELDS)
			wf_sys(SYS_sched_yield);
		else
			wf_sys(SYS_nanosleep, &nap, NULL);
	}
	return false;
}

int wf_os_process_start(void (*fn)(void *), void *arg, void *stack_top,
			uintptr_t tp)
{
	/* The flags name no signal for the process's exit. */
	unsigned long flags = CLONE_VM | CLONE_FS | CLONE_FILES |
			      CLONE_SYSVSEM | CLONE_SETTLS;

	return retry_clone(flags, stack_top, tp, fn, arg, NULL);
}

void wf_os_set_signal_mask(uint64_t mask)
{
	wf_sys(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, 8);
}

uint64_t wf_os_get_signal_mask(void)
{
	uint64_t mask = 0;

	wf_sys(SYS_rt_sigprocmask, SIG_SETMASK, NULL, &mask, 8);
	return mask;
}

uint64_t wf_os_close_signals(void)
{
	uint64_t all = UINT64_MAX, mask = 0;

	wf_sys(SYS_rt_sigprocmask, SIG_SETMASK, &all, &mask, 8);
	return mask;
}

int wf_os_tgkill(int tid, int sig)
{
	return (int)wf_sys(SYS_tgkill, wf_os_getpid(), tid, sig);
}

void wf_os_signal_self(int tid, int sig)
{
	siginfo_t info;

	if (wf_os_tgkill(tid, sig) == 0)
		return;
	/* If the queue of signals is full, the kernel drops a real-time signal.
	 * If the signal seems to come by kill(), it notes at least that one
	 * came. */
	memset(&info, 0, sizeof(info));
	info.si_signo = sig;
	info.si_code = SI_USER;
	wf_sys(SYS_rt_tgsigqueueinfo, wf_os_getpid(), tid, sig, &info);
}

int wf_os_proc_open(void)
{
	return (int)wf_sys(SYS_openat, AT_FDCWD, "/proc/self/task",
			   O_PATH | O_DIRECTORY | O_CLOEXEC);
}

int wf_os_proc_open_of(int pid)
{
	char path[32];

	wf_format(path, sizeof(path), "/proc/%d/task", pid);
	return (int)wf_sys(SYS_openat, AT_FDCWD, path,
			   O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int open_about(int proc, int tid, const char *what)
{
	char path[48];

	wf_format(path, sizeof(path), "%d/%s", tid, what);
	return (int)wf_sys(SYS_openat, proc, path, O_RDONLY | O_CLOEXEC);
}

/* Reads a file of /proc as a string. False: it is empty or cannot be read. */
static bool read_text(int fd, char *buf, size_t bytes)
{
	long n = wf_sys(SYS_pread64, fd, buf, bytes - 1, 0);

	buf[n > 0 ? n : 0] = '\0';
	return n > 0;
}

static bool read_about(int proc, int tid, const char *what, char *buf,
		       size_t bytes)
{
	int fd = open_about(proc, tid, what);
	bool is_read;

	if (fd < 0)
		return false;
	is_read = read_text(fd, buf, bytes);
	wf_sys(SYS_close, fd);
	return is_read;
}

static uint64_t number_at(const char *p, uint64_t base)
{
	uint64_t n = 0;

	for (; (*p >= '0' && *p <= '9') || (*p >= 'a' && *p <= 'f'); p++)
		n = n * base + (uint64_t)(*p <= '9' ? *p - '0' : *p - 'a' + 10);
	return n;
}

/* The number in the line `name` of the thread's status, 0 if there is none. */
static uint64_t status_of(int proc, int tid, const char *name, uint64_t base)
{
	char buf[4096];
	const char *at;

	if (!read_about(proc, tid, "status", buf, sizeof(buf)))
		return 0;
	at = strstr(buf, name);
	return at != NULL ? number_at(at + strlen(name), base) : 0;
}

uint64_t wf_os_pending_of(int proc, int tid)
{
	return status_of(proc, tid, "\nSigPnd:\t", 16);
}

bool wf_os_thread_has_children(int proc, int tid)
{
	int fd = open_about(proc, tid, "children");
	char buf[2];
	bool has_any;

	if (fd < 0)
		return true;
	has_any = read_text(fd, buf, sizeof(buf));
	wf_sys(SYS_close, fd);
	return has_any;
}

int wf_os_tracer_of(int proc, int tid)
{
	return (int)status_of(proc, tid, "\nTracerPid:\t", 10);
}

uint64_t wf_os_pending_of_thread(void)
{
	int proc = wf_os_proc_open();
	uint64_t pending;

	if (proc < 0)
		return 0;
	pending = wf_os_pending_of(proc, wf_os_gettid());
	wf_sys(SYS_close, proc);
	return pending;
}

void wf_os_thread_name(int proc, int tid, char ret_name[WF_OS_NAME_BYTES])
{
	char buf[WF_OS_NAME_BYTES + 1];

	ret_name[0] = '\0';
	if (read_about(proc, tid, "comm", buf, sizeof(buf))) {
		buf[strlen(buf) - 1] = '\0'; /* the newline */
		strcpy(ret_name, buf);
	}
}

static _Atomic bool names_are_forbidden;

void wf_os_set_thread_name(const char *name)
{
	if (!wf_load_relaxed(&names_are_forbidden))
		wf_sys(SYS_prctl, PR_SET_NAME, name, 0, 0, 0);
}

void wf_os_forbid_thread_names(void)
{
	wf_store_relaxed(&names_are_forbidden, true);
}

int wf_os_thread_stat_open(int proc, int tid)
{
	return open_about(proc, tid, "stat");
}

char wf_os_thread_stat_state(int stat)
{
	char buf[256];
	const char *paren;

	if (!read_text(stat, buf, sizeof(buf)))
		return 'X';
	/* The command's name may hold any bytes, parentheses too. */
	paren = strrchr(buf, ')');
	return paren != NULL && paren[1] == ' ' ? paren[2] : 'X';
}

char wf_os_thread_state(int proc, int tid)
{
	int stat = wf_os_thread_stat_open(proc, tid);
	char state;

	if (stat < 0)
		return 'X';
	state = wf_os_thread_stat_state(stat);
	wf_sys(SYS_close, stat);
	return state;
}

bool wf_os_thread_call(int proc, int tid, long *ret_nr, uintptr_t *ret_pc)
{
	char buf[256];
	const char *pc;

	/*
	 * The file has: number, six arguments, stack pointer, program counter.
	 */
	if (!read_about(proc, tid, "syscall", buf, sizeof(buf)) ||
	    buf[0] < '0' || buf[0] > '9')
		return false;
	*ret_nr = (long)number_at(buf, 10);
	pc = strrchr(buf, 'x');
	*ret_pc = pc != NULL ? number_at(pc + 1, 16) : 0;
	return pc != NULL;
}

uint64_t wf_os_thread_sleeps(int proc, int tid)
{
	return status_of(proc, tid, "\nvoluntary_ctxt_switches:\t", 10);
}

long wf_os_timer_slack(void)
{
	long ns = wf_sys(SYS_prctl, PR_GET_TIMERSLACK, 0, 0, 0, 0);

	return ns > 0 ? ns : 1;
}

void wf_os_set_timer_slack(long ns)
{
	wf_sys(SYS_prctl, PR_SET_TIMERSLACK, ns, 0, 0, 0);
}

long wf_os_involuntary_switches(void)
{
	struct rusage usage;

	if (wf_sys(SYS_getrusage, RUSAGE_THREAD, &usage) < 0)
		return 0;
	return usage.ru_nivcsw;
}

int wf_os_membarrier_register(void)
{
	return (int)wf_sys(SYS_membarrier,
			   MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
}

int wf_os_membarrier(void)
{
	return (int)wf_sys(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0,
			   0);
}

void wf_os_pass_barrier(void)
{
	const struct timespec store_buffers_drain = { .tv_nsec = WF_NS_PER_MS };

	if (wf_os_membarrier() < 0)
		wf_sys(SYS_nanosleep, &store_buffers_drain, NULL);
}

void wf_os_spin_lock_slow(struct wf_spin *s, enum wf_rank rank)
{
	/*
	 * 100 spins take about 1 us; then the holder is likely not running. If
	 * the holder has a lower real-time priority, a yield does not let it
	 * run, so every 32nd time the waiter naps.
	 */
	enum { SPINS_BEFORE_YIELD = 100, YIELDS_BEFORE_NAP = 32 };
	const struct timespec nap = { .tv_nsec = 50 * WF_NS_PER_US };
	int spins = 0, yields = 0;

	while (!wf_spin_take(s, rank)) {
		while (wf_load_relaxed(&s->word) != 0) {
			if (++spins < SPINS_BEFORE_YIELD) {
				wf_cpu_pause();
				continue;
			}
			spins = 0;
			if (++yields % YIELDS_BEFORE_NAP != 0)
				wf_sys(SYS_sched_yield);
			else
				wf_sys(SYS_nanosleep, &nap, NULL);
		}
	}
}

void wf_os_abort(void)
{
	uint64_t open_abrt = ~(1ULL << (SIGABRT - 1));
	struct {
		void *handler;
		unsigned long flags;
		void *restorer;
		uint64_t mask;
	} dfl = { 0 };

	wf_sys(SYS_rt_sigaction, SIGABRT, &dfl, NULL, 8);
	wf_os_set_signal_mask(open_abrt);
	wf_os_tgkill(wf_os_gettid(), SIGABRT);
	for (;;)
		wf_sys(SYS_exit_group, 134);
}

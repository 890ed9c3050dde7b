/* SPDX-License-Identifier: MIT */
/*
 * Starts workers, as kernel threads or processes, and runs their loop: sleep
 * until there is a job, make its call, complete or report it. WORKER-1 to
 * WORKER-8 are in worker.c.
 */
#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "arch/arch.h"
#include "base/log.h"
#include "base/options.h"
#include "base/upcall.h"
#include "io/backend/worker_table.h"
#include "libc/tcb.h"
#include "os/clock.h"
#include "os/futex.h"
#include "os/kthread.h"
#include "os/mem.h"
#include "os/sys.h"
#include "sched/carrier.h"
#include "sched/clone_lock.h"
#include "sched/preempt.h"
#include "sched/service.h"

enum {
	STACK_BYTES = 64 * 1024,
	/* from linux/ioprio.h, which old headers lack */
	IOPRIO_WHO_PROCESS = 1,
	IOPRIO_BY_NICE = 0,
};
#define END_BIT (1ULL << (WF_WORKER_END_SIGNAL - 1))

/* --- serving ------------------------------------------------------------- */

static WF_NORETURN void leave(const struct wf_worker *s)
{
	for (;;)
		wf_sys(s->is_process ? SYS_exit_group : SYS_exit, 0);
}

/* Takes a signal that is left of the last job (WORKER-3). */
static void take_signal(void)
{
	const struct timespec now = { 0, 0 };
	uint64_t end = END_BIT;

	wf_os_set_signal_mask(~WF_PREEMPT_BIT);
	wf_sys(SYS_rt_sigtimedwait, &end, NULL, &now, 8);
	wf_os_set_signal_mask(~(WF_PREEMPT_BIT | END_BIT));
}

/*
 * The program's changes of its limits do not reach an I/O server. Copies the
 * limits that matter to calls on descriptors.
 */
static void follow_limits(const struct wf_worker *s)
{
	static const int limits[] = { RLIMIT_NOFILE, RLIMIT_FSIZE };

	for (size_t i = 0; i < WF_ARRAY_LEN(limits); i++) {
		struct rlimit theirs, own;

		if (wf_sys(SYS_prlimit64, s->main_pid, limits[i], NULL,
			   &theirs) == 0 &&
		    wf_sys(SYS_prlimit64, 0, limits[i], NULL, &own) == 0 &&
		    memcmp(&theirs, &own, sizeof(own)) != 0)
			wf_sys(SYS_prlimit64, 0, limits[i], &theirs, NULL);
	}
}

static bool is_to_go(const struct wf_worker *s)
{
	return (wf_load_relaxed(&s->word) & WF_WORKER_GO) != 0;
}

void wf_worker_check_dismissal(void)
{
	const struct wf_worker *s =
		wf_container_of(wf_self, struct wf_worker, self);

	if (is_to_go(s))
		leave(s);
}

static void serve(struct wf_worker *s)
{
	struct wf_request *r = s->job;
	bool is_asked;
	int result;

	if (s->has_signal)
		take_signal();
	if (s->is_process && wf_worker_call_heeds_limits(r))
		follow_limits(s);
	wf_store_relaxed(&s->has_begun, true);
	do {
		result = wf_worker_call(r);
		is_asked = wf_load_relaxed(&s->is_asked);
	} while (result == -EINTR && !is_asked && !is_to_go(s)); /* WORKER-3 */
	if (result == -EINTR && !is_asked) {
		/* nothing has been done; another worker makes the call */
		wf_store_relaxed(&s->has_begun, false);
		leave(s);
	}
	s->result = result;
	atomic_fetch_and(&s->word, ~WF_WORKER_JOB);
	/*
	 * acq_rel: the result; pairs with wf_worker_finish and wf_worker_check
	 * (WORKER-6).
	 */
	if (atomic_exchange_explicit(&s->status, WF_WORKER_COMPLETE,
				     memory_order_acq_rel) != WF_WORKER_WAIT)
		return;
	if (s->is_process)
		wf_supervisor_notice(s);
	else
		wf_worker_finish(NULL, s);
}

static void name_thread(const struct wf_worker *s)
{
	char name[WF_OS_NAME_BYTES];

	wf_format(name, sizeof(name), "weft-io%u", (unsigned)(s - wf_workers));
	wf_os_set_thread_name(name);
}

void wf_worker_run_jobs(void *arg)
{
	struct wf_worker *s = arg;

	wf_os_set_signal_mask(~(WF_PREEMPT_BIT | END_BIT));
	if (!s->is_process)
		name_thread(s);
	for (;;) {
		/* acquire: the job; pairs with give_job. */
		uint32_t word = wf_load_acquire(&s->word);

		wf_worker_check_dismissal();
		if ((word & WF_WORKER_JOB) != 0)
			serve(s);
		else if (s->is_process)
			wf_supervisor_rest(s);
		else
			wf_os_futex_wait(&s->word, 0, WF_OS_FOREVER);
	}
}

/* --- starting ------------------------------------------------------------ */

static void on_end(int sig)
{
}

/* The handler has no SA_RESTART, so that the signal ends calls. */
void wf_worker_set_action(void)
{
	struct {
		void (*handler)(int);
		unsigned long flags;
		void (*restorer)(void);
		uint64_t mask;
	} action = { on_end, 0x04000000, wf_arch_sigreturn, UINT64_MAX };

	wf_sys(SYS_rt_sigaction, WF_WORKER_END_SIGNAL, &action, NULL, 8);
}

static void start_thread(void *arg)
{
	struct wf_worker *s = arg;

	wf_ranks_carried(0); /* the TLS may be a former worker's */
	wf_os_set_signal_mask(~WF_PREEMPT_BIT);
	s->run(s);
}

/* The kernel kills the I/O server when its parent's kernel thread ends. */
static long die_with_parent(const struct wf_worker *s)
{
	long err = wf_sys(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);

	if (err == 0 && wf_sys(SYS_getppid) != s->main_pid)
		err = -ESRCH;
	return err;
}

void wf_worker_changed(void)
{
	const struct wf_worker *s =
		wf_container_of(wf_self, struct wf_worker, self);

	if (die_with_parent(s) < 0)
		leave(s);
}

/*
 * The server's I/O priority follows its nice value and ignores the program's
 * I/O priority.
 */
static void set_priority(void)
{
	long nice = 20 - wf_sys(SYS_getpriority, PRIO_PROCESS, 0);

	if (wf_options.io_nice == 0)
		return;
	wf_sys(SYS_setpriority, PRIO_PROCESS, 0, nice + wf_options.io_nice);
	wf_sys(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_BY_NICE);
}

/*
 * Registers two words with the kernel. When the process ends, the kernel marks
 * the owner's word and then clears the supervisor's word. So the supervisor
 * wakes and finds the process that has ended.
 */
static long report_end(struct wf_worker *s)
{
	long err;

	s->robust.next = &s->robust_head.list;
	s->robust_head.list.next = &s->robust;
	s->robust_head.offset = (long)(offsetof(struct wf_worker, owner) -
				       offsetof(struct wf_worker, robust));
	s->robust_head.pending = NULL;
	wf_store_relaxed(&s->owner, (uint32_t)wf_os_gettid());
	err = wf_sys(SYS_set_tid_address, wf_supervisor_word());
	return err < 0 ? err :
			 wf_sys(SYS_set_robust_list, &s->robust_head,
				sizeof(s->robust_head));
}

static void start_process(void *arg)
{
	struct wf_worker *s = arg;
	long err = report_end(s);

	if (err == 0)
		err = die_with_parent(s);
	wf_os_set_thread_name("weft-io");
	set_priority();
	wf_store_release(&s->start_word, err < 0 ? (int)err : 1);
	wf_os_futex_wake((_Atomic uint32_t *)&s->start_word, 1);
	if (err < 0)
		leave(s);
	start_thread(s);
}

/*
 * Waits until the process runs: before that, the supervisor would not learn of
 * its end. Returns 0, or -Exxx if the process has ended. A VP waits here, so a
 * process that is stopped before it runs is killed after a second.
 */
static int wait_for_start(struct wf_worker *s, int pid)
{
	const int64_t look_every_ns = 5 * WF_NS_PER_MS;
	int64_t kill_at = wf_os_now() + WF_NS_PER_S;
	int state, left;

	while ((state = wf_load_acquire(&s->start_word)) == 0) {
		int64_t now = wf_os_now();

		if (now >= kill_at)
			wf_sys(SYS_kill, pid, SIGKILL);
		wf_os_futex_wait((_Atomic uint32_t *)&s->start_word, 0,
				 now + look_every_ns);
		if (wf_load_acquire(&s->start_word) == 0 &&
		    wf_sys(SYS_wait4, pid, NULL, WNOHANG | __WCLONE, NULL) !=
			    0) {
			pid = 0;
			state = -EAGAIN;
			break;
		}
	}
	if (state > 0 && (wf_load_acquire(&s->owner) & FUTEX_OWNER_DIED) == 0)
		return 0;
	wf_spin_lock(&s->lock, WF_RANK_WORKER);
	left = wf_load_relaxed(&s->tid);
	wf_store_relaxed(&s->tid, 0);
	wf_spin_unlock(&s->lock);
	/* If tid is 0, the supervisor has already waited for the process. */
	if (left != 0 && pid != 0)
		wf_sys(SYS_wait4, pid, NULL, __WCLONE, NULL);
	return state < 0 ? state : -EAGAIN;
}

/*
 * Makes the worker under the clone lock, as carriers are made: it inherits new
 * credentials or follows their change.
 */
static int clone_locked(struct wf_worker *s, void *stack_top, uintptr_t tp)
{
	int tid;

	wf_store_relaxed(&s->setxid_seen, wf_carrier_setxid_generation);
	if (s->is_process)
		tid = wf_worker_may_be_made() ?
			      wf_os_process_start(start_process, s, stack_top,
						  tp) :
			      -EAGAIN;
	else
		tid = wf_os_kthread_start(start_thread, s, stack_top, tp, NULL);
	if (tid > 0) {
		wf_store_release(&s->tid, tid);
		wf_upcall.service_made(tid);
	}
	return tid;
}

/*
 * Takes the clone lock. Returns false, without the lock, only to the supervisor
 * and only while credentials change. The thread that changes them holds the
 * lock, and may wait for a worker that has ended. Only the supervisor can find
 * that worker (boot/setxid.c, SETXID-3).
 */
static bool lock_clone(void)
{
	if (!wf_supervisor_is_self()) {
		wf_clone_lock();
		return true;
	}
	while (!wf_clone_trylock()) {
		if (wf_load_relaxed(&wf_carrier_setxid_comes))
			return false;
		wf_sys(SYS_sched_yield);
	}
	return true;
}

int wf_worker_clone(struct wf_worker *s)
{
	size_t tls = wf_align_up(wf_tcb_minimal_bytes(), WF_PAGE);
	uintptr_t tp = wf_tcb_minimal_make(s->block, &s->self);
	uint64_t mask;
	int tid;

	if (!lock_clone())
		return -EAGAIN;
	mask = wf_os_close_signals();
	tid = clone_locked(s, s->block + tls + STACK_BYTES, tp);
	wf_os_set_signal_mask(mask);
	wf_clone_unlock();
	return tid;
}

int wf_worker_start(struct wf_worker *s, bool is_process, void (*run)(void *))
{
	size_t tls = wf_align_up(wf_tcb_minimal_bytes(), WF_PAGE);
	int tid;

	if (s->block == NULL)
		s->block = wf_os_reserve(tls + STACK_BYTES);
	if (s->block == NULL)
		return -ENOMEM;
	s->self.kind = WF_THREAD_FOREIGN;
	wf_store_relaxed(&s->self.in_runtime, 1);
	s->run = run;
	s->is_process = is_process;
	s->main_pid = wf_os_getpid();
	wf_store_relaxed(&s->word, 0);
	wf_store_relaxed(&s->owner, 0);
	wf_store_relaxed(&s->start_word, 0);
	memset(s->block, 0, tls);
	tid = is_process ? wf_supervisor_clone(s) : wf_worker_clone(s);
	if (tid < 0)
		return tid;
	return is_process ? wait_for_start(s, tid) : 0;
}

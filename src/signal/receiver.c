/*
 * V1. want is a superset of what some thread does not block or waits for: who
 *     opens a signal adds it before it leaves the runtime, and pokes if a bit
 *     is new. What all threads block stays with the kernel, or is held for
 *     the process (route.c, W3).
 * V2. It blocks everything, the preemption signal too, and takes all by
 *     sigtimedwait: no handler ever runs on it.
 * V3. is_busy is set while it hands on a signal that is nowhere else. Between
 *     the kernel's answer and that nobody can know; who has to, takes what it
 *     asks about out of `armed` first.
 * V4. It says in `armed` what it is about to wait for, passes a fence and
 *     reads want again; who takes a bit out of want passes a fence and reads
 *     `armed`. So no bit that was taken out is waited for unnoticed.
 * V5. The kernel forgets what would stop the process when that is told to go
 *     on. It cannot forget what is taken; but who has taken it is stopped then,
 *     too, by another signal, and sleeps once more than to wait. So it sends
 *     what it took to itself, where it can be forgotten again, and then looks
 *     whether it was stopped since it took it: it has slept though it took what
 *     was there, or twice though it waited once. Who is traced sleeps for the
 *     tracer, and who has to read a page, for that.
 */
#include "signal/receiver.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/atomic.h"
#include "os/clock.h"
#include "os/futex.h"
#include "os/kthread.h"
#include "os/sys.h"
#include "sched/preempt.h"
#include "sched/service.h"
#include "sched/thread.h"
#include "signal/abroad.h"
#include "signal/action.h"
#include "signal/preempt.h"
#include "signal/queue.h"
#include "signal/route.h"
#include "signal/posix_timer.h"

enum { WAITED_FOR = 2, POKE_AGAIN_NS = 10 * 1000 * 1000 };

static _Atomic uint64_t want;	  /* V1 */
static _Atomic uint64_t armed;	  /* V4; receiver */
static _Atomic uint32_t is_busy;  /* V3: 0, 1, or WAITED_FOR: with waiters */
static _Atomic uint32_t nr_turns; /* futex: of the loop in run */
static _Atomic int tid;
static struct wf_thread self;

/* V4 */
static uint64_t arm(void)
{
	uint64_t set, again = wf_load_acquire(&want);

	do {
		set = again;
		wf_store_relaxed(&armed, set);
		wf_fence_seq_cst();
		again = wf_load_acquire(&want);
	} while (again != set);
	atomic_fetch_add(&nr_turns, 1);
	wf_os_futex_wake(&nr_turns, INT_MAX);
	return (set & ~WF_SIGNAL_BIT(32)) | WF_PREEMPT_BIT;
}

/* Weft's own signal. */
static void answer(siginfo_t *info)
{
	const union sigval asked = info->si_value;
	struct wf_thread *t = NULL;
	bool is_from_abroad = false;
	int err = 0;

	if (!wf_posix_timer_target(info, &t)) {
		is_from_abroad = wf_abroad_target(info, &t);
		if (!is_from_abroad && wf_preempt_setxid != NULL)
			wf_preempt_setxid();
	}
	if (t != NULL && info->si_signo != 0)
		err = wf_route_to_thread(&self, t, info, false);
	if (is_from_abroad)
		wf_abroad_answer(asked, t != NULL && err != -ESRCH);
}

struct sleeps {
	long nr, pages;
};

/* Before it took the signal, with the sleep to wait for it; receiver. */
static struct sleeps slept;

static struct sleeps own_sleeps(void)
{
	struct rusage usage = { 0 };

	wf_sys(SYS_getrusage, RUSAGE_THREAD, &usage);
	return (struct sleeps){ usage.ru_nvcsw, usage.ru_majflt };
}

static bool is_traced(void)
{
	int proc = wf_os_proc_open();
	bool is = false;

	if (proc >= 0) {
		is = wf_os_tracer_of(proc, wf_os_gettid()) != 0;
		wf_sys(SYS_close, proc);
	}
	return is;
}

/* V5 */
static bool was_stopped(void)
{
	struct sleeps now;

	if (wf_self != &self)
		return false;
	now = own_sleeps();
	return now.nr > slept.nr && now.pages == slept.pages && !is_traced();
}

static void hand_on(const siginfo_t *info)
{
	atomic_exchange(&is_busy, 1); /* V3 */
	wf_route_to_process(&self, info, NULL);
	if (atomic_exchange(&is_busy, 0) == WAITED_FOR)
		wf_os_futex_wake(&is_busy, INT_MAX);
}

static long take(const uint64_t *set, siginfo_t *ret_info)
{
	const struct timespec now = { 0, 0 };
	long sig;

	slept = own_sleeps();
	sig = wf_sys(SYS_rt_sigtimedwait, set, ret_info, &now, 8);
	if (sig != -EAGAIN)
		return sig;
	slept.nr++;
	return wf_sys(SYS_rt_sigtimedwait, set, ret_info, NULL, 8);
}

static void run(void *arg)
{
	wf_os_set_signal_mask(UINT64_MAX); /* V2 */
	wf_action_is_late = was_stopped;
	for (;;) {
		uint64_t set = arm();
		siginfo_t info;
		long sig = take(&set, &info);

		if (sig == WF_PREEMPT_SIGNAL)
			answer(&info);
		else if (sig > 0)
			hand_on(&info);
	}
}

/* It has its name from birth: who knows a thread's id may look for it. */
int wf_receiver_start(void)
{
	char name[16] = "";
	int err;

	wf_sys(SYS_prctl, PR_GET_NAME, name);
	wf_sys(SYS_prctl, PR_SET_NAME, WF_ABROAD_RECEIVER);
	err = wf_service_start(run, &self, &tid);
	wf_sys(SYS_prctl, PR_SET_NAME, name);
	return err;
}

void wf_receiver_want(uint64_t set)
{
	if ((set & ~wf_load_relaxed(&want)) == 0)
		return;
	if ((set & ~atomic_fetch_or(&want, set)) != 0)
		wf_os_tgkill(wf_load_relaxed(&tid), WF_PREEMPT_SIGNAL);
}

uint64_t wf_receiver_takes(void)
{
	return wf_load_relaxed(&armed) | wf_load_relaxed(&want);
}

uint64_t wf_receiver_unwanted(uint64_t set)
{
	return set & ~wf_load_relaxed(&want);
}

void wf_receiver_shrink(uint64_t set)
{
	atomic_fetch_and(&want, ~set);
}

void wf_receiver_leave_to_kernel(uint64_t set)
{
	wf_receiver_shrink(set);
	wf_fence_seq_cst(); /* V4 */
	for (;;) {
		uint32_t turn = wf_load_acquire(&nr_turns);
		/* Whoever wants one again takes it, or leaves it to others. */
		uint64_t left = set & wf_load_relaxed(&armed) &
				~wf_load_relaxed(&want);

		if (left == 0 ||
		    wf_os_tgkill(wf_load_relaxed(&tid), WF_PREEMPT_SIGNAL) < 0)
			return;
		wf_os_futex_wait(&nr_turns, turn, wf_os_now() + POKE_AGAIN_NS);
	}
}

void wf_receiver_settle(void)
{
	uint32_t busy = wf_load_acquire(&is_busy);

	while (busy != 0) {
		if (busy == WAITED_FOR ||
		    wf_cas_acq_rel(&is_busy, &busy, WAITED_FOR))
			wf_os_futex_wait(&is_busy, WAITED_FOR, WF_OS_FOREVER);
		busy = wf_load_acquire(&is_busy);
	}
}

int wf_receiver_tid(void)
{
	return wf_load_relaxed(&tid);
}

void wf_receiver_fork_child(void)
{
	wf_store_relaxed(&tid, 0);
	wf_store_relaxed(&want, 0);
	wf_store_relaxed(&armed, 0);
	wf_store_relaxed(&is_busy, 0);
}

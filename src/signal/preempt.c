/* SPDX-License-Identifier: MIT */
/*
 * Preempts the thread that runs on a carrier. The monitor, or the carrier's CPU
 * timer, sends WF_PREEMPT_SIGNAL to the carrier. The handler saves the
 * interrupted frame and switches to the next thread; the preempted thread later
 * resumes from the saved frame. The same signal serves as the kick and for
 * broadcasts to all kernel threads. This file also holds preemption signals
 * back while a thread executes a program.
 *
 * PREEMPT-1. The handler preempts a thread only in code that is neither weft's,
 *     libc's nor ld.so's, and not on the carrier's stacks. So no thread loses
 *     its VP inside malloc, stdio or the loader. A string function of libc
 *     counts as its caller's code, since most long stays in libc are in string
 *     functions. weft's fast paths count as the program's code
 *     (WF_PREEMPTIBLE): a thread that tries a lock again and again spends
 *     nearly all its time in them.
 * PREEMPT-2. A refusal leaves exit_work set. The next exit of the runtime obeys
 *     it, and so does a call that has not waited. Outside of the runtime the
 *     monitor soon asks again. A thread that is still in libc after half a tick
 *     is preempted there. If it holds a lock of libc, the threads that want the
 *     lock sleep in the kernel, as natively, and lose their VPs meanwhile.
 * PREEMPT-3. All signals are blocked in the handler. After a switch out of the
 *     handler the carrier's mask is marked unknown, so the incoming thread sets
 *     it.
 * PREEMPT-4. A signal that is pending for a thread that executes a program
 *     would reach that program. So from before an exec until it has failed no
 *     thread is signalled or preempted. The thread that executes waits for
 *     signals that are on their way. A sender counts itself in, checks for an
 *     exec, sends, and counts itself out. The executing thread announces the
 *     exec, then waits until no sender is counted. Signals sent before arrive
 *     on its return from a system call. When no thread executes any more, a
 *     signal is sent to each carrier in place of those that were not sent. The
 *     kernel discards the signals of timers at exec. I/O servers are not
 *     counted: they have ended before the program is replaced.
 * PREEMPT-5. A thread that broadcasts and a thread that executes both announce
 *     it, then check for the other. A thread that finds the other takes back
 *     its announcement, and waits outside of the runtime: the other may need
 *     its VP to finish. (A handler may run there and broadcast or execute, in
 *     the middle of an exec, too: REPLACING-2 in boot/replacing.c.)
 * PREEMPT-6. In libc's fork, which waits for locks of other threads, this is
 *     the one signal that is open. A thread that changes credentials waits for
 *     all kernel threads, and lets no thread run meanwhile. All other work has
 *     to wait until the fork is over, since the child begins where the parent's
 *     thread was.
 *
 * Rejected: to take the VP from a thread that is in libc for long. Its carrier
 * runs on beside the VP's new carrier, on the same CPUs. With a few such
 * threads, each thread that waits to run also waits for theirs.
 */
#include "signal/preempt.h"

#include <signal.h>
#include <string.h>
#include <time.h>

#include "arch/arch.h"
#include "base/options.h"
#include "base/upcall.h"
#include "libc/text.h"
#include "os/clock.h"
#include "os/fallback.h"
#include "os/kthread.h"
#include "os/sys.h"
#include "sched/carrier.h"
#include "sched/preempt.h"
#include "sched/queue.h"
#include "sched/ready.h"
#include "sched/realtime.h"
#include "sched/reserved.h"
#include "sched/runtime.h"
#include "sched/switch.h"
#include "sched/vp_io.h"
#include "signal/dump_signal.h"
#include "signal/signal_entry.h"
#include "signal/frame.h"
#include "wait/sleep.h"

/* the process to which preemption signals are sent */
static int main_pid;
/*
 * Threads that are sending a preemption signal now. An exec waits until there
 * are none. A sender counts itself here, and then checks wf_os_execs. PREEMPT-4
 */
static _Atomic uint32_t nr_senders;
/*
 * Broadcasts that have begun, and threads that wait to broadcast or to execute
 * until another thread has done so. PREEMPT-5
 */
static _Atomic uint32_t nr_broadcasts, nr_kept_back;

static bool is_on_altstack(const struct wf_carrier *c, uintptr_t sp)
{
	uintptr_t low = (uintptr_t)c->altstack;

	return sp >= low && sp < low + c->altstack_bytes;
}

/*
 * Returns the kind of code that was interrupted. A string function counts as
 * its caller: it pushes nothing, so its caller's address is at sp.
 */
static enum wf_text text_at(uintptr_t pc, uintptr_t sp)
{
	enum wf_text text = wf_text_of(pc);

	if (text == WF_TEXT_LEAF)
		text = wf_text_of(*(const uintptr_t *)sp);
	return text;
}

/* True if the interrupted code may be preempted. PREEMPT-1 */
static bool may_preempt(struct wf_thread *t, struct wf_carrier *c,
			const ucontext_t *uc)
{
	uintptr_t pc = (uintptr_t)uc->uc_mcontext.gregs[REG_RIP];
	uintptr_t sp = (uintptr_t)uc->uc_mcontext.gregs[REG_RSP];

	if (wf_load_relaxed(&t->in_runtime) != 0) {
		wf_count(refusals_runtime);
		return false;
	}
	switch (text_at(pc, sp)) {
	case WF_TEXT_WEFT:
		wf_count(refusals_runtime);
		wf_store_relaxed(&c->has_refused, true);
		return false;
	case WF_TEXT_LIBC:
	case WF_TEXT_LEAF:
		if (wf_load_relaxed(&c->insist))
			break; /* PREEMPT-2: after half a tick */
		wf_count(refusals_libc);
		wf_store_relaxed(&c->has_refused, true);
		return false;
	default:
		break;
	}
	if (is_on_altstack(c, sp) || !wf_frame_may_save(t, uc)) {
		wf_count(refusals_stack);
		return false;
	}
	return true;
}

/*
 * Called when the CPU timer has expired. If the VP has made no switch since the
 * last expiry, t is CPU-bound and has to yield.
 */
static void charge_by_timer(struct wf_thread *t, struct wf_vp *vp)
{
	uint64_t now = wf_load_relaxed(&vp->counters.switches);

	if (vp->timer_switches == now && t->rt_priority == 0 &&
	    (wf_realtime_waits(1) ||
	     wf_queue_nr_interactive(vp) + wf_queue_nr_batch(vp) > 0)) {
		wf_thread_set_cpu_bound(t);
		wf_vp_ask(vp, WF_RESCHED_SLICE, now);
	}
	vp->timer_switches = now;
}

static void preempt(struct wf_thread *t, const ucontext_t *uc)
{
	struct wf_vp *vp = t->vp;
	enum wf_resched why = wf_vp_asked(vp);
	struct wf_thread *next;

	if (why == WF_RESCHED_NONE)
		return;
	next = wf_switch_next(t, why);
	if (wf_switch_stays(vp, next))
		return;
	wf_count_own(&vp->counters, preemptions);
	wf_frame_save(t, uc);
	/* PREEMPT-3: the next thread sets it */
	t->carrier->kernel_mask = WF_MASK_UNKNOWN;
	wf_switch_abandon(t, next, wf_switch_requeue(why), t);
}

/*
 * Moves t to the carrier that is reserved for it, and does not return; returns
 * if there is none.
 */
static void go_to_reserved(struct wf_thread *t, const ucontext_t *uc)
{
	wf_post_fn *post = wf_reserved_go_begin(t);

	if (post == NULL)
		return;
	wf_frame_save(t, uc);
	/* PREEMPT-3: the next thread sets it */
	t->carrier->kernel_mask = WF_MASK_UNKNOWN;
	wf_switch_abandon(t, NULL, post, t);
}

/*
 * Does the signal's work other than preemption. Returns true if t may be
 * preempted.
 */
static bool handle_other_uses(struct wf_thread *t, struct wf_carrier *c,
			      ucontext_t *ucontext)
{
	if (t == &c->idle_self)
		return false;
	/* PREEMPT-4. takes_signal: t has sent the signal to itself, to leave
	 *     the runtime. */
	if (wf_load_relaxed(&wf_os_execs) != 0 && !t->takes_signal)
		return false;
	if (wf_load_relaxed(&c->is_forking)) {
		/* PREEMPT-6: after the fork */
		wf_store_relaxed(&c->is_kicked, true);
		return false;
	}
	wf_signal_entry_kick(t, ucontext);
	if (wf_load_relaxed(&t->in_runtime) == 0)
		wf_signal_entry_restart_call(ucontext);
	if (t->kind != WF_THREAD_MULTIPLEXED)
		return false;
	/* The debug option preempts every thread that the signal finds. */
	if (wf_options.preempt_every != 0 && t->vp != NULL)
		wf_vp_ask(t->vp, WF_RESCHED_SLICE,
			  wf_load_relaxed(&t->vp->counters.switches));
	if (may_preempt(t, c, ucontext))
		return true;
	/* PREEMPT-2: at the next exit */
	atomic_fetch_or(&t->exit_work, WF_WORK_RESCHED);
	return false;
}

/*
 * Called when t has lost its VP: t queues for another one. Returns only if t is
 * bound to this kernel thread now.
 */
static void go_on_without_vp(struct wf_thread *t, const ucontext_t *ucontext)
{
	if (wf_carrier_bind_without_vp(t))
		return;
	wf_frame_save(t, ucontext);
	/* PREEMPT-3: the next thread sets it */
	t->carrier->kernel_mask = WF_MASK_UNKNOWN;
	wf_switch_abandon(t, NULL, wf_runtime_reacquire_begin(t), t);
}

static void handle_with_vp(struct wf_thread *t, bool is_by_timer,
			   const ucontext_t *ucontext)
{
	if ((wf_load_relaxed(&t->exit_work) & WF_WORK_BIND) != 0)
		go_to_reserved(t, ucontext);
	if (is_by_timer)
		charge_by_timer(t, t->vp);
	preempt(t, ucontext);
}

static void handle(int sig, siginfo_t *info, void *ucontext)
{
	struct wf_thread *t = wf_self;
	struct wf_carrier *c = t != NULL ? t->carrier : NULL;
	bool is_notified, may, has_vp = false;

	wf_cpu_enter_handler();
	wf_upcall.setxid();
	if (c == NULL || !wf_is_started())
		return;
	wf_store_relaxed(&c->is_signalled, false);
	wf_dump_pause_here(ucontext, t != &c->idle_self);
	/* seq_cst: clears the flag before the check for reports (SUPERVISOR-5
	 * in io/backend/supervisor.c). */
	is_notified = wf_load_relaxed(&c->is_notified) &&
		      atomic_exchange(&c->is_notified, false);
	may = handle_other_uses(t, c, ucontext);
	if (may) {
		wf_store_relaxed(&t->in_runtime, 1);
		wf_compiler_barrier();
		has_vp = wf_runtime_keep_vp(t);
	}
	if (is_notified)
		wf_upcall.io_report(has_vp ? t : NULL);
	if (has_vp)
		handle_with_vp(t, info->si_code == SI_TIMER, ucontext);
	else if (may)
		go_on_without_vp(t, ucontext);
	if (may)
		wf_store_release(&t->in_runtime, 0);
}

void wf_preempt_signal(struct wf_carrier *c)
{
	int tid = wf_load_acquire(&c->tid);

	if (tid == 0 || atomic_exchange(&c->is_signalled, true))
		return;
	/* PREEMPT-4: before it checks for an exec */
	atomic_fetch_add(&nr_senders, 1);
	if (atomic_load(&wf_os_execs) != 0 ||
	    wf_os_tgkill(tid, WF_PREEMPT_SIGNAL) < 0)
		wf_store_relaxed(&c->is_signalled, false);
	atomic_fetch_sub(&nr_senders, 1);
}

void wf_preempt_init(void)
{
	/* The kernel's struct sigaction: glibc's sigaction refuses this
	 * signal. */
	const struct {
		void (*handler)(int, siginfo_t *, void *);
		unsigned long flags;
		void (*restorer)(void);
		uint64_t mask;
	} action = { wf_arch_keeps_fs ? wf_arch_preempt_landing : handle,
		     SA_SIGINFO | SA_ONSTACK | SA_RESTART | 0x04000000,
		     wf_arch_sigreturn, UINT64_MAX };

	wf_arch_landings[WF_ARCH_LANDING_PREEMPT] = handle;
	main_pid = wf_os_getpid();
	wf_store_relaxed(&wf_os_execs, 0);
	wf_store_relaxed(&nr_senders, 0);
	wf_store_relaxed(&nr_broadcasts, 0);
	wf_store_relaxed(&nr_kept_back, 0);
	wf_sys(SYS_rt_sigaction, WF_PREEMPT_SIGNAL, &action, NULL, 8);
}

bool wf_preempt_is_here(void)
{
	return wf_os_getpid() == main_pid;
}

/*
 * Signals all carriers after an exec has failed. A signal held back meanwhile
 * may have been a kick (ROUTING-1 in signal/routing.c).
 */
static void signal_all(void)
{
	for (uint32_t i = 0; i < wf_carrier_count(); i++) {
		struct wf_carrier *c = wf_carrier_at(i);

		if (c == NULL)
			continue;
		wf_store_relaxed(&c->is_signalled, false);
		wf_preempt_signal(c);
	}
}

static void exec_is_over(void)
{
	if (atomic_fetch_sub(&wf_os_execs, 1) == 1)
		signal_all();
}

/*
 * Announces an exec; returns false if a thread broadcasts (PREEMPT-5). In the
 * runtime, so that a handler finds it announced or not (boot/replacing.c).
 */
static bool try_exec(struct wf_thread *t)
{
	uint64_t mask = wf_os_close_signals();
	bool may;

	atomic_fetch_add(&wf_os_execs, 1);
	may = atomic_load(&nr_broadcasts) == 0;
	t->is_replacing = may;
	t->given = 0;
	if (!may)
		exec_is_over();
	wf_os_set_signal_mask(mask);
	return may;
}

void wf_preempt_exec_end(struct wf_thread *t)
{
	t->is_replacing = false;
	exec_is_over();
}

/*
 * Called by a thread that wants to broadcast or execute: lets the threads that
 * wait for that go first, once. Otherwise two threads that change credentials
 * again and again would leave no gap. PREEMPT-5
 */
static void let_others_first(void)
{
	if (wf_load_relaxed(&nr_kept_back) != 0)
		wf_sleep_until(wf_os_now() + 50 * WF_NS_PER_US);
}

static void be_kept_back(void)
{
	atomic_fetch_add(&nr_kept_back, 1);
	wf_sleep_until(wf_os_now() + 20 * WF_NS_PER_US);
	atomic_fetch_sub(&nr_kept_back, 1);
}

void wf_preempt_exec_begin(struct wf_thread *t)
{
	let_others_first();
	while (!try_exec(t))
		be_kept_back();
}

void wf_preempt_exec_settle(void)
{
	do /* PREEMPT-4: until no sender is counted */
		wf_sys(SYS_sched_yield);
	while (atomic_load(&nr_senders) != 0);
	/* on the way back, signals sent to this thread arrive */
	wf_sys(SYS_sched_yield);
}

struct wf_thread *wf_preempt_broadcast_begin(void)
{
	let_others_first();
	for (;;) {
		struct wf_thread *t = wf_runtime_enter();

		atomic_fetch_add(&nr_broadcasts, 1);
		if (atomic_load(&wf_os_execs) == 0)
			return t;
		/* PREEMPT-5: an exec has come: takes it back */
		wf_preempt_broadcast_end();
		wf_runtime_leave(t);
		be_kept_back();
	}
}

void wf_preempt_broadcast_end(void)
{
	atomic_fetch_sub(&nr_broadcasts, 1);
}

void wf_preempt_arm(struct wf_carrier *c)
{
	/* Kernel timers expire on the kernel's ticks: 4 ms at HZ 250. */
	const struct timespec period = { 0, 4 * WF_NS_PER_MS };
	struct itimerspec spec = { period, period };
	struct sigevent event;

	memset(&event, 0, sizeof(event));
	event.sigev_signo = WF_PREEMPT_SIGNAL;
	event.sigev_notify = SIGEV_THREAD_ID;
	event._sigev_un._tid = wf_load_relaxed(&c->tid);
	if (wf_sys(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, &event,
		   &c->cpu_timer) < 0) {
		c->cpu_timer = -1;
		wf_fallback_note(WF_FALLBACK_CPU_TIMERS);
	} else {
		wf_sys(SYS_timer_settime, c->cpu_timer, 0, &spec, NULL);
	}
}

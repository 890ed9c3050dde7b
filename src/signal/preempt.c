/*
 * P1. A thread is preempted only in code that is neither weft's, libc's nor
 *     ld.so's, and not on the carrier's own stacks: so nobody loses its VP
 *     inside malloc, stdio or the loader. libc's string functions are as
 *     their caller is: most of a long stay in libc is in them.
 * P2. A refusal leaves exit_work, which the next runtime exit honours, and
 *     the monitor soon asks again. Who is still in libc after half a tick is
 *     preempted there: should it hold a lock, those who want it sleep in the
 *     kernel, as natively, and lose their VPs to others meanwhile.
 *
 * Rejected: taking the VP from who is in libc for long. Its carrier goes on
 * beside the VP's new one, on the same CPUs; a few such threads, and whoever
 * waits for a turn waits for theirs, too.
 * P3. All signals are blocked in the handler. Left by a switch, the carrier's
 *     mask is marked unknown, so the incoming side sets it.
 * P4. A signal that was pending for who executes a program would be that
 *     program's. So from before an exec until it has failed nobody is signalled
 *     or preempted, and who executes waits for what is on its way: a sender
 *     marks the carrier, then looks for an exec; the other does it the other
 *     way round. What timers have sent the kernel throws away.
 * P5. Who broadcasts says so before, and no exec begins until that is over; or
 *     it finds that one has begun, and sends when that has failed.
 * P6. In libc's fork, which waits for locks that others have, this is the one
 *     signal that is open: who changes credentials waits for all, and lets
 *     nobody run meanwhile. Anything else has to wait until the fork is over,
 *     since the child is to begin where the parent's thread was.
 */
#include "signal/preempt.h"

#include <signal.h>
#include <string.h>
#include <time.h>

#include "arch/arch.h"
#include "base/options.h"
#include "libc/text.h"
#include "os/clock.h"
#include "os/kthread.h"
#include "os/sys.h"
#include "sched/carrier.h"
#include "sched/preempt.h"
#include "sched/promise.h"
#include "sched/queue.h"
#include "sched/ready.h"
#include "sched/realtime.h"
#include "sched/runtime.h"
#include "sched/switch.h"
#include "signal/arrive.h"
#include "signal/frame.h"

void (*wf_preempt_setxid)(void);
static int main_pid;		  /* of the process that they are sent in */
static _Atomic uint32_t nr_execs; /* P4 */
static _Atomic bool is_broadcast; /* P5 */

static bool is_on_altstack(const struct wf_carrier *c, uintptr_t sp)
{
	uintptr_t low = (uintptr_t)c->altstack;

	return sp >= low && sp < low + c->altstack_bytes;
}

/*
 * Whose code is interrupted: for a string function, which pushes nothing, the
 * caller's.
 */
static enum wf_text text_at(uintptr_t pc, uintptr_t sp)
{
	enum wf_text text = wf_text_of(pc);

	if (text == WF_TEXT_LEAF)
		text = wf_text_of(*(const uintptr_t *)sp);
	return text;
}

/* P1 */
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
		return false;
	case WF_TEXT_LIBC:
	case WF_TEXT_LEAF:
		if (wf_load_relaxed(&c->insist))
			break; /* P2 */
		wf_count(refusals_libc);
		wf_store_relaxed(&c->has_refused, true);
		return false;
	default:
		break;
	}
	if (is_on_altstack(c, sp)) {
		wf_count(refusals_stack);
		return false;
	}
	return true;
}

/* The CPU timer found a VP that made no switch since its last time. */
static void charge_by_timer(struct wf_thread *t, struct wf_vp *vp)
{
	uint64_t now = wf_load_relaxed(&vp->counters.switches);

	if (vp->timer_switches == now && t->rt_priority == 0 &&
	    (wf_realtime_waits(1) ||
	     wf_queue_waiting_i(vp) + wf_queue_waiting_b(vp) > 0)) {
		wf_thread_set_hog(t);
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
	if (next == NULL)
		return;
	wf_count_own(&vp->counters, preemptions);
	wf_frame_save(t, uc);
	t->carrier->is_mask_known = false; /* P3 */
	wf_switch_abandon(t, next, wf_switch_requeue(why), t);
}

/* Returns if it was promised no carrier. */
static void go_where_promised(struct wf_thread *t, const ucontext_t *uc)
{
	wf_post_fn *post = wf_promise_keep_begin(t);

	if (post == NULL)
		return;
	wf_frame_save(t, uc);
	t->carrier->is_mask_known = false; /* P3 */
	wf_switch_abandon(t, NULL, post, t);
}

static void handle(int sig, siginfo_t *info, void *ucontext)
{
	struct wf_thread *t = wf_self;
	struct wf_carrier *c = t != NULL ? t->carrier : NULL;

	if (wf_preempt_setxid != NULL)
		wf_preempt_setxid();
	if (c == NULL || !wf_is_started())
		return;
	wf_store_relaxed(&c->is_signalled, false);
	if (t == &c->idle_self || wf_load_relaxed(&nr_execs) != 0) /* P4 */
		return;
	if (wf_load_relaxed(&c->is_forking)) {
		wf_store_relaxed(&c->is_nudged, true); /* P6 */
		return;
	}
	wf_arrive_nudge(t, ucontext);
	if (t->kind != WF_THREAD_MULTIPLEXED)
		return;
	/* The debug option means whoever is met. */
	if (wf_options.preempt_every != 0 && t->vp != NULL)
		wf_vp_ask(t->vp, WF_RESCHED_SLICE,
			  wf_load_relaxed(&t->vp->counters.switches));
	if (!may_preempt(t, c, ucontext)) {
		atomic_fetch_or(&t->exit_work, WF_WORK_RESCHED); /* P2 */
		return;
	}
	wf_store_relaxed(&t->in_runtime, 1);
	wf_compiler_barrier();
	if (!wf_runtime_keep_vp(t)) {
		if (wf_carrier_bind_without_vp(t)) {
			wf_store_release(&t->in_runtime, 0);
			return;
		}
		wf_frame_save(t, ucontext);
		c->is_mask_known = false;
		wf_switch_abandon(t, NULL, wf_runtime_rejoin_begin(t), t);
	}
	if ((wf_load_relaxed(&t->exit_work) & WF_WORK_BIND) != 0)
		go_where_promised(t, ucontext);
	if (info->si_code == SI_TIMER)
		charge_by_timer(t, t->vp);
	preempt(t, ucontext);
	wf_store_release(&t->in_runtime, 0);
}

void wf_preempt_signal(struct wf_carrier *c)
{
	int tid = wf_load_acquire(&c->tid);

	if (tid != 0 && !atomic_exchange(&c->is_signalled, true) &&
	    (atomic_load(&nr_execs) != 0 || /* P4 */
	     wf_os_tgkill(tid, WF_PREEMPT_SIGNAL) < 0))
		wf_store_relaxed(&c->is_signalled, false);
}

void wf_preempt_init(void)
{
	/* As the kernel has it; libc refuses this signal to its callers. */
	const struct {
		void (*handler)(int, siginfo_t *, void *);
		unsigned long flags;
		void (*restorer)(void);
		uint64_t mask;
	} action = { handle, SA_SIGINFO | SA_ONSTACK | SA_RESTART | 0x04000000,
		     wf_arch_sigreturn, UINT64_MAX };

	main_pid = wf_os_getpid();
	wf_store_relaxed(&nr_execs, 0);
	wf_store_relaxed(&is_broadcast, false);
	wf_ready_interrupt = wf_preempt_signal;
	wf_sys(SYS_rt_sigaction, WF_PREEMPT_SIGNAL, &action, NULL, 8);
}

static void pause_shortly(void)
{
	const struct timespec pause = { 0, 20 * WF_NS_PER_US };

	wf_sys(SYS_nanosleep, &pause, NULL);
}

bool wf_preempt_is_here(void)
{
	return wf_os_getpid() == main_pid;
}

void wf_preempt_exec_begin(void)
{
	const struct wf_thread *t = wf_self;

	while (atomic_fetch_add(&nr_execs, 1), atomic_load(&is_broadcast)) {
		atomic_fetch_sub(&nr_execs, 1); /* P5 */
		pause_shortly();
	}
	wf_sys(SYS_sched_yield); /* what was sent arrives on the way back */
	while (t != NULL && t->carrier != NULL &&
	       atomic_load(&t->carrier->is_signalled)) /* P4 */
		pause_shortly();
}

void wf_preempt_broadcast_begin(void)
{
	atomic_store(&is_broadcast, true);
}

bool wf_preempt_may_broadcast(void)
{
	return atomic_load(&nr_execs) == 0;
}

void wf_preempt_broadcast_end(void)
{
	wf_store_release(&is_broadcast, false);
}

/* What was not sent may have been a nudge (signal/route.c, W1). */
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

void wf_preempt_exec_end(void)
{
	if (atomic_fetch_sub(&nr_execs, 1) == 1)
		signal_all();
}

void wf_preempt_arm(struct wf_carrier *c)
{
	/* Kernel timers fire on its ticks: 4 ms at HZ 250. */
	const struct timespec period = { 0, 4 * WF_NS_PER_MS };
	struct itimerspec spec = { period, period };
	struct sigevent event;

	memset(&event, 0, sizeof(event));
	event.sigev_signo = WF_PREEMPT_SIGNAL;
	event.sigev_notify = SIGEV_THREAD_ID;
	event._sigev_un._tid = wf_load_relaxed(&c->tid);
	if (wf_sys(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, &event,
		   &c->cpu_timer) < 0)
		c->cpu_timer = -1;
	else
		wf_sys(SYS_timer_settime, c->cpu_timer, 0, &spec, NULL);
}

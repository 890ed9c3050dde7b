/* SPDX-License-Identifier: MIT */
/*
 * SIGNAL_RECEIVER-1. want is a superset of what some thread does not block or
 *     waits for: who opens a signal adds it before it leaves the runtime, and
 *     pokes if a bit is new. What all threads block stays with the kernel, or
 *     is held for the process (routing.c, ROUTING-3).
 * SIGNAL_RECEIVER-2. It takes signals by sigtimedwait, and blocks all but what
 *     it lets through by SIGNAL_RECEIVER-5, the preemption signal too: no
 *     handler ever runs on it.
 * SIGNAL_RECEIVER-3. is_busy is set while it hands on a signal that is nowhere
 *     else. Between the kernel's answer and that nobody can know; who has to,
 *     takes what it asks about out of `armed` first.
 * SIGNAL_RECEIVER-4. It says in `armed` what it is about to wait for, passes a
 *     fence and reads want again; who takes a bit out of want passes a fence
 *     and reads `armed`. So no bit that was taken out is waited for unnoticed.
 * SIGNAL_RECEIVER-5. The kernel forgets what would stop the process when that
 *     is told to go on, but not what is taken; and what ends the process does
 *     so before the sender's next step, so that no thread sees, say, that
 *     another process of the pipeline has ended, too. So what does so by
 *     default is not taken while some thread does not block it: it is open in
 *     the receiver's own mask, and the kernel does what it does. It says in
 *     `opened` what it is about to let through, passes a fence, and looks again
 *     whether a thread takes it and the default is the action (ACTION-5 in
 *     action.c); who changes either passes a fence and reads `opened`. A bit is
 *     in `opened` and `armed` until the mask is closed.
 * SIGNAL_RECEIVER-6. Who closes or ends looks whether thread 0 takes it still,
 *     and only if not for `opened`, and for other takers. A thread that ends
 *     passes no fence before it looks at thread 0's mask: so thread 0 when it
 *     closes what is opened, and the receiver before it opens what thread 0
 *     blocks, pass a membarrier before they look for takers.
 * SIGNAL_RECEIVER-7. When the last who took such a signal has closed it, it is
 *     likely to open it soon. So the receiver looks again after a while by
 *     itself, and says so in is_dozing. It takes that back and then reads want;
 *     who adds to want reads is_dozing after.
 * SIGNAL_RECEIVER-8. It is poked by SIGSTKFLT, whether that is wanted or not,
 *     unless a signalfd shows it; then by the preemption signal. Who pokes
 *     changes something before, and the receiver reads that after, both
 *     seq_cst, or one might send what the other no longer takes.
 * SIGNAL_RECEIVER-9. A message may wake a carrier just when the receiver has
 *     taken the signal that was sent before it, and has not said is_busy yet.
 *     So who opens its mask after a sleep looks for a moment whether there is
 *     something in `taken`, where the kernel puts it, and waits until it is
 *     handed on. That makes it rare that the message is first, not impossible.
 */
#include "signal/signal_receiver.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <sys/prctl.h>

#include "arch/arch.h"
#include "base/atomic.h"
#include "os/clock.h"
#include "os/futex.h"
#include "os/kthread.h"
#include "os/output.h"
#include "os/sys.h"
#include "sched/preempt.h"
#include "sched/service.h"
#include "sched/thread.h"
#include "signal/other_process.h"
#include "signal/action.h"
#include "signal/preempt.h"
#include "signal/queue.h"
#include "signal/routing.h"
#include "signal/posix_timer.h"

enum {
	WAITED_FOR = 2, /* is_busy */
	/* Nobody uses it, and unlike weft's own, a real-time signal, it can be
	 * sent when none can be queued (RLIMIT_SIGPENDING). */
	POKE_SIGNAL = SIGSTKFLT,
	POKE_AGAIN_NS = 10 * 1000 * 1000,
	DOZE_NS = 10 * 1000 * 1000,
	/* SIGNAL_RECEIVER-9: pauses. */
	POLLS = 8,
	POLLS_WHILE_TAKEN = 1000,
};

static _Atomic uint64_t want;	/* SIGNAL_RECEIVER-1 */
static _Atomic uint64_t armed;	/* SIGNAL_RECEIVER-4; receiver */
static _Atomic uint64_t opened; /* SIGNAL_RECEIVER-5; receiver */
static _Atomic bool is_dozing;	/* SIGNAL_RECEIVER-7; receiver */
/* SIGNAL_RECEIVER-3: 0, 1, or WAITED_FOR: with waiters */
static _Atomic uint32_t is_busy;
static _Atomic uint32_t nr_turns; /* futex: of the loop in run */
static _Atomic int tid;
static struct wf_thread self;
static siginfo_t
	taken; /* SIGNAL_RECEIVER-9: si_signo 0: nothing; kernel, receiver */

/* SIGNAL_RECEIVER-8; 0: it is shown. */
static uint64_t poke_bit(void)
{
	return WF_SIGNAL_BIT(POKE_SIGNAL) & ~atomic_load(&wf_routing_shown);
}

static uint64_t may_open(uint64_t set)
{
	return wf_routing_open_in_threads(set &
					  wf_load_acquire(&wf_action_halts));
}

/* What it waits for, and what its mask lets through. */
struct ways {
	uint64_t wait, open;
};

static struct ways choose(void)
{
	uint64_t poke = poke_bit(); /* first */
	uint64_t set = wf_load_acquire(&want), open = may_open(set);

	return (struct ways){ (set & ~open) | poke, open };
}

/* SIGNAL_RECEIVER-4, SIGNAL_RECEIVER-5; mask is what is open now. */
static struct ways arm(uint64_t mask)
{
	struct ways now, again = choose();

	wf_store_relaxed(&is_dozing, false); /* SIGNAL_RECEIVER-7 */
	do {
		now = again;
		wf_store_relaxed(&armed, now.wait | now.open | mask);
		wf_store_relaxed(&opened, now.open | mask);
		wf_fence_seq_cst();
		if ((now.open & ~mask &
		     wf_load_relaxed(&wf_routing_first_mask)) != 0)
			wf_os_pass_barrier(); /* SIGNAL_RECEIVER-6 */
		again = choose();
	} while (again.wait != now.wait || again.open != now.open);
	if (now.open != mask)
		wf_os_set_signal_mask(~now.open);
	wf_store_release(&opened, now.open);
	wf_store_release(&armed, now.wait | now.open);
	wf_store_release(&is_dozing, (mask & ~now.open) != 0);
	atomic_fetch_add(&nr_turns, 1);
	wf_os_futex_wake(&nr_turns, INT_MAX);
	return now;
}

/* Weft's own signal. */
static void answer(siginfo_t *info)
{
	const union sigval asked = info->si_value;
	struct wf_thread *t = NULL;
	bool is_from_other_process = false;
	int err = 0;

	if (!wf_posix_timer_target(info, &t)) {
		is_from_other_process = wf_other_process_target(info, &t);
		if (!is_from_other_process && wf_preempt_setxid != NULL)
			wf_preempt_setxid();
	}
	if (t != NULL && info->si_signo != 0)
		err = wf_routing_to_thread(&self, t, info);
	if (is_from_other_process)
		wf_other_process_answer(asked, t != NULL && err != -ESRCH);
}

/* The kernel may not have been able to note by whom. */
static bool is_poke(const siginfo_t *info)
{
	return info->si_signo == POKE_SIGNAL &&
	       (info->si_pid == 0 ||
		(info->si_code == SI_TKILL && info->si_pid == wf_os_getpid()));
}

/* SIGNAL_RECEIVER-9 */
static _Atomic int *taken_signal(void)
{
	return (_Atomic int *)&taken.si_signo;
}

static void hand_on(const siginfo_t *info)
{
	atomic_exchange(&is_busy, 1); /* SIGNAL_RECEIVER-3 */
	wf_routing_to_process(&self, info, NULL);
	wf_store_relaxed(taken_signal(), 0);
	if (atomic_exchange(&is_busy, 0) == WAITED_FOR)
		wf_os_futex_wake(&is_busy, INT_MAX);
}

/* Returns what it is, in `taken` and, for weft's own use, in *ret_info. */
static long take(uint64_t set, siginfo_t *ret_info)
{
	const struct timespec while_dozing = wf_os_timespec(DOZE_NS);
	long sig;

	set &= ~WF_SIGNAL_BIT(32);
	set |= WF_PREEMPT_BIT;
	sig = wf_sys(SYS_rt_sigtimedwait, &set, &taken,
		     wf_load_relaxed(&is_dozing) ? &while_dozing : NULL, 8);
	*ret_info = taken;
	if (sig == WF_PREEMPT_SIGNAL || is_poke(&taken))
		wf_store_relaxed(taken_signal(), 0);
	return sig;
}

/*
 * Nothing is open any more, and nothing is waited for: SIGNAL_RECEIVER-4,
 * SIGNAL_RECEIVER-5.
 */
static WF_NORETURN void end(void)
{
	wf_os_set_signal_mask(UINT64_MAX);
	wf_store_release(&opened, 0);
	wf_store_release(&armed, 0);
	atomic_fetch_add(&nr_turns, 1);
	wf_os_futex_wake(&nr_turns, INT_MAX);
	wf_service_end();
}

static void run(void *arg)
{
	struct ways ways = { .open = 0 };

	wf_os_set_signal_mask(UINT64_MAX); /* SIGNAL_RECEIVER-2 */
	for (;;) {
		siginfo_t info;
		long sig;

		if (wf_service_is_dismissed(&tid))
			end();
		ways = arm(ways.open);
		sig = take(ways.wait, &info);
		if (sig == WF_PREEMPT_SIGNAL)
			answer(&info);
		else if (sig > 0 && !is_poke(&info))
			hand_on(&info);
	}
}

/* It has its name from birth: who knows a thread's id may look for it. */
int wf_signal_receiver_start(void)
{
	char name[16] = "";
	int err;

	wf_sys(SYS_prctl, PR_GET_NAME, name);
	wf_os_set_thread_name(WF_SIGNAL_RECEIVER_NAME);
	err = wf_service_start(run, &self, &tid);
	wf_os_set_thread_name(name);
	wf_os_stderr_shared_by(wf_signal_receiver_tid());
	return err;
}

void wf_signal_receiver_rearm(void)
{
	wf_os_tgkill(wf_load_relaxed(&tid),
		     poke_bit() != 0 ? POKE_SIGNAL : WF_PREEMPT_SIGNAL);
}

/* It does not take these yet, or not as it should. */
static void poke_for(uint64_t set)
{
	uint64_t halts = set & wf_load_relaxed(&wf_action_halts);

	/* SIGNAL_RECEIVER-7 */
	if (set != 0 && (set != halts || !atomic_load(&is_dozing)))
		wf_signal_receiver_rearm();
}

void wf_signal_receiver_want(uint64_t set)
{
	if ((set & ~wf_load_relaxed(&want)) != 0)
		poke_for(set & ~atomic_fetch_or(&want, set));
}

static uint64_t shut(uint64_t set)
{
	return set & wf_load_relaxed(&wf_action_halts) &
	       ~wf_load_relaxed(&opened);
}

void wf_signal_receiver_open(uint64_t set)
{
	poke_for((set & ~atomic_fetch_or(&want, set)) | shut(set));
}

uint64_t wf_signal_receiver_takes(void)
{
	return wf_load_relaxed(&armed) | wf_load_relaxed(&want);
}

uint64_t wf_signal_receiver_takes_for(const struct wf_thread *t)
{
	return wf_load_relaxed(&want) & ~t->sigmask &
	       ~wf_load_relaxed(&wf_action_halts) & ~WF_PREEMPT_BIT &
	       ~WF_SIGNAL_BIT(POKE_SIGNAL) & ~WF_SIGNAL_BIT(32);
}

uint64_t wf_signal_receiver_unwanted(uint64_t set)
{
	return (set & ~wf_load_relaxed(&want)) | shut(set);
}

void wf_signal_receiver_shrink(uint64_t set)
{
	atomic_fetch_and(&want, ~set);
}

/* Makes it arm again, which has begun if nr_turns is no longer turn. */
static void await_turn(uint32_t turn)
{
	wf_signal_receiver_rearm();
	wf_os_futex_wait(&nr_turns, turn, wf_os_now() + POKE_AGAIN_NS);
}

void wf_signal_receiver_leave_to_kernel(uint64_t set)
{
	for (;;) {
		uint32_t turn = wf_load_acquire(&nr_turns);
		uint64_t left = wf_routing_without_takers(set);

		wf_signal_receiver_shrink(left);
		wf_fence_seq_cst(); /* SIGNAL_RECEIVER-4 */
		if ((left & ~poke_bit() & wf_load_acquire(&armed)) == 0)
			return;
		await_turn(turn);
	}
}

uint64_t wf_signal_receiver_opens(void)
{
	return wf_load_acquire(&opened);
}

void wf_signal_receiver_close(uint64_t set)
{
	for (;;) {
		uint32_t turn = wf_load_acquire(&nr_turns);

		if ((set & wf_load_acquire(&opened) & ~may_open(set)) == 0)
			return;
		await_turn(turn);
	}
}

uint64_t wf_signal_receiver_closing(const struct wf_thread *t, uint64_t set)
{
	set &= wf_load_relaxed(&opened) &
	       wf_load_relaxed(&wf_routing_first_mask);
	if (t->is_first && set != 0)
		wf_os_pass_barrier(); /* SIGNAL_RECEIVER-6 */
	return set;
}

void wf_signal_receiver_settle(void)
{
	uint32_t busy = wf_load_acquire(&is_busy);

	while (busy != 0) {
		if (busy == WAITED_FOR ||
		    wf_cas_acq_rel(&is_busy, &busy, WAITED_FOR))
			wf_os_futex_wait(&is_busy, WAITED_FOR, WF_OS_FOREVER);
		busy = wf_load_acquire(&is_busy);
	}
}

void wf_signal_receiver_await_taken(void)
{
	if (!wf_load_relaxed(&wf_action_had_handlers))
		return;
	for (int i = 0; wf_load_relaxed(&is_busy) == 0; i++) {
		bool is_taken = wf_load_relaxed(taken_signal()) != 0;

		if (i >= (is_taken ? POLLS_WHILE_TAKEN : POLLS))
			return;
		wf_cpu_pause();
	}
	wf_signal_receiver_settle();
}

int wf_signal_receiver_tid(void)
{
	return wf_load_relaxed(&tid);
}

bool wf_signal_receiver_dismiss(void)
{
	return wf_service_dismiss(&tid, wf_signal_receiver_rearm);
}

void wf_signal_receiver_fork_child(void)
{
	wf_store_relaxed(&tid, 0);
	wf_store_relaxed(&want, 0);
	wf_store_relaxed(&armed, 0);
	wf_store_relaxed(&opened, 0);
	wf_store_relaxed(&is_dozing, false);
	wf_store_relaxed(&is_busy, 0);
	wf_store_relaxed(taken_signal(), 0);
}

/* SPDX-License-Identifier: MIT */
/*
 * Carriers block all signals while they sleep, so another kernel thread has to
 * take the signals to the process. The receiver waits for them by sigtimedwait.
 * It takes only signals that some thread waits for or does not block, and gives
 * each to one of these threads (routing.c). Three sets control it. `want` holds
 * the signals that threads take, `armed` those that the receiver takes or lets
 * through. `opened` holds those that its mask lets through to the kernel's
 * default action.
 *
 * SIGNAL_RECEIVER-1. `want` includes all signals that some thread waits for or
 *     does not block. A thread that opens a signal adds it before it leaves the
 *     runtime, and pokes the receiver if the bit is new. A signal that all
 *     threads block stays with the kernel, or in the process's queue
 *     (routing.c, ROUTING-3).
 * SIGNAL_RECEIVER-2. The receiver takes signals by sigtimedwait. It blocks all
 *     signals, the preemption signal too, but those that it lets through by
 *     SIGNAL_RECEIVER-5: no handler ever runs on it.
 * SIGNAL_RECEIVER-3. is_busy is set while the receiver hands on a signal that
 *     is in no queue. Between the kernel's answer and is_busy no thread can
 *     know of that signal. A thread that has to know first takes the signal out
 *     of `armed`.
 * SIGNAL_RECEIVER-4. The receiver stores in `armed` the signals that it is
 *     about to take, passes a fence and reads `want` again. A thread that takes
 *     a bit out of `want` passes a fence and reads `armed`. So the thread
 *     notices if the receiver still takes that signal.
 * SIGNAL_RECEIVER-5. SIGCONT makes the kernel drop pending stop signals, but
 *     not those that were taken. A signal that ends the process has to end it
 *     before the sender's next step. Otherwise a thread could notice, say, that
 *     another process of the pipeline has ended, and react to that. So the
 *     receiver does not take signals that stop or end the process by default
 *     while some thread does not block them. They are open in the receiver's
 *     mask, and the kernel does the default action. The receiver stores in
 *     `opened` the signals that it is about to let through and passes a fence.
 *     Then it checks again whether a thread takes each and the action is the
 *     default (ACTION-5 in action.c). A thread that changes either passes a
 *     fence and reads `opened`. A bit is in `opened` and `armed` until the mask
 *     blocks it.
 * SIGNAL_RECEIVER-6. A thread that blocks a signal or ends checks whether
 *     thread 0 still takes the signal. Only if not, it checks `opened` and the
 *     other threads. A thread that ends passes no fence before it reads thread
 *     0's mask. So thread 0 passes a membarrier when it blocks a signal in
 *     `opened`, before it checks the other threads. The receiver does the same
 *     before it opens a signal that thread 0 blocks.
 * SIGNAL_RECEIVER-7. When the last thread that took such a signal has blocked
 *     it, it is likely to open it soon. So the thread does not poke: the
 *     receiver checks again after DOZE_NS, and sets is_dozing meanwhile. It
 *     clears is_dozing and then reads `want`; a thread adds to `want` and then
 *     reads is_dozing.
 * SIGNAL_RECEIVER-8. SIGSTKFLT pokes the receiver, whether `want` has it or
 *     not. If a signalfd shows SIGSTKFLT, the preemption signal does. The
 *     poking thread makes its change before, and the receiver reads the change
 *     after, both seq_cst. Otherwise a thread might send a signal that the
 *     receiver no longer takes.
 *     The receiver takes the signal of --dump-on, too, in all cases.
 * SIGNAL_RECEIVER-9. A message may wake a carrier just when the receiver has
 *     taken the signal that was sent before the message, and has not set
 *     is_busy yet. So a carrier that opens its mask after a sleep polls `taken`
 *     for a moment, where the kernel puts the signal. If a signal is there it
 *     waits until the receiver has handed it on. That makes it rare that the
 *     message is first, not impossible.
 */
#include "signal/signal_receiver.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <sys/prctl.h>

#include "arch/arch.h"
#include "base/atomic.h"
#include "base/upcall.h"
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
#include "signal/dump_signal.h"
#include "signal/preempt.h"
#include "signal/queue.h"
#include "signal/routing.h"
#include "signal/posix_timer.h"

enum {
	WAITED_FOR = 2, /* is_busy: threads wait until it is 0 */
	/* The signal that wakes the receiver. Programs do not use it. weft's
	 * own signal, a real-time signal, cannot be sent when the limit of
	 * queued signals is reached (RLIMIT_SIGPENDING); a standard signal
	 * can. */
	POKE_SIGNAL = SIGSTKFLT,
	POKE_AGAIN_NS = 10 * 1000 * 1000,
	DOZE_NS = 10 * 1000 * 1000,
	/* For how many CPU pauses a carrier polls `taken`
	 * (SIGNAL_RECEIVER-9). */
	POLLS = 8,
	POLLS_WHILE_TAKEN = 1000,
};

/* signals that threads take: SIGNAL_RECEIVER-1 */
static _Atomic uint64_t want;
static _Atomic uint64_t armed;	/* SIGNAL_RECEIVER-4; the receiver stores it */
static _Atomic uint64_t opened; /* SIGNAL_RECEIVER-5; the receiver stores it */
static _Atomic bool is_dozing;	/* SIGNAL_RECEIVER-7; the receiver stores it */
/* SIGNAL_RECEIVER-3: 0, 1, or WAITED_FOR if threads wait for 0 */
_Atomic uint32_t wf_signal_receiver_is_busy;
/* futex: how often the receiver has begun anew in run */
static _Atomic uint32_t nr_turns;
static _Atomic int tid;
static struct wf_thread self;
static siginfo_t
	/* signal that the receiver has taken; si_signo 0: none. Written by the
	 * kernel and the receiver; SIGNAL_RECEIVER-9 */
	taken;

/*
 * Returns the bit of SIGSTKFLT, or 0 if a signalfd shows it. SIGNAL_RECEIVER-8
 */
static uint64_t poke_bit(void)
{
	return WF_SIGNAL_BIT(POKE_SIGNAL) & ~atomic_load(&wf_routing_shown);
}

static uint64_t may_open(uint64_t set)
{
	return wf_routing_open_in_threads(set &
					  wf_load_acquire(&wf_action_halts));
}

/*
 * wait: the signals that the receiver takes. open: those that its mask lets
 * through.
 */
struct ways {
	uint64_t wait, open;
};

static struct ways choose(void)
{
	uint64_t poke = poke_bit(); /* read before `want` */
	uint64_t set = wf_load_acquire(&want), open = may_open(set);

	return (struct ways){
		(set & ~open) | poke | wf_dump_signal_bit(),
		open,
	};
}

/*
 * Decides which signals the receiver takes and lets through in the next turn,
 * and announces that. `mask` is the set that is open now. SIGNAL_RECEIVER-4,
 * SIGNAL_RECEIVER-5
 */
static struct ways arm(uint64_t mask)
{
	struct ways now, again = choose();

	/* SIGNAL_RECEIVER-7: before `want` */
	wf_store_relaxed(&is_dozing, false);
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

/*
 * Handles weft's own signal: from a timer, from another process, or of a
 * broadcast.
 */
static void answer(siginfo_t *info)
{
	const union sigval asked = info->si_value;
	struct wf_thread *t = NULL;
	bool is_from_other_process = false;
	int err = 0;

	if (!wf_posix_timer_target(info, &t)) {
		is_from_other_process = wf_other_process_target(info, &t);
		if (!is_from_other_process)
			wf_upcall.setxid();
	}
	if (t != NULL && info->si_signo != 0)
		err = wf_routing_to_thread(&self, t, info);
	if (is_from_other_process)
		wf_other_process_answer(asked, t != NULL && err != -ESRCH);
}

/*
 * True if the signal only wakes the receiver. When its queue is full the kernel
 * may send a signal without the sender's pid.
 */
static bool is_poke(const siginfo_t *info)
{
	return info->si_signo == POKE_SIGNAL &&
	       (info->si_pid == 0 ||
		(info->si_code == SI_TKILL && info->si_pid == wf_os_getpid()));
}

/*
 * Returns the word where the kernel puts the number of a taken signal.
 * SIGNAL_RECEIVER-9
 */
static _Atomic int *taken_signal(void)
{
	return (_Atomic int *)&taken.si_signo;
}

static void hand_on(const siginfo_t *info)
{
	/* SIGNAL_RECEIVER-3: has taken a signal */
	atomic_exchange(&wf_signal_receiver_is_busy, 1);
	wf_routing_to_process(&self, info, NULL);
	wf_store_relaxed(taken_signal(), 0);
	if (atomic_exchange(&wf_signal_receiver_is_busy, 0) == WAITED_FOR)
		wf_os_futex_wake(&wf_signal_receiver_is_busy, INT_MAX);
}

/*
 * Takes a signal of set. Returns its number; the signal is in `taken` and
 * *ret_info. weft's signals are removed from `taken`.
 */
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
 * Ends the receiver. All signals are blocked before, and none is taken:
 * SIGNAL_RECEIVER-4, SIGNAL_RECEIVER-5.
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

	/* SIGNAL_RECEIVER-2: no handler runs here */
	wf_os_set_signal_mask(UINT64_MAX);
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

/*
 * Gives the receiver its name from the start: a process that knows a thread's
 * id may search for the receiver at any time.
 */
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

/*
 * Pokes the receiver because of `set`, signals that it does not take or does
 * not let through yet.
 */
static void poke_for(uint64_t set)
{
	uint64_t halts = set & wf_load_relaxed(&wf_action_halts);

	/* SIGNAL_RECEIVER-7: while it dozes it checks again by itself. */
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

/*
 * Pokes the receiver and waits until nr_turns differs from `turn`, but for at
 * most POKE_AGAIN_NS. So callers check again and repeat the call.
 */
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
		wf_fence_seq_cst(); /* SIGNAL_RECEIVER-4: before `armed` */
		if ((left & ~poke_bit() & ~wf_dump_signal_bit() &
		     wf_load_acquire(&armed)) == 0)
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
		/* SIGNAL_RECEIVER-6: before the other threads' masks */
		wf_os_pass_barrier();
	return set;
}

void wf_signal_receiver_settle_slow(void)
{
	uint32_t busy = wf_load_acquire(&wf_signal_receiver_is_busy);

	while (busy != 0) {
		if (busy == WAITED_FOR ||
		    wf_cas_acq_rel(&wf_signal_receiver_is_busy, &busy,
				   WAITED_FOR))
			wf_os_futex_wait(&wf_signal_receiver_is_busy,
					 WAITED_FOR, WF_OS_FOREVER);
		busy = wf_load_acquire(&wf_signal_receiver_is_busy);
	}
}

void wf_signal_receiver_await_taken(void)
{
	if (!wf_load_relaxed(&wf_action_had_handlers))
		return;
	for (int i = 0; wf_load_relaxed(&wf_signal_receiver_is_busy) == 0;
	     i++) {
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
	wf_store_relaxed(&wf_signal_receiver_is_busy, 0);
	wf_store_relaxed(taken_signal(), 0);
}

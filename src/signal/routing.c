/* SPDX-License-Identifier: MIT */
/*
 * Gives each signal to a thread. A signal to one thread goes into that thread's
 * queue. A signal to the process goes to a thread that waits for it or does not
 * block it, else into the process's queue. Then the sender makes the thread
 * check its queue: it ends the thread's wait, or kicks its carrier.
 *
 * ROUTING-1. A sender puts the signal into the queue, sets exit_work, then
 *     checks the thread's state. If the thread waits, the sender ends the wait
 *     (ufutex.c, UFUTEX-6). If the thread runs after a membarrier, the sender
 *     kicks its carrier. In all other states the thread leaves the runtime, or
 *     resumes a saved frame, before it runs code of the program's, and checks
 *     exit_work there.
 * ROUTING-2. A sender puts, then reads masks and sigwait sets. A thread changes
 *     its mask or set, then checks the queues. Both pass a fence between the
 *     two steps. So no signal lies in a queue without either of them noticing
 *     it.
 * ROUTING-3. A signal to the process that no thread takes goes into the
 *     process's queue, and its bit leaves the receiver's set. Then the sender
 *     checks the threads once more. A thread that opens a signal sets its mask,
 *     passes a fence, and then checks the queue and the receiver's set (mask.c,
 *     MASK-2).
 * ROUTING-4. A signal that a signalfd shows (wf_routing_shown) has to be
 *     pending in the kernel, or no poll would find it. So the receiver leaves
 *     it to the kernel as soon as no thread takes it, and signals in the
 *     process's queue go back to the kernel. Signals that stop or end the
 *     process by default belong to the kernel, too (signal_receiver.c,
 *     SIGNAL_RECEIVER-5).
 * ROUTING-5. A thread that ends closes its queue, then checks it. A sender
 *     puts, and ends the thread's wait or passes a membarrier (ROUTING-1). Then
 *     the sender checks whether the queue is closed or the mask has changed,
 *     and if so takes back a signal to the process. At least one of the two
 *     notices the other. The sender may find an older signal of the kind
 *     instead, and gives that to another thread: as many are taken out as it
 *     has put in. A thread that uses the slot again sets the new thread's mask.
 *     If a signal is still in the queue, it sends signals to the process on and
 *     drops the rest, as an ending thread does. A thread that begins checks its
 *     queue, too. test/model/reuse.pml models this in all its states. A signal
 *     to the thread that has ended may reach the next thread in its slot, as
 *     natively the next thread with its number. There is no lock: it would cost
 *     a thread that does little 4 % of its time.
 */
#include "signal/routing.h"

#include <errno.h>
#include <string.h>

#include "os/kthread.h"
#include "os/sys.h"
#include "sched/carrier.h"
#include "sched/table.h"
#include "signal/action.h"
#include "signal/deliver.h"
#include "signal/dump_signal.h"
#include "signal/preempt.h"
#include "signal/queue.h"
#include "signal/signal_receiver.h"
#include "wait/ufutex_internal.h"

struct wf_sigqueue wf_routing_process;
_Atomic uint32_t wf_routing_nr_waiters;
_Atomic uint64_t
	wf_routing_shown; /* the signals that signalfds show: ROUTING-4 */
_Atomic uint64_t wf_routing_first_mask = UINT64_MAX;

static struct wf_thread *_Atomic first_thread;

static bool takes_signals(const struct wf_thread *t)
{
	return wf_thread_exists(t) && t->kind != WF_THREAD_FOREIGN &&
	       !wf_sigqueue_is_closed(&t->sigqueue);
}

static bool takes(const struct wf_thread *t, uint64_t bit)
{
	return takes_signals(t) && (t->sigmask & bit) == 0;
}

static bool waits_for(const struct wf_thread *t, uint64_t bit)
{
	return (wf_load_relaxed(&t->sigwait_set) & bit) != 0 &&
	       takes_signals(t);
}

/* True if t does not block the signal and its handlers may run now. */
static bool is_open(const struct wf_thread *t, uint64_t bit)
{
	return (wf_deliver_open(t) & bit) != 0;
}

static struct wf_thread *thread_0(void)
{
	struct wf_thread *t = wf_load_relaxed(&first_thread);

	if (t != NULL && t->is_first && t->tid != 0)
		return t;
	for (uint32_t i = 1; i < wf_table_high(); i++) {
		t = wf_table_at(i);
		if (!t->is_first || t->tid == 0)
			continue;
		wf_store_relaxed(&first_thread, t);
		return t;
	}
	return NULL;
}

/* --- to a thread -------------------------------------------------------- */

/* Sets exit_work and makes t check it. ROUTING-1 */
void wf_routing_alert(struct wf_thread *me, struct wf_thread *t, uint32_t work)
{
	struct wf_carrier *c;

	atomic_fetch_or(&t->exit_work, work);
	if (t == wf_self || wf_ufutex_interrupt(t, me))
		return;
	wf_os_pass_barrier();
	if (wf_ufutex_interrupt(t, me))
		return;
	c = wf_carrier_running(t);
	if (c != NULL)
		wf_preempt_signal(c);
}

/*
 * Puts the signal into t's queue and makes t check it. is_process: the signal
 * was sent to the process and t was chosen for it. Then it returns -ESRCH also
 * if t blocks the signal by now. *info is then the signal to give to another
 * thread: the older one if t already had one of the kind.
 */
static int to_thread(struct wf_thread *me, struct wf_thread *t, siginfo_t *info,
		     bool is_process)
{
	int sig = info->si_signo;
	uint64_t bit = WF_SIGNAL_BIT(sig);
	bool is_taken;
	int err;

	if (!takes_signals(t))
		return -ESRCH;
	if (is_open(t, bit)) {
		if (wf_action_ignores(sig))
			return 0;
		if (wf_action_is_default(sig)) {
			wf_action_do_default(sig, info);
			return 0;
		}
	}
	err = wf_sigqueue_put(&t->sigqueue, info, is_process);
	if (err < 0)
		return err;
	wf_fence_seq_cst(); /* ROUTING-2: put, then read the mask */
	if (waits_for(t, bit) &&
	    wf_load_relaxed(&t->signal_word) == WF_SIGNAL_WORD_READS) {
		wf_routing_alert(me, t, WF_WORK_SIGNAL);
	} else if (waits_for(t, bit)) {
		wf_store_release(&t->signal_word, 1);
		wf_ufutex_wake_first(me, &t->signal_word);
	}
	is_taken = is_open(t, bit);
	if (is_taken) {
		wf_routing_alert(me, t, WF_WORK_SIGNAL);
		/* ROUTING-5: after the membarrier */
		is_taken = is_open(t, bit);
	}
	/* If t has changed its mask meanwhile, or ends, the caller chooses
	 * another thread. */
	if (is_process && (!is_taken || wf_sigqueue_is_closed(&t->sigqueue)) &&
	    !waits_for(t, bit) &&
	    wf_sigqueue_take_process(&t->sigqueue, bit, info))
		return -ESRCH;
	return 0;
}

int wf_routing_to_thread(struct wf_thread *me, struct wf_thread *t,
			 const siginfo_t *info)
{
	siginfo_t own = *info;

	if (wf_dump_signal_take(info->si_signo, NULL))
		return 0;
	return to_thread(me, t, &own, false);
}

/* --- to the process ----------------------------------------------------- */

bool wf_routing_is_awaited(const struct wf_thread *t, int sig)
{
	return waits_for(t, WF_SIGNAL_BIT(sig));
}

bool wf_routing_prefers(const struct wf_thread *t, int sig)
{
	const struct wf_thread *first;

	if (t->is_first)
		return true;
	first = thread_0();
	return first == NULL || !takes(first, WF_SIGNAL_BIT(sig));
}

static struct wf_thread *find_waiter(uint64_t bit)
{
	if (wf_load_relaxed(&wf_routing_nr_waiters) == 0)
		return NULL;
	for (uint32_t i = 1; i < wf_table_high(); i++) {
		if (waits_for(wf_table_at(i), bit))
			return wf_table_at(i);
	}
	return NULL;
}

static struct wf_thread *find_taker(uint64_t bit, struct wf_thread *preferred)
{
	struct wf_thread *t = thread_0();

	if (t != NULL && takes(t, bit))
		return t;
	if (preferred != NULL && takes(preferred, bit))
		return preferred;
	for (uint32_t i = 1; i < wf_table_high(); i++) {
		if (takes(wf_table_at(i), bit))
			return wf_table_at(i);
	}
	return NULL;
}

uint64_t wf_routing_open_in_threads(uint64_t set)
{
	uint64_t open = 0;

	for (uint64_t left = set; left != 0; left &= left - 1) {
		if (find_taker(left & -left, NULL) != NULL)
			open |= left & -left;
	}
	return open;
}

bool wf_routing_has_taker(int sig)
{
	return find_waiter(WF_SIGNAL_BIT(sig)) != NULL ||
	       find_taker(WF_SIGNAL_BIT(sig), NULL) != NULL;
}

/*
 * Gives *info to a thread. Returns false if no thread takes it; *info may then
 * be an older signal of the kind.
 */
static bool give(struct wf_thread *me, siginfo_t *info,
		 struct wf_thread *preferred)
{
	uint64_t bit = WF_SIGNAL_BIT(info->si_signo);
	struct wf_thread *t;

	/* A thread that ends just now has closed its queue, and is not chosen
	 * again. */
	while ((t = find_waiter(bit)) != NULL ||
	       (t = find_taker(bit, preferred)) != NULL) {
		if (to_thread(me, t, info, true) != -ESRCH)
			return true;
	}
	return false;
}

/* Gives the signals of set in the process's queue to the kernel. ROUTING-4 */
static void give_back(uint64_t set)
{
	int pid = wf_os_getpid();
	siginfo_t info;

	while ((wf_sigqueue_pending(&wf_routing_process) & set) != 0 &&
	       wf_sigqueue_take(&wf_routing_process, set, &info)) {
		int sig = info.si_signo;

		if (wf_sys(SYS_rt_sigqueueinfo, pid, sig, &info) == 0)
			continue;
		/* Only the process's first kernel thread may send all fields
		 * unchanged. */
		info.si_code = SI_QUEUE;
		if (wf_sys(SYS_rt_sigqueueinfo, pid, sig, &info) == 0)
			continue;
		wf_sigqueue_put(&wf_routing_process, &info, true);
		return;
	}
}

uint64_t wf_routing_without_takers(uint64_t set)
{
	uint64_t idle = 0;

	for (uint64_t left = set; left != 0; left &= left - 1) {
		if (!wf_routing_has_taker(__builtin_ctzll(left) + 1))
			idle |= left & -left;
	}
	return idle;
}

uint64_t wf_routing_leave_to_kernel(uint64_t set)
{
	uint64_t idle = wf_routing_without_takers(set), left = idle;

	/* ROUTING-3: a thread that has opened a signal has found it in the
	 * receiver's set. Otherwise it may have blocked the signal before the
	 * set had it again. */
	while (left != 0) {
		uint64_t again;

		wf_signal_receiver_leave_to_kernel(left);
		again = left & ~wf_routing_without_takers(left);
		wf_signal_receiver_want(again);
		wf_fence_seq_cst();
		left = wf_routing_without_takers(again);
	}
	return idle;
}

void wf_routing_leave_shown(uint64_t set)
{
	uint64_t left = wf_routing_leave_to_kernel(
		set & wf_load_relaxed(&wf_routing_shown));

	if (left == 0)
		return;
	wf_signal_receiver_settle();
	give_back(left);
}

void wf_routing_closed(const struct wf_thread *t, uint64_t closed)
{
	uint64_t halts = wf_signal_receiver_closing(t, closed);

	wf_routing_leave_shown(closed);
	if (halts == 0)
		return;
	wf_routing_leave_to_kernel(halts);
	/* signals of set that a thread waits for by now */
	wf_signal_receiver_close(halts);
}

void wf_routing_to_process(struct wf_thread *me, const siginfo_t *info,
			   struct wf_thread *preferred)
{
	uint64_t bit = WF_SIGNAL_BIT(info->si_signo);
	siginfo_t again = *info;

	if (wf_dump_signal_take(info->si_signo, NULL))
		return;
	while (!give(me, &again, preferred)) {
		if (wf_sigqueue_put(&wf_routing_process, &again, true) < 0)
			return;
		wf_signal_receiver_shrink(bit);
		wf_fence_seq_cst(); /* ROUTING-3: queued, then checks again */
		if (!wf_routing_has_taker(again.si_signo)) {
			give_back(bit & (wf_load_relaxed(&wf_routing_shown) |
					 wf_load_relaxed(&wf_action_halts)));
			return;
		}
		wf_signal_receiver_want(bit);
		if (!wf_sigqueue_take(&wf_routing_process, bit, &again))
			return;
	}
}

void wf_routing_fork_child(void)
{
	/* The pending signals belong to the parent. */
	memset(&wf_routing_process, 0, sizeof(wf_routing_process));
	wf_store_relaxed(&wf_routing_nr_waiters, 0);
	wf_store_relaxed(&wf_routing_first_mask, UINT64_MAX);
	wf_store_relaxed(&first_thread, NULL);
}

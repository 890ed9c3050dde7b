/* SPDX-License-Identifier: MIT */
/*
 * A thread may lose its kernel thread: a seccomp filter kills the kernel thread
 * alone, or code compiled into the program makes the system call exit. Natively
 * the thread has then ended: it can be joined, its robust mutexes have no
 * owner, and the rest of the process continues. Here the monitor finds the dead
 * carrier, and gives its thread a spare carrier on which to end.
 *
 * DEATHS-1. The kernel clears wf_sched.monitor_asleep when a carrier ends, and
 *     wakes the monitor (sched/vp.h). That is a little before the id is free,
 *     and one notice may stand for several ends. So the monitor checks all
 *     carriers for a while.
 * DEATHS-2. A carrier that ends in the program's code leaves nothing behind
 *     that weft needs. Its VP goes to a spare, as from a carrier that blocks.
 *     Its thread gets another spare and ends there, on a stack that starts
 *     again from the top. That is the thread's stack, if weft made it.
 *     Otherwise it is the dead carrier's signal stack, since the program may
 *     have unmapped the thread's stack by now.
 * DEATHS-3. A carrier that ends in weft's code may have left any state behind:
 *     that is fatal.
 */
#include "monitor/deaths.h"

#include <errno.h>
#include <signal.h>

#include "arch/arch.h"
#include "base/log.h"
#include "monitor/handoff.h"
#include "os/clock.h"
#include "os/kthread.h"
#include "os/sys.h"
#include "sched/carrier.h"
#include "sched/carrier_exit.h"
#include "sched/reserved.h"
#include "sched/runtime.h"
#include "sched/switch.h"
#include "thread/thread_count.h"
#include "thread/lifecycle.h"

enum { POLL_NS = WF_NS_PER_S };

static _Atomic bool is_forbidden;

void wf_deaths_watch_first(void)
{
	if (!wf_load_relaxed(&is_forbidden))
		wf_sys(SYS_set_tid_address, &wf_sched.monitor_asleep);
}

void wf_deaths_forbid(void)
{
	wf_store_relaxed(&is_forbidden, true);
}

/* --- the thread's last steps -------------------------------------------- */

/*
 * Ends the process as the kernel does if it kills the only thread of a process.
 */
static WF_NORETURN void die(void)
{
	uint64_t open = ~(1ULL << (SIGSYS - 1));
	struct sigaction dfl = { .sa_handler = SIG_DFL };

	wf_sys(SYS_rt_sigaction, SIGSYS, &dfl, NULL, 8);
	wf_os_set_signal_mask(open);
	wf_os_tgkill(wf_os_gettid(), SIGSYS);
	for (;;)
		wf_sys(SYS_exit_group, 128 + SIGSYS);
}

/* DEATHS-2. The thread's first frame on its new carrier. */
static void end_instead(void)
{
	struct wf_thread *t = wf_self;

	wf_switch_finish(t);
	wf_runtime_leave(t);
	if (t->is_first && wf_thread_count_nr() == 1)
		die();
	wf_thread_leave(t, 0);
}

/* --- the monitor's ------------------------------------------------------ */

static struct wf_vp *vp_of(const struct wf_carrier *c)
{
	struct wf_vp *vp = wf_load_relaxed(&c->vp);

	return vp != NULL && vp->carrier == c ? vp : NULL;
}

/* Returns the thread that ran on c when c ended, or NULL. */
static struct wf_thread *thread_of(const struct wf_carrier *c)
{
	const struct wf_vp *vp = vp_of(c);
	uint32_t high = wf_table_high();

	if (c->bound != NULL)
		return c->bound;
	if (vp != NULL)
		return wf_load_relaxed(&vp->cur);
	for (uint32_t i = 1; i < high; i++) {
		struct wf_thread *t = wf_table_at(i);

		if (t->carrier == c && wf_thread_exists(t) &&
		    wf_load_relaxed(&t->retake) == WF_RETAKE_TAKEN)
			return t;
	}
	return NULL;
}

/* True if the thread may end on its own stack. DEATHS-2 */
static bool has_own_stack(const struct wf_thread *t)
{
	return !t->is_first && !t->slot.has_user_stack;
}

static void end_thread(struct wf_thread *t, struct wf_carrier *dead,
		       struct wf_carrier *spare)
{
	void *top = has_own_stack(t) ? wf_slot_stack_top(&t->slot) :
				       dead->altstack + dead->altstack_bytes;

	if (!wf_reserved_stay(t)) {
		wf_reserved_end(t); /* the thread need not go there any more */
		wf_reserved_stay(t);
	}
	t->holds_signals = true;
	t->vp = NULL;
	t->carrier = spare;
	t->ctx.tp = t->slot.tcb;
	t->ctx.sp = wf_arch_context_make(top, end_instead,
					 WF_ARCH_FP_CONTROL_INITIAL);
	wf_store_relaxed(&t->in_runtime, 1);
	wf_store_relaxed(&t->retake, WF_RETAKE_NONE);
	wf_carrier_give_bound(spare, t);
}

/*
 * Ends the thread of c if c's kernel thread has ended. Returns false if there
 * is no spare: then it has to be called again.
 */
static bool check(struct wf_carrier *c)
{
	struct wf_thread *t = thread_of(c);
	struct wf_vp *vp = vp_of(c);
	struct wf_carrier *spare;

	WF_CHECK(
		t != NULL && wf_load_relaxed(&t->in_runtime) == 0 &&
			t->wait_addr == NULL,
		"the kernel has ended a kernel thread in weft's own code; does "
		"a seccomp filter kill threads for what weft calls?");
	if (vp != NULL) {
		wf_handoff_from_dead(vp, t);
		return false;
	}
	spare = wf_carrier_take_spare();
	if (spare == NULL)
		return false;
	wf_carrier_note_exited(c, has_own_stack(t));
	end_thread(t, c, spare);
	return true;
}

/*
 * True if c has a kernel thread that may end. An exited carrier may have an id,
 * which its maker may store late.
 */
static bool is_watched(const struct wf_carrier *c)
{
	return wf_load_acquire(&c->tid) != 0 && !wf_carrier_is_exited(c);
}

bool wf_deaths_serve(int64_t now_ns)
{
	static int64_t until_ns;
	uint32_t nr, death = WF_MONITOR_DEATH;

	/* Marks the notice as read. A carrier that ends from now on makes a new
	 * one. */
	if (wf_load_relaxed(&wf_sched.monitor_asleep) == death &&
	    wf_cas_acq_rel(&wf_sched.monitor_asleep, &death, WF_MONITOR_AWAKE))
		/* DEATHS-1: check all for a while */
		until_ns = now_ns + POLL_NS;
	if (now_ns >= until_ns)
		return false;
	nr = wf_carrier_count();
	for (uint32_t i = 0; i < nr; i++) {
		struct wf_carrier *c = wf_carrier_at(i);

		if (c != NULL && is_watched(c) && wf_handoff_has_ended(c) &&
		    !check(c))
			until_ns = now_ns + POLL_NS;
	}
	return true;
}

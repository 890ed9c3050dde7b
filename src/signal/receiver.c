/*
 * V1. want is a superset of what some thread does not block or waits for:
 *     who unblocks adds to it first, and pokes if a bit is new. What all
 *     threads block stays with the kernel, where signalfd and exec find it.
 * V2. It blocks everything, the preemption signal too, and takes all by
 *     sigtimedwait: no handler ever runs on it.
 */
#include "signal/receiver.h"

#include <signal.h>

#include "base/atomic.h"
#include "os/kthread.h"
#include "os/sys.h"
#include "sched/preempt.h"
#include "sched/service.h"
#include "sched/thread.h"
#include "signal/preempt.h"
#include "signal/queue.h"
#include "signal/route.h"
#include "signal/posix_timer.h"

static _Atomic uint64_t want; /* V1 */
static _Atomic uint64_t kept; /* never shrinks */
static _Atomic int tid;
static struct wf_thread self;

static void run(void *arg)
{
	wf_os_set_signal_mask(UINT64_MAX); /* V2 */
	for (;;) {
		uint64_t set =
			(wf_load_acquire(&want) | wf_load_relaxed(&kept)) &
			~WF_SIGNAL_BIT(32);
		struct wf_thread *t = NULL;
		siginfo_t info;
		long sig;

		set |= WF_PREEMPT_BIT;
		sig = wf_sys(SYS_rt_sigtimedwait, &set, &info, NULL, 8);

		if (sig == WF_PREEMPT_SIGNAL && wf_preempt_setxid != NULL)
			wf_preempt_setxid();
		else if (sig <= 0 || sig == WF_PREEMPT_SIGNAL)
			continue;
		else if (!wf_posix_timer_target(&info, &t))
			wf_route_to_process(&self, &info, NULL);
		else if (t != NULL)
			wf_route_to_thread(&self, t, &info, false);
	}
}

int wf_receiver_start(void)
{
	return wf_service_start(run, &self, &tid);
}

void wf_receiver_want(uint64_t set)
{
	if ((set & ~wf_load_relaxed(&want)) == 0)
		return;
	if ((set & ~atomic_fetch_or(&want, set)) != 0)
		wf_os_tgkill(wf_load_relaxed(&tid), WF_PREEMPT_SIGNAL);
}

void wf_receiver_keep(uint64_t set)
{
	if ((set & ~atomic_fetch_or(&kept, set)) != 0)
		wf_os_tgkill(wf_load_relaxed(&tid), WF_PREEMPT_SIGNAL);
}

void wf_receiver_shrink(uint64_t set)
{
	atomic_fetch_and(&want, ~set);
}

int wf_receiver_tid(void)
{
	return wf_load_relaxed(&tid);
}

void wf_receiver_fork_child(void)
{
	wf_store_relaxed(&tid, 0);
	wf_store_relaxed(&want, 0);
	wf_store_relaxed(&kept, 0);
}

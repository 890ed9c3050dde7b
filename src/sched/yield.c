#include "sched/yield.h"

#include "os/sys.h"
#include "sched/runtime.h"
#include "sched/switch.h"

void wf_sched_yield(void)
{
	struct wf_thread *t = wf_runtime_enter();
	bool switched = false;

	if (t->kind == WF_THREAD_MULTIPLEXED)
		switched = wf_switch_yield(t, WF_RESCHED_NONE);
	wf_runtime_leave(t);
	/* A spinning program's peer may be on another carrier. */
	if (!switched)
		wf_sys(SYS_sched_yield);
}

#include "thread/kernel_state.h"

#include <errno.h>

#include "sched/carrier.h"
#include "sched/runtime.h"
#include "sched/table.h"

int wf_kernel_state_begin(void)
{
	struct wf_thread *t;
	bool is_bound;

	/* Before there are others, all are cloned from this one. */
	if (!wf_is_started())
		return 0;
	t = wf_runtime_enter();
	is_bound = wf_carrier_bind(t);
	wf_runtime_leave(t);
	return is_bound ? 0 : -EAGAIN;
}

void wf_kernel_state_end(long rc)
{
	struct wf_thread *t = wf_self;

	if (rc >= 0 && t != NULL && t->kind == WF_THREAD_BOUND)
		t->carrier->is_altered = true;
}

int wf_kernel_state_tid(int tid)
{
	const struct wf_thread *t = NULL;

	if (wf_is_started())
		t = tid == 0 ? wf_self : wf_table_by_tid(tid);
	if (t == NULL || t->kind == WF_THREAD_FOREIGN)
		return tid;
	return wf_load_relaxed(t->kind == WF_THREAD_BOUND ?
				       &t->carrier->tid :
				       &wf_sched.vps[0].carrier->tid);
}

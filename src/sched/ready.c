#include "sched/ready.h"

#include "os/futex.h"

static void wake_kernel_thread(struct wf_thread *t)
{
	/* release: the waker's writes; pairs with the sleeper's load. */
	wf_store_release(&t->kernel_word, 1);
	wf_os_futex_wake(&t->kernel_word, 1);
}

static bool has_vp(const struct wf_thread *me)
{
	return me != NULL && me->kind == WF_THREAD_MULTIPLEXED &&
	       me->vp != NULL;
}

void wf_ready_woken(struct wf_thread *me, struct wf_thread *t)
{
	struct wf_vp *vp;

	if (t->kind != WF_THREAD_MULTIPLEXED) {
		wake_kernel_thread(t);
		return;
	}
	if (!has_vp(me)) {
		wf_queue_put_remote(NULL, t, WF_READY_WOKEN);
		return;
	}
	vp = me->vp;
	wf_queue_put(vp, t, WF_READY_WOKEN);
	/* A computing thread gives way to whom it wakes. */
	if (me->hog && wf_load_relaxed(&vp->balance) < WF_BALANCE_TICK) {
		wf_vp_ask(vp, WF_RESCHED_WAKE,
			  wf_load_relaxed(&vp->counters.switches));
		atomic_fetch_or(&me->exit_work, WF_WORK_RESCHED);
	}
}

void wf_ready_new(struct wf_thread *me, struct wf_thread *t)
{
	if (has_vp(me))
		wf_queue_put(me->vp, t, WF_READY_NEW);
	else
		wf_queue_put_remote(NULL, t, WF_READY_NEW);
}

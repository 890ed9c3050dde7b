/*
 * POSIX timers. Those that signal one thread of weft's are aimed at the
 * receiver (signal/posix_timer.c); all others are libc's and the kernel's.
 */
#include <signal.h>
#include <time.h>

#include "api/api.h"
#include "boot/boot.h"
#include "libc/real.h"
#include "sched/preempt.h"
#include "sched/runtime.h"
#include "sched/table.h"
#include "signal/receiver.h"
#include "signal/posix_timer.h"

/* Since 2.34 a timer_t that has no SIGEV_THREAD is the kernel's number. */
static int kernel_id(timer_t timer)
{
	return (int)(intptr_t)timer;
}

/* With the receiver in t's place. */
static int create_for(struct wf_thread *t, clockid_t clock,
		      struct sigevent event, timer_t *ret_timer)
{
	int sig = event.sigev_signo;
	struct wf_thread *me;
	timer_t timer;
	int err;

	event._sigev_un._tid = wf_receiver_tid();
	event.sigev_signo = WF_PREEMPT_SIGNAL;
	if (wf_real.timer_create(clock, &event, &timer) < 0)
		return -errno;
	me = wf_runtime_enter();
	err = wf_posix_timer_add(kernel_id(timer), sig, t->tid);
	wf_runtime_leave(me);
	if (err < 0)
		wf_real.timer_delete(timer);
	else
		*ret_timer = timer;
	return err;
}

WF_API(int, timer_create, clockid_t clock, struct sigevent *restrict event,
       timer_t *restrict ret_timer)
{
	struct wf_thread *t = NULL;

	/* A timer of before the start would be the first carrier's. */
	if (event != NULL && event->sigev_notify == SIGEV_THREAD_ID &&
	    (wf_is_started() || wf_boot_start() == 0))
		t = wf_table_by_tid(event->_sigev_un._tid);
	if (t == NULL || t->kind == WF_THREAD_FOREIGN ||
	    event->sigev_signo < 1 || event->sigev_signo > 64)
		return wf_real.timer_create(clock, event, ret_timer);
	return wf_api_errno(create_for(t, clock, *event, ret_timer));
}

WF_API(int, timer_delete, timer_t timer)
{
	struct wf_thread *me;

	/* SIGEV_THREAD: the number has no place in it. */
	if (wf_is_started() && (intptr_t)timer >= 0) {
		me = wf_runtime_enter();
		wf_posix_timer_remove(kernel_id(timer));
		wf_runtime_leave(me);
	}
	return wf_real.timer_delete(timer);
}

WF_API(int, timer_getoverrun, timer_t timer)
{
	struct wf_thread *me;
	int overrun = -ENOENT;

	if (wf_is_started() && (intptr_t)timer >= 0) {
		me = wf_runtime_enter();
		overrun = wf_posix_timer_overrun(kernel_id(timer));
		wf_runtime_leave(me);
	}
	return overrun >= 0 ? overrun : wf_real.timer_getoverrun(timer);
}

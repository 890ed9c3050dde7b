/* SPDX-License-Identifier: MIT */
/*
 * POSIX timers. If a timer signals one thread of weft, the kernel signals the
 * signal receiver thread, which finds the thread (signal/posix_timer.c). A
 * timer on a thread's CPU clock runs on the clock of a kernel thread, to which
 * the thread is bound (thread/cpu_timer.c). All other timers are libc's.
 */
#include <errno.h>
#include <signal.h>
#include <time.h>

#include "api/api.h"
#include "api/clock.h"
#include "boot/boot.h"
#include "libc/real.h"
#include "os/sys.h"
#include "sched/preempt.h"
#include "sched/runtime.h"
#include "sched/table.h"
#include "signal/mask.h"
#include "signal/memory.h"
#include "signal/posix_timer.h"
#include "signal/signal_receiver.h"
#include "thread/cpu_timer.h"

/* Since glibc 2.34 a timer_t without SIGEV_THREAD is the kernel's number. */
static int kernel_id(timer_t timer)
{
	return (int)(intptr_t)timer;
}

/* Creates a timer that signals the receiver in place of t. */
static int create_for(struct wf_thread *t, clockid_t clock,
		      struct sigevent event, timer_t *ret_timer)
{
	int sig = event.sigev_signo;
	struct wf_thread *me;
	timer_t timer;
	int err;

	event._sigev_un._tid = wf_signal_receiver_tid();
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

/* The thread of weft that the timer signals, or NULL. */
static struct wf_thread *target_of(const struct sigevent *event)
{
	struct wf_thread *t = NULL;

	/* Else the timer would signal the first carrier after the start. */
	if (event != NULL && event->sigev_notify == SIGEV_THREAD_ID &&
	    event->sigev_signo >= 1 && event->sigev_signo <= 64 &&
	    (wf_is_started() || wf_boot_start() == 0))
		t = wf_table_by_tid(event->_sigev_un._tid);
	return t != NULL && t->kind != WF_THREAD_FOREIGN ? t : NULL;
}

static int create(clockid_t clock, struct sigevent *event, timer_t *ret_timer)
{
	struct wf_thread *target = target_of(event);

	if (target != NULL)
		return create_for(target, clock, *event, ret_timer);
	return wf_real.timer_create(clock, event, ret_timer) < 0 ? -errno : 0;
}

/* Creates a timer on the CPU clock of `timed`. */
static int create_on(struct wf_thread *timed, struct sigevent *event,
		     timer_t *ret_timer)
{
	clockid_t clock;
	timer_t timer;
	int err = wf_cpu_timer_clock(timed, &clock);

	if (err == 0)
		err = create(clock, event, &timer);
	if (err < 0)
		return err;
	err = wf_cpu_timer_add(timer, timed);
	if (err < 0)
		timer_delete(timer);
	else
		*ret_timer = timer;
	return err;
}

WF_API(int, timer_create, clockid_t clock, struct sigevent *restrict event,
       timer_t *restrict ret_timer)
{
	struct wf_thread *timed;
	int err = wf_clock_owner(clock, &timed);

	if (err == 0 && timed == NULL && clock == CLOCK_THREAD_CPUTIME_ID)
		wf_cpu_timer_note();
	if (err == 0)
		err = timed != NULL ? create_on(timed, event, ret_timer) :
				      create(clock, event, ret_timer);
	return wf_api_errno(err);
}

/*
 * Checks the times for a timer on the CPU clock of `timed`, and translates an
 * absolute time to the clock of its kernel thread. timed NULL: the thread has
 * ended, its kernel thread has not.
 */
static int set_on(const struct wf_thread *timed, int flags,
		  struct itimerspec *spec)
{
	if (!wf_cpu_timer_is_valid(&spec->it_value) ||
	    !wf_cpu_timer_is_valid(&spec->it_interval))
		return -EINVAL;
	if (timed == NULL)
		return -ESRCH;
	if ((flags & TIMER_ABSTIME) != 0 &&
	    (spec->it_value.tv_sec | spec->it_value.tv_nsec) != 0)
		spec->it_value = wf_cpu_timer_translate(timed, spec->it_value);
	return 0;
}

WF_API(int, timer_settime, timer_t timer, int flags,
       const struct itimerspec *restrict spec,
       struct itimerspec *restrict ret_old)
{
	const struct wf_thread *timed;
	struct itimerspec own;
	int err;

	if (wf_is_started())
		wf_mask_leave_blocked();
	if (spec == NULL || !wf_cpu_timer_owner(timer, &timed))
		return wf_real.timer_settime(timer, flags, spec, ret_old);
	if (wf_memory_get(&own, spec, sizeof(own)) < 0)
		return wf_api_errno(-EFAULT);
	err = set_on(timed, flags, &own);
	return err < 0 ? wf_api_errno(err) :
			 wf_real.timer_settime(timer, flags, &own, ret_old);
}

WF_API(int, timer_gettime, timer_t timer, struct itimerspec *ret_spec)
{
	static const struct itimerspec none;
	const struct wf_thread *timed;

	if (!wf_cpu_timer_owner(timer, &timed) || timed != NULL)
		return wf_real.timer_gettime(timer, ret_spec);
	return wf_api_errno(wf_memory_put(ret_spec, &none, sizeof(none)));
}

WF_API(int, timer_delete, timer_t timer)
{
	struct wf_thread *me;

	wf_cpu_timer_remove(timer);
	/* A negative timer_t is one of SIGEV_THREAD, without that number. */
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

/* --- by system call ------------------------------------------------------- */

/*
 * The kernel's timer_t is an int, and libc's is the same number. The exception
 * is SIGEV_THREAD: the kernel takes that for a signal to the process.
 */
static long create_by_number(const long *a)
{
	struct sigevent event;
	timer_t timer;
	int id;

	if (a[1] != 0 &&
	    (wf_memory_get(&event, (const void *)a[1], sizeof(event)) < 0 ||
	     event.sigev_notify == SIGEV_THREAD))
		return wf_sys(SYS_timer_create, a[0], a[1], a[2]);
	if (timer_create((clockid_t)a[0], a[1] != 0 ? &event : NULL, &timer) <
	    0)
		return -errno;
	id = kernel_id(timer);
	if (wf_memory_put((void *)a[2], &id, sizeof(id)) == 0)
		return 0;
	timer_delete(timer);
	return -EFAULT;
}

long wf_timer_syscall(long nr, const long *a)
{
	timer_t timer = (timer_t)(intptr_t)(int)a[0];
	int rc;

	switch (nr) {
	case SYS_timer_create:
		return create_by_number(a);
	case SYS_timer_settime:
		rc = timer_settime(timer, (int)a[1],
				   (const struct itimerspec *)a[2],
				   (struct itimerspec *)a[3]);
		break;
	case SYS_timer_gettime:
		rc = timer_gettime(timer, (struct itimerspec *)a[1]);
		break;
	case SYS_timer_getoverrun:
		rc = timer_getoverrun(timer);
		break;
	case SYS_timer_delete:
		rc = timer_delete(timer);
		break;
	case SYS_clock_getres:
		rc = clock_getres((clockid_t)a[0], (struct timespec *)a[1]);
		break;
	default:
		return -clock_nanosleep((clockid_t)a[0], (int)a[1],
					(const struct timespec *)a[2],
					(struct timespec *)a[3]);
	}
	return rc < 0 ? -errno : rc;
}

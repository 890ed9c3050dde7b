/* SPDX-License-Identifier: MIT */
/*
 * POSIX gives a process one set of credentials, the kernel gives each kernel
 * thread its own set. So a change has to reach all kernel threads of the
 * process. glibc's broadcast would signal thread ids that the kernel does not
 * know. This file makes the call on the caller's kernel thread first. Then it
 * signals weft's kernel threads, which make the same call, and waits for all of
 * them.
 *
 * SETXID-1. No carrier is cloned between the count and the end (clone lock).
 * SETXID-2. The caller goes first. If its call fails, no other kernel thread
 *     has changed.
 * SETXID-3. With its new credentials the caller might not be allowed to signal
 *     I/O servers. So the caller signals them before, and they wait in their
 *     handlers for the result of its call. Two numbers report it: the number of
 *     the attempt that has begun, and of the last attempt that is over.
 * SETXID-4. If the call has succeeded on the caller, it has to succeed on all
 *     kernel threads. Otherwise their credentials differ, and the process ends,
 *     as with glibc. The caller ends it, where a handler for SIGABRT can run.
 * SETXID-5. No signal of this broadcast may be on its way to a thread that
 *     executes a program (signal/preempt.c, PREEMPT-5).
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "boot/boot.h"
#include "io/backend/worker.h"
#include "libc/real.h"
#include "monitor/clock_watch.h"
#include "monitor/monitor.h"
#include "os/clock.h"
#include "os/kthread.h"
#include "os/sys.h"
#include "sched/carrier.h"
#include "sched/clone_lock.h"
#include "sched/idle.h"
#include "sched/preempt.h"
#include "sched/runtime.h"
#include "signal/preempt.h"
#include "signal/signal_receiver.h"
#include "wait/sleep.h"

/*
 * The time for which a thread parks before it checks again whether another
 * thread's change is over.
 */
#define TURN_NS (100 * WF_NS_PER_US)

static struct {
	struct wf_spin lock;
	/* number of the last change; 0: none yet */
	_Atomic uint32_t generation;
	long nr, args[3];
	_Atomic bool is_torn; /* credentials differ: SETXID-4 */
} change;

static _Atomic uint32_t attempt_begun, attempt_over; /* attempts: SETXID-3 */
static _Atomic uint32_t monitor_seen, receiver_seen;

static void follow(_Atomic uint32_t *seen)
{
	/* acquire: the call's number and arguments; pairs with the release in
	 * wf_setxid. */
	uint32_t generation = wf_load_acquire(&change.generation);

	if (wf_load_relaxed(seen) == generation)
		return;
	if (wf_sys(change.nr, change.args[0], change.args[1], change.args[2]) <
	    0)
		/* SETXID-4: the call has failed here */
		wf_store_relaxed(&change.is_torn, true);
	/* release: the change has been made here; pairs with the acquire in
	 * is_missing. */
	wf_store_release(seen, generation);
}

/* Follows a change on an I/O server. SETXID-3 */
static void follow_as_process(const struct wf_worker_follower *f)
{
	/* acquire: the attempt; pairs with the release in gather_processes. */
	uint32_t attempt = wf_load_acquire(&attempt_begun);

	if (wf_load_acquire(&attempt_over) != attempt) {
		/* release: this server waits in its handler; pairs with the
		 * acquire in nr_absent. */
		wf_store_release(f->arrived, attempt);
		/* acquire: the result of the caller's call; pairs with the
		 * release in wf_setxid. */
		while (wf_load_acquire(&attempt_over) != attempt)
			wf_sys(SYS_sched_yield);
	}
	if (wf_load_acquire(&change.generation) == wf_load_relaxed(f->seen))
		return;
	follow(f->seen);
	wf_worker_changed();
}

void wf_setxid_follow(void)
{
	struct wf_thread *t = wf_self;
	struct wf_worker_follower worker = wf_worker_self(t);

	if (worker.is_process) {
		follow_as_process(&worker);
		return;
	}
	if (wf_load_relaxed(&change.generation) == 0)
		return;
	if (t != NULL && t->carrier != NULL)
		follow(&t->carrier->setxid_seen);
	else if (worker.seen != NULL)
		follow(worker.seen);
	else if (wf_os_gettid() == wf_monitor_tid())
		follow(&monitor_seen);
	else if (wf_os_gettid() == wf_signal_receiver_tid())
		follow(&receiver_seen);
	else if (wf_os_gettid() == wf_clock_watch_tid())
		follow(&wf_clock_watch_followed);
}

static bool is_missing(int tid, const _Atomic uint32_t *seen,
		       uint32_t generation)
{
	/* acquire: the kernel thread has made the change; pairs with the
	 * release in follow. */
	return tid != 0 && wf_load_acquire(seen) != generation;
}

/*
 * Returns how many carriers, I/O workers and clock watchers have not followed,
 * and signals them if is_time. The kernel may refuse a signal for want of
 * memory or by a limit, so the caller repeats this until the result is 0.
 */
static uint32_t nr_missing(uint32_t generation, int self_tid, bool is_time)
{
	uint32_t nr = wf_carrier_count(), missing = 0;

	for (uint32_t i = 0; i < nr; i++) {
		struct wf_carrier *c = wf_carrier_at(i);
		int tid = c != NULL ? wf_load_acquire(&c->tid) : 0;

		/* Does not wait for an exited carrier: its kernel thread may be
		 * unable to follow. */
		if (tid == self_tid || c == NULL || wf_carrier_is_exited(c) ||
		    !is_missing(tid, &c->setxid_seen, generation))
			continue;
		missing++;
		if (is_time)
			wf_os_tgkill(tid, WF_PREEMPT_SIGNAL);
	}
	for (uint32_t i = 0; i < wf_worker_count(); i++) {
		struct wf_worker_follower f = wf_worker_at(i);

		if (!is_missing(f.tid, f.seen, generation))
			continue;
		missing++;
		/* SETXID-3: servers were signalled before */
		if (is_time && !f.is_process)
			wf_worker_signal(i, WF_PREEMPT_SIGNAL);
	}
	if (is_missing(wf_clock_watch_tid(), &wf_clock_watch_followed,
		       generation)) {
		missing++;
		if (is_time)
			wf_os_tgkill(wf_clock_watch_tid(), WF_PREEMPT_SIGNAL);
	}
	return missing;
}

/*
 * Returns how many I/O servers have not come for the attempt, and signals them
 * if is_time (SETXID-3).
 */
static uint32_t nr_absent(uint32_t attempt, bool is_time)
{
	uint32_t absent = 0;

	for (uint32_t i = 0; i < wf_worker_count(); i++) {
		struct wf_worker_follower f = wf_worker_at(i);

		if (!f.is_process || !is_missing(f.tid, f.arrived, attempt))
			continue;
		absent++;
		if (is_time) {
			wf_worker_signal(i, WF_PREEMPT_SIGNAL);
			/* Lets the server continue if it was stopped. */
			wf_worker_signal(i, SIGCONT);
		}
	}
	return absent;
}

enum { YIELDS_PER_SIGNAL = 1000 };

/*
 * Waits until all I/O servers wait in their handlers, and returns the number of
 * the attempt. SETXID-3
 */
static uint32_t gather_processes(void)
{
	uint32_t attempt = wf_load_relaxed(&attempt_begun) + 1;
	uint32_t yields = 0;

	/* release: publishes the attempt; pairs with the acquire in
	 * follow_as_process. */
	wf_store_release(&attempt_begun, attempt);
	while (nr_absent(attempt, yields == 0) > 0) {
		yields = (yields + 1) % YIELDS_PER_SIGNAL;
		wf_sys(SYS_sched_yield);
	}
	return attempt;
}

/*
 * Raises the limit of queued signals as far as possible: the kernel counts
 * real-time signals against it.
 */
static void lift_signal_limit(void)
{
	struct rlimit limit;

	if (wf_sys(SYS_prlimit64, 0, RLIMIT_SIGPENDING, NULL, &limit) < 0 ||
	    limit.rlim_cur >= limit.rlim_max)
		return;
	limit.rlim_cur = limit.rlim_max;
	wf_sys(SYS_prlimit64, 0, RLIMIT_SIGPENDING, &limit, NULL);
}

static void broadcast(struct wf_thread *me, uint32_t generation)
{
	int self_tid = wf_os_gettid();
	uint32_t yields = 0;

	wf_carrier_setxid_generation = generation;
	if (me->carrier != NULL)
		wf_store_relaxed(&me->carrier->setxid_seen, generation);
	/* release: publishes the call; pairs with the acquire in follow. */
	wf_store_release(&change.generation, generation);
	wf_store_release(&attempt_over, wf_load_relaxed(&attempt_begun));
	wf_idle_wake_monitor();
	while (nr_missing(generation, self_tid, yields == 0) > 0 ||
	       wf_load_acquire(&monitor_seen) != generation ||
	       wf_load_acquire(&receiver_seen) != generation) {
		if (yields == 0)
			wf_os_tgkill(wf_signal_receiver_tid(),
				     WF_PREEMPT_SIGNAL);
		yields = (yields + 1) % YIELDS_PER_SIGNAL;
		wf_sys(SYS_sched_yield);
	}
}

/*
 * Makes a change in a process without the runtime: all threads are libc's, so
 * libc's broadcast reaches them.
 */
static int change_native(long nr, long a, long b, long c)
{
	uid_t id[] = { (uid_t)a, (uid_t)b, (uid_t)c };
	int rc;

	switch (nr) {
	case SYS_setuid:
		rc = wf_real.setuid(id[0]);
		break;
	case SYS_setgid:
		rc = wf_real.setgid(id[0]);
		break;
	case SYS_setreuid:
		rc = wf_real.setreuid(id[0], id[1]);
		break;
	case SYS_setregid:
		rc = wf_real.setregid(id[0], id[1]);
		break;
	case SYS_setresuid:
		rc = wf_real.setresuid(id[0], id[1], id[2]);
		break;
	case SYS_setresgid:
		rc = wf_real.setresgid(id[0], id[1], id[2]);
		break;
	default:
		rc = wf_real.setgroups((size_t)a, (const gid_t *)b);
		break;
	}
	return rc < 0 ? -errno : 0;
}

/*
 * Waits until no other change and no exec is in progress (SETXID-5). A change
 * takes as long as the slowest kernel thread takes to follow, tens of ms on a
 * busy machine. So the thread parks meanwhile, and its VP runs other threads.
 * Returns the caller, in the runtime, with change.lock held.
 */
static struct wf_thread *begin_change(void)
{
	for (;;) {
		struct wf_thread *t = wf_preempt_broadcast_begin();

		if (wf_spin_trylock(&change.lock, WF_RANK_SETXID))
			return t;
		wf_preempt_broadcast_end();
		wf_runtime_leave(t);
		wf_sleep_until(wf_os_now() + TURN_NS);
	}
}

int wf_setxid(long nr, long a, long b, long c)
{
	struct wf_thread *t;
	uint32_t attempt;
	bool is_torn;
	long err;

	if (wf_boot_stays_native())
		return change_native(nr, a, b, c);
	if (!wf_is_started())
		return (int)wf_sys(nr, a, b, c);
	t = begin_change();
	lift_signal_limit();
	wf_clone_lock_last(); /* SETXID-1: no carrier is cloned */
	wf_store_relaxed(&wf_carrier_setxid_comes, true);
	attempt = gather_processes();
	err = wf_sys(nr, a, b, c); /* SETXID-2: the caller first */
	if (err >= 0) {
		change.nr = nr;
		change.args[0] = a;
		change.args[1] = b;
		change.args[2] = c;
		broadcast(t, wf_load_relaxed(&change.generation) + 1);
	}
	wf_store_release(&attempt_over, attempt);
	is_torn = wf_load_relaxed(&change.is_torn);
	wf_store_relaxed(&wf_carrier_setxid_comes, false);
	wf_clone_unlock();
	wf_spin_unlock(&change.lock);
	wf_preempt_broadcast_end();
	wf_runtime_leave(t);
	if (is_torn)
		abort();
	return (int)err;
}

void wf_setxid_fork_child(void)
{
	change.lock = WF_SPIN_INIT;
	wf_store_relaxed(&change.generation, 0);
	wf_store_relaxed(&change.is_torn, false);
	wf_store_relaxed(&attempt_begun, 0);
	wf_store_relaxed(&attempt_over, 0);
	wf_store_relaxed(&monitor_seen, 0);
	wf_store_relaxed(&receiver_seen, 0);
}

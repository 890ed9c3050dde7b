/*
 * POSIX gives a process one set of credentials, the kernel gives each of its
 * threads one. glibc's own broadcast would signal thread ids that the kernel
 * does not know; this one visits weft's kernel threads.
 *
 * X1. No carrier is cloned between the count and the end (clone lock).
 * X2. The caller goes first; if it fails nobody else has changed.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "boot/boot.h"
#include "io/server.h"
#include "os/kthread.h"
#include "os/sys.h"
#include "sched/carrier.h"
#include "sched/idle.h"
#include "sched/preempt.h"
#include "sched/runtime.h"
#include "signal/receiver.h"

static struct {
	struct wf_spin lock;
	_Atomic uint32_t generation; /* of the last change; 0: none yet */
	long nr, args[3];
} change;

static _Atomic uint32_t monitor_seen, receiver_seen;

static void follow(_Atomic uint32_t *seen)
{
	/* acquire: the call's number and arguments. */
	uint32_t generation = wf_load_acquire(&change.generation);

	if (wf_load_relaxed(seen) == generation)
		return;
	/* What the caller could do, all can; else the process is torn. */
	if (wf_sys(change.nr, change.args[0], change.args[1], change.args[2]) <
	    0)
		abort();
	/* release: done; pairs with the acquire in nr_missing. */
	wf_store_release(seen, generation);
}

void wf_setxid_follow(void)
{
	struct wf_thread *t = wf_self;
	_Atomic uint32_t *server_seen = wf_server_seen(t);

	if (wf_load_relaxed(&change.generation) == 0)
		return;
	if (t != NULL && t->carrier != NULL)
		follow(&t->carrier->setxid_seen);
	else if (server_seen != NULL)
		follow(server_seen);
	else if (wf_os_gettid() == wf_monitor_tid())
		follow(&monitor_seen);
	else if (wf_os_gettid() == wf_receiver_tid())
		follow(&receiver_seen);
}

static bool is_missing(int tid, const _Atomic uint32_t *seen,
		       uint32_t generation, bool is_time)
{
	/* acquire: it has followed; pairs with follow. */
	if (tid == 0 || wf_load_acquire(seen) == generation)
		return false;
	if (is_time)
		wf_os_tgkill(tid, WF_PREEMPT_SIGNAL);
	return true;
}

/*
 * Carriers and I/O servers that have not followed, which are signalled if
 * is_time. A signal may be refused for want of memory or by a limit, and is
 * then sent again.
 */
static uint32_t nr_missing(uint32_t generation, int self_tid, bool is_time)
{
	uint32_t nr = wf_carrier_count(), missing = 0;

	for (uint32_t i = 0; i < nr; i++) {
		struct wf_carrier *c = wf_carrier_at(i);
		int tid = c != NULL ? wf_load_acquire(&c->tid) : 0;

		if (tid != 0 && tid != self_tid)
			missing += is_missing(tid, &c->setxid_seen, generation,
					      is_time);
	}
	for (uint32_t i = 0; i < wf_server_count(); i++) {
		_Atomic uint32_t *seen;
		int tid = wf_server_at(i, &seen);

		missing += is_missing(tid, seen, generation, is_time);
	}
	return missing;
}

/* As far as it may be: the kernel counts real-time signals against it. */
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
	enum { YIELDS_PER_SIGNAL = 1000 };
	int self_tid = wf_os_gettid();
	uint32_t yields = 0;

	wf_carrier_setxid_generation = generation;
	if (me->carrier != NULL)
		wf_store_relaxed(&me->carrier->setxid_seen, generation);
	/* release: pairs with the acquire in follow. */
	wf_store_release(&change.generation, generation);
	wf_idle_wake_monitor();
	while (nr_missing(generation, self_tid, yields == 0) > 0 ||
	       wf_load_acquire(&monitor_seen) != generation ||
	       wf_load_acquire(&receiver_seen) != generation) {
		if (yields == 0)
			wf_os_tgkill(wf_receiver_tid(), WF_PREEMPT_SIGNAL);
		yields = (yields + 1) % YIELDS_PER_SIGNAL;
		wf_sys(SYS_sched_yield);
	}
}

int wf_setxid(long nr, long a, long b, long c)
{
	struct wf_thread *t = wf_runtime_enter();
	long err;

	if (!wf_is_started()) {
		wf_runtime_leave(t);
		return (int)wf_sys(nr, a, b, c);
	}
	wf_spin_lock(&change.lock);
	lift_signal_limit();
	wf_carrier_clone_lock();   /* X1 */
	err = wf_sys(nr, a, b, c); /* X2 */
	if (err >= 0) {
		change.nr = nr;
		change.args[0] = a;
		change.args[1] = b;
		change.args[2] = c;
		broadcast(t, wf_load_relaxed(&change.generation) + 1);
	}
	wf_carrier_clone_unlock();
	wf_spin_unlock(&change.lock);
	wf_runtime_leave(t);
	return (int)err;
}

void wf_setxid_fork_child(void)
{
	change.lock = WF_SPIN_INIT;
	wf_store_relaxed(&change.generation, 0);
	wf_store_relaxed(&monitor_seen, 0);
	wf_store_relaxed(&receiver_seen, 0);
}

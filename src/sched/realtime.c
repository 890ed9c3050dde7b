/* SPDX-License-Identifier: MIT */
/*
 * The queue of real-time threads: a bitmap of priorities and a list of threads
 * for each, under one lock. While a thread waits here, a bit of each VP makes
 * its next pick take the slow path and check the lists.
 *
 * REALTIME-1. All fields are under `lock`. `best` is the highest priority that
 *     waits, 0 if none does; any thread may read it.
 * REALTIME-2. While a thread waits, every VP's `pending` has
 *     WF_PENDING_REALTIME: it is set and cleared under `lock`. So each picking
 *     VP sees it, and so does an idle VP that announces itself and checks
 *     again.
 * REALTIME-3. t->rt_priority is written under `lock`. t->rt_list is the list
 *     that t is in, 0 if none. A thread in a list is in no other queue.
 * REALTIME-4. A not-yet-started thread is claimed before it is put here. So no
 *     joiner takes it, and the lists may link threads.
 * REALTIME-5. A thread that puts another one here disturbs one VP. It is the
 *     caller's own VP, if that runs a lower priority; else an idle VP. Else the
 *     monitor finds a VP to preempt, since it knows whether a signal would end
 *     a system call. If a VP switches meanwhile and is missed, the next tick
 *     finds it. No thread disturbs a VP where real-time threads are throttled
 *     (sched/throttle.h).
 * REALTIME-6. A real-time thread may never let another thread run, and may be
 *     waiting for one. So at each tick its VP moves the entries that only the
 *     owner could take to the run queues. Load balancing gives no thread to a
 *     VP that runs a real-time thread (sched/load_balance.c).
 * REALTIME-7. A thread that gets its first priority may wait in another queue.
 *     sched/requeue.h moves it here. The VP that seems to have the thread in a
 *     queue is made to pick, whatever it runs.
 *
 * Rejected: a queue for each VP. The priorities are the process's, so each pick
 * would have to check all queues.
 */
#include "sched/realtime.h"

#include <sched.h>

#include "base/log.h"
#include "sched/entry.h"
#include "sched/idle.h"
#include "sched/offline.h"
#include "sched/ready.h"
#include "sched/requeue.h"
#include "sched/start.h"
#include "sched/throttle.h"

enum { NR_PRIORITIES = 100, WORD_BITS = 64 };

static struct wf_spin lock = WF_SPIN_INIT;
static struct {
	struct wf_thread *first, *last;
} lists[NR_PRIORITIES];
static uint64_t bitmap[NR_PRIORITIES / WORD_BITS + 1];
static _Atomic uint32_t best; /* highest waiting priority; REALTIME-1 */

bool wf_realtime_waits(uint32_t least_priority)
{
	uint32_t highest = wf_load_relaxed(&best);

	return highest != 0 && highest >= least_priority;
}

/* --- lists ---------------------------------------------------------------- */

static void set_pending_locked(bool any)
{
	for (uint32_t i = 0; i < wf_sched.nr_vps; i++) {
		_Atomic uint32_t *pending = &wf_sched.vps[i].pending;

		if (any)
			atomic_fetch_or(pending, WF_PENDING_REALTIME);
		else
			atomic_fetch_and(pending,
					 ~(uint32_t)WF_PENDING_REALTIME);
	}
}

static void set_best_locked(void)
{
	uint32_t highest = 0, was = wf_load_relaxed(&best);

	if (bitmap[1] != 0)
		highest = 2 * WORD_BITS - 1 -
			  (uint32_t)__builtin_clzll(bitmap[1]);
	else if (bitmap[0] != 0)
		highest = WORD_BITS - 1 - (uint32_t)__builtin_clzll(bitmap[0]);
	wf_store_relaxed(&best, highest);
	if ((highest != 0) != (was != 0))
		set_pending_locked(highest != 0); /* REALTIME-2: in every VP */
}

static void insert_locked(struct wf_thread *t, bool at_front)
{
	uint32_t p = t->rt_priority;
	bool is_only = lists[p].first == NULL;

	t->rt_list = (uint8_t)p;
	t->next = at_front ? lists[p].first : NULL;
	if (!at_front && !is_only)
		lists[p].last->next = t;
	if (at_front || is_only)
		lists[p].first = t;
	if (!at_front || is_only)
		lists[p].last = t;
	bitmap[p / WORD_BITS] |= 1ULL << p % WORD_BITS;
	set_best_locked();
}

static void remove_locked(struct wf_thread *t)
{
	uint32_t p = t->rt_list;
	struct wf_thread *before = NULL, *at = lists[p].first;

	while (at != t) {
		before = at;
		at = at->next;
	}
	if (before == NULL)
		lists[p].first = t->next;
	else
		before->next = t->next;
	if (lists[p].last == t)
		lists[p].last = before;
	t->rt_list = 0;
	if (lists[p].first == NULL)
		bitmap[p / WORD_BITS] &= ~(1ULL << p % WORD_BITS);
	set_best_locked();
}

/* --- which VP to disturb -------------------------------------------------- */

/*
 * True if vp runs a thread that has to yield to a thread of that priority.
 * THROTTLE-3
 */
static bool yields(const struct wf_vp *vp, uint32_t priority)
{
	const struct wf_thread *t = wf_load_acquire(&vp->cur);

	return t != NULL && t->rt_priority < priority &&
	       !wf_throttle_is_on(vp) && !wf_vp_is_offline(vp);
}

static bool is_lower_anywhere(uint32_t priority)
{
	for (uint32_t i = 0; i < wf_sched.nr_vps; i++) {
		if (yields(&wf_sched.vps[i], priority))
			return true;
	}
	return false;
}

/*
 * Makes one VP run the thread of that priority which was just put here.
 * REALTIME-5
 */
static void disturb(struct wf_vp *vp, uint32_t priority)
{
	/* seq_cst: pairs with the fence in wf_idle_begin. */
	wf_fence_seq_cst();
	if (vp != NULL && yields(vp, priority))
		wf_vp_ask_own(vp, WF_RESCHED_REALTIME);
	else if (wf_idle_is_any())
		wf_idle_wake_any();
	else if (is_lower_anywhere(priority))
		wf_idle_wake_monitor();
}

struct wf_vp *wf_realtime_victim(void)
{
	uint32_t lowest = wf_load_relaxed(&best);
	struct wf_vp *victim = NULL;

	for (uint32_t i = 0; i < wf_sched.nr_vps; i++) {
		struct wf_vp *vp = &wf_sched.vps[i];
		const struct wf_thread *t = wf_load_acquire(&vp->cur);

		if (t != NULL && yields(vp, lowest)) {
			lowest = t->rt_priority;
			victim = vp;
		}
	}
	for (uint32_t i = 0; i < wf_sched.nr_vps && victim == NULL; i++) {
		/* REALTIME-7: its queue has the thread */
		if (wf_requeue_is_urgent(&wf_sched.vps[i]))
			victim = &wf_sched.vps[i];
	}
	return victim;
}

/* --- putting and taking --------------------------------------------------- */

static bool is_round_robin(const struct wf_thread *t)
{
	return t->sched_policy == SCHED_RR;
}

static bool goes_first(const struct wf_thread *t, enum wf_ready why)
{
	return why == WF_READY_PREEMPTED ||
	       (why == WF_READY_EXPIRED && !is_round_robin(t));
}

void wf_realtime_put(struct wf_vp *vp, struct wf_thread *t, enum wf_ready why)
{
	uint32_t priority;

	wf_offline_begin();
	wf_spin_lock(&lock, WF_RANK_REALTIME);
	priority = t->rt_priority;
	if (priority != 0)
		insert_locked(t, goes_first(t, why));
	wf_spin_unlock(&lock);
	if (priority != 0)
		disturb(vp, priority);
	else /* its priority was set to 0 a moment ago */
		wf_queue_put_remote(NULL, t, WF_READY_REACQUIRING);
}

struct wf_thread *wf_realtime_take(uint32_t least_priority)
{
	struct wf_thread *t = NULL;

	if (!wf_realtime_waits(least_priority))
		return NULL;
	wf_spin_lock(&lock, WF_RANK_REALTIME);
	if (wf_realtime_waits(least_priority)) {
		t = lists[wf_load_relaxed(&best)].first;
		remove_locked(t);
		t->from_batch = false;
		t->cpu_bound = 0;
	}
	wf_spin_unlock(&lock);
	return t;
}

struct wf_thread *wf_realtime_instead_of(const struct wf_thread *t,
					 enum wf_resched why)
{
	bool is_over = why == WF_RESCHED_NONE ||
		       (why == WF_RESCHED_SLICE && is_round_robin(t));

	return wf_realtime_take(t->rt_priority + (is_over ? 0U : 1U));
}

enum wf_resched wf_realtime_at_tick(const struct wf_vp *vp,
				    const struct wf_thread *t)
{
	if (is_round_robin(t) && wf_realtime_waits(t->rt_priority))
		return WF_RESCHED_SLICE;
	return wf_queue_has_own(vp) ? WF_RESCHED_TICK :
				      /* REALTIME-6: exposes the entries */
				      WF_RESCHED_NONE;
}

/* --- changes -------------------------------------------------------------- */

/*
 * Claims t, so that it can wait here (REALTIME-4). Returns false if t has
 * started, if a joiner has claimed it, or if the caller has no VP.
 */
static bool claim(struct wf_thread *t)
{
	uint32_t generation = wf_load_acquire(&t->not_started);

	if (generation == 0 || wf_vp_of(wf_self) == NULL ||
	    !wf_thread_claim(t, generation))
		return false;
	wf_start_prepare(t, NULL);
	return true;
}

/*
 * Called when t's priority has changed. If t is the caller, its VP picks when
 * the caller leaves the runtime. For any other thread the monitor finds the VP
 * to preempt.
 */
static void ask_for_change(struct wf_thread *t, uint32_t priority)
{
	struct wf_thread *me = wf_self;

	if (!wf_realtime_waits(priority + 1))
		return;
	if (t == me && t->kind == WF_THREAD_MULTIPLEXED && t->vp != NULL)
		wf_vp_ask_own(t->vp, WF_RESCHED_REALTIME);
	else
		wf_idle_wake_monitor();
}

void wf_realtime_set(struct wf_thread *t, uint32_t priority)
{
	bool was_in_list, is_claimed, is_first;

	WF_ASSERT(priority < NR_PRIORITIES);
	if (priority != 0)
		wf_offline_begin();
	is_claimed = priority != 0 && claim(t);
	wf_spin_lock(&lock, WF_RANK_REALTIME);
	was_in_list = t->rt_list != 0;
	if (was_in_list)
		remove_locked(t);
	is_first = t->rt_priority == 0 && priority != 0;
	t->rt_priority = (uint8_t)priority; /* REALTIME-3: under the lock */
	wf_spin_unlock(&lock);
	if (was_in_list || is_claimed) {
		wf_ready_woken(wf_self, t);
		return;
	}
	if (is_first)
		wf_requeue_ask(t); /* REALTIME-7: t waits in another queue */
	ask_for_change(t, priority);
}

void wf_realtime_fork_child(void)
{
	lock = WF_SPIN_INIT;
	for (uint32_t i = 0; i < NR_PRIORITIES; i++)
		lists[i].first = lists[i].last = NULL;
	bitmap[0] = bitmap[1] = 0;
	wf_store_relaxed(&best, 0);
}

/* SPDX-License-Identifier: MIT */
/*
 * Ends a thread on its own stack, in the order in which libc does it natively:
 * thread_local destructors, destructors of keys, lazily allocated TLS. Then the
 * thread picks its successor and switches away. The post function of that
 * switch runs on the next stack: it marks the thread as done and wakes the
 * joiner. A joiner that waits already runs next, without a queue.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>

#include "base/log.h"
#include "libc/layout.h"
#include "libc/tcb.h"
#include "libc/tls.h"
#include "sched/queue.h"
#include "sched/ready.h"
#include "sched/reserved.h"
#include "sched/runtime.h"
#include "sched/switch.h"
#include "sched/table.h"
#include "signal/signal.h"
#include "sync/boost.h"
#include "sync/shared.h"
#include "thread/affinity.h"
#include "thread/thread_count.h"
#include "thread/cpu_timer.h"
#include "thread/kernel_state.h"
#include "thread/lifecycle.h"
#include "thread/policy.h"
#include "thread/reap.h"
#include "wait/ufutex_bucket.h"
#include "wait/ufutex_internal.h"

extern void __pthread_register_cancel(__pthread_unwind_buf_t *);
extern void __pthread_unregister_cancel(__pthread_unwind_buf_t *);
/*
 * Runs the thread's destructors. Returns true if there was a key to destroy. A
 * destructor may end the thread.
 */
WF_INLINE bool run_destructors(struct wf_thread *t)
{
	/*
	 * Called before the destructors: it may call malloc, which with a
	 * sanitizer works only until the sanitizer's own key is destroyed.
	 */
	wf_reap_consider();
	wf_libc.call_tls_dtors();
	return wf_tsd_destroy(t->slot.tcb);
}

/*
 * Runs the start routine and all destructors. Returns when they have returned,
 * or when libc has unwound to here. If a destructor calls pthread_exit or is
 * cancelled, libc unwinds to here and the remaining destructors run. Until all
 * have run, t->result has the value for a thread that does not return. Returns
 * true if a destructor ran or the thread did not return.
 */
static bool run_start_routine(struct wf_thread *t, uint64_t tls_mark)
{
	void *volatile result = NULL;
	volatile bool has_returned = false;
	void *arg = t->start_arg;
	__pthread_unwind_buf_t buf;
	bool had_destructors;

	t->tls_mark = tls_mark;
	if (__sigsetjmp_cancel(buf.__cancel_jmp_buf, 0) == 0) {
		__pthread_register_cancel(&buf);
		result = t->start_routine(arg);
		has_returned = true;
		t->is_dirty = false;
	} else {
		has_returned = false;
		t->is_dirty = true;
	}
	had_destructors = run_destructors(t);
	__pthread_unregister_cancel(&buf);
	if (has_returned)
		t->result = result;
	return had_destructors || t->is_dirty;
}

/*
 * Marks t as done. From this store on t's stack is free, and a joiner may free
 * t.
 */
WF_INLINE void set_done_and_unlock(struct wf_vp *vp, struct wf_bucket *b,
				   struct wf_thread *t, uint32_t old)
{
	/* release: publishes t->result; pairs with the acquire in join.c */
	wf_store_release(&t->exit_state, old | WF_EXIT_DONE);
	wf_biased_unlock(vp, &b->lock);
}

static void announce_done(struct wf_carrier *c, void *arg)
{
	struct wf_thread *t = arg, *me = wf_self, *joiner;
	struct wf_bucket *b = wf_bucket_of(&t->exit_state);
	struct wf_bucket_hold hold;
	uint32_t old;

	hold = wf_bucket_lock(me, b);
	old = wf_load_relaxed(&t->exit_state);
	joiner = wf_ufutex_take_first_locked(b, &t->exit_state);
	set_done_and_unlock(hold.vp, b, t, old);
	if (joiner != NULL)
		wf_ready_woken(me, joiner);
	else if ((old & WF_EXIT_DETACHED) != 0)
		wf_table_put(wf_pool_of(me), t);
}

/*
 * As announce_done, for a joiner that runs next and has left the bucket's list
 * already. t names the bucket: UFUTEX-9 in ufutex.c.
 */
static void announce_to_joiner(struct wf_carrier *c, void *arg)
{
	struct wf_thread *t = arg;
	struct wf_bucket *b = wf_load_relaxed(&t->wait_bucket);
	struct wf_vp *vp = wf_load_relaxed(&c->vp);

	WF_ASSUME(vp != NULL); /* t had it, and a switch keeps it */
	wf_store_relaxed(&t->wait_bucket, NULL);
	set_done_and_unlock(vp, b, t, WF_EXIT_JOINABLE);
}

/*
 * True if `waiter`, the first in a bucket, is a joiner of t that a VP may run.
 */
WF_INLINE bool is_joiner(const struct wf_thread *waiter,
			 const struct wf_thread *t)
{
	return waiter != NULL && waiter->wait_addr == &t->exit_state &&
	       waiter->kind == WF_THREAD_MULTIPLEXED;
}

/*
 * Returns the joiner of t if it waits and may run at once. Then the bucket
 * stays locked until t has left its stack.
 *
 * The joiner names the bucket in which it waits, which saves hashing. That may
 * be another one than t's, if the joiner waits in a handler, and the joiner may
 * have given up since. Only the bucket's first waiter decides (JOIN-1 in
 * join.c). In all other cases announce_done checks t's own bucket.
 */
WF_INLINE struct wf_thread *take_joiner(struct wf_thread *t)
{
	struct wf_thread *joiner = wf_table_at(wf_load_relaxed(&t->joiner));
	struct wf_bucket *b = wf_load_relaxed(&joiner->wait_bucket);
	struct wf_bucket_hold hold;

	/* Without a joiner the index is 0, an entry that waits in no bucket. A
	 * bound joiner waits without a VP, and announce_done wakes it. */
	if (b == NULL || joiner->kind != WF_THREAD_MULTIPLEXED ||
	    !wf_queue_may_switch_to(t->vp))
		return NULL;
	hold = wf_bucket_lock(t, b);
	joiner = b->first;
	if (WF_UNLIKELY(!is_joiner(joiner, t))) {
		wf_bucket_unlock(t, b, hold);
		return NULL;
	}
	wf_bucket_take_locked(b, joiner, 0);
	joiner->from_batch = false; /* as if picked from the next slot */
	/* UFUTEX-9: until t has left its stack */
	wf_store_relaxed(&t->wait_bucket, b);
	return joiner;
}

/*
 * Which thread runs next on the carrier, and the post function of the switch to
 * it. next is NULL for the carrier's own context.
 */
struct heir {
	struct wf_thread *next;
	wf_post_fn *post;
};

WF_INLINE struct heir choose_heir(struct wf_thread *t)
{
	struct wf_thread *joiner;

	wf_reserved_end(t);
	if (t->kind == WF_THREAD_BOUND) {
		wf_affinity_end(t);
		wf_policy_end_bound(t);
		wf_cpu_timer_thread_end(t);
		wf_kernel_state_thread_end(t);
		t->carrier->bound = NULL;
		return (struct heir){ NULL, announce_done };
	}
	WF_CHECK(t->kind == WF_THREAD_MULTIPLEXED,
		 "a foreign thread came to weft to end");
	joiner = take_joiner(t);
	if (joiner != NULL)
		return (struct heir){ joiner, announce_to_joiner };
	return (struct heir){ wf_queue_pick(t->vp), announce_done };
}

/*
 * Counts the end of t. If t is the last thread, ends the process. In the
 * runtime.
 */
WF_INLINE void count_end(struct wf_thread *t, int status)
{
	if (WF_LIKELY(!wf_thread_count_ended(t)))
		return;
	wf_runtime_leave(t);
	if (wf_thread_count_is_last())
		wf_thread_count_end_process(status);
	wf_runtime_enter();
}

/*
 * Does the last steps of the end on the thread's own stack. Enters the runtime.
 * If t is the last thread, `status` becomes the exit status of the process.
 */
WF_INLINE struct heir finish(struct wf_thread *t, bool had_destructors,
			     int status)
{
	uintptr_t tcb = t->slot.tcb;

	if (WF_UNLIKELY(had_destructors) || t->slot.has_user_stack ||
	    wf_load_relaxed(&t->is_cancelled) || wf_tcb_is_dirty(tcb) ||
	    !wf_tcb_has_policy(t->sched_policy, t->sched_priority))
		t->is_dirty = true;
	wf_shared_thread_end(t);
	wf_boost_thread_end(t);
	wf_runtime_enter_as(t);
	count_end(t, status);
	wf_signal_thread_end(t, t);
	if (t->slot.class != NULL &&
	    WF_UNLIKELY(wf_tls_may_be_dynamic(tcb, t->tls_mark))) {
		wf_runtime_leave(t);
		wf_tls_release(tcb);
		wf_runtime_enter();
	}
	/*
	 * AddressSanitizer's destructor blocks all signals by a direct system
	 * call, which weft does not see.
	 */
	if (WF_UNLIKELY(had_destructors))
		t->carrier->kernel_mask = WF_MASK_UNKNOWN;
	return choose_heir(t);
}

/*
 * As finish, not inline: for rare ends of threads. The usual end has a copy of
 * its own.
 */
static WF_NOINLINE struct heir finish_rarely(struct wf_thread *t,
					     bool had_destructors, int status)
{
	return finish(t, had_destructors, status);
}

void wf_thread_finish(struct wf_thread *t)
{
	struct heir heir = finish_rarely(t, run_destructors(t), 0);

	wf_switch_abandon(t, heir.next, heir.post, t);
}

void wf_thread_leave(struct wf_thread *t, int status)
{
	struct heir heir;

	t->result = NULL;
	wf_thread_count_left();
	/* true: the TCB may be dirty in any way */
	heir = finish_rarely(t, true, status);
	wf_switch_abandon(t, heir.next, heir.post, t);
}

static uint64_t begin(struct wf_thread *t)
{
	uint64_t tls_mark = WF_TLS_UNKNOWN;

	wf_switch_finish(t);
	if (WF_UNLIKELY(t->kind == WF_THREAD_BOUND))
		wf_policy_begin_bound(t);
	wf_runtime_leave(t);
	if (t->slot.is_used)
		tls_mark = wf_tls_renew(t->slot.tcb);
	t->slot.is_used = true;
	wf_signal_thread_begin(t);
	return tls_mark;
}

/*
 * A thread's first function; wf_arch_thread_entry jumps here. The thread is in
 * no call of weft (arch/x86_64/switch.h).
 */
void wf_thread_main(void)
{
	struct wf_thread *t = wf_self;
	struct heir heir;

	heir = finish(t, run_start_routine(t, begin(t)), 0);
	wf_switch_abandon(t, heir.next, heir.post, t);
}

/* SPDX-License-Identifier: MIT */
/*
 * When threads end and leave many unused slots, weft makes a reaper thread. It
 * checks once a second and gives back the memory of slots that were unused for
 * one to two seconds. So a program that makes and joins threads all the time
 * never waits for it. When all unused slots have been reaped, the reaper ends:
 * a program at rest has none.
 *
 * A slot keeps the page of its TCB, since ld.so keeps the TCB in its lists.
 *
 * The reaper is a thread like the program's threads, since it needs malloc and
 * native threads. The thread count leaves it out while it works
 * (thread/thread_count.h), so that it does not keep the process alive.
 *
 * Rejected: to reap at the end of each thread. That costs three page faults and
 * a native thread, where reuse costs nothing.
 */
#include "thread/reap.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "libc/real.h"
#include "libc/tcb.h"
#include "os/clock.h"
#include "sched/runtime.h"
#include "sched/table.h"
#include "sched/yield.h"
#include "signal/mask.h"
#include "thread/thread_count.h"
#include "thread/lifecycle.h"
#include "wait/ufutex.h"

enum {
	SPARE_SLOTS = 64, /* with fewer unused slots no reaper starts */
	STACK_BYTES = 64 * 1024,
	PERIOD_NS = 1000 * 1000 * 1000,
};

static _Atomic bool is_running;
static _Atomic uint32_t is_to_end; /* 1: the reaper has to end; user futex */
/*
 * The lowest number of unused slots since the last reaper ended. That reaper
 * has already trimmed so many.
 */
static _Atomic uint32_t nr_left;

static uint32_t nr_spare(void)
{
	uint32_t nr_slots = wf_table_high();
	uint32_t nr_threads = wf_thread_count_nr();

	return nr_slots > nr_threads ? nr_slots - nr_threads : 0;
}

/*
 * Moves the malloc cache of a TCB to the calling thread, a native thread that
 * is made for this alone.
 */
static void *free_cache(void *tcb)
{
	wf_tcb_take_cache((uintptr_t)tcb);
	return NULL; /* at the end of this thread libc frees the cache */
}

/*
 * Gives the malloc cache of an unused TCB back to libc. The native thread that
 * does this lives for microseconds, so a change of credentials need not reach
 * it.
 */
static void give_cache_back(uintptr_t tcb)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, wf_tcb_minimal_bytes() + STACK_BYTES);
	if (wf_real.pthread_create(&thread, &attr, free_cache, (void *)tcb) ==
	    0)
		wf_real.pthread_join(thread, NULL);
	pthread_attr_destroy(&attr);
}

/*
 * Takes the next slot of the class that was unused long enough; NULL if none.
 */
static struct wf_thread *take(struct wf_slot_class *class)
{
	struct wf_thread *me = wf_runtime_enter();
	struct wf_thread *t = wf_table_take_old(class);

	wf_runtime_leave(me);
	return t;
}

static void put(struct wf_thread *t)
{
	struct wf_thread *me = wf_runtime_enter();

	wf_table_put_cold(t);
	wf_runtime_leave(me);
}

static void reap_class(struct wf_slot_class *class)
{
	struct wf_thread *t;

	while ((t = take(class)) != NULL) {
		if (wf_tcb_has_cache(t->slot.tcb))
			give_cache_back(t->slot.tcb);
		wf_slot_trim(&t->slot);
		put(t);
		wf_sched_yield();
	}
}

/*
 * Gives back the memory of all old slots. Those that are free now are old at
 * the next call. Returns true if there are any.
 */
static bool reap_all(void)
{
	struct wf_slot_class *class;
	bool any = false;

	for (uint32_t i = 0; (class = wf_slot_class_at(i)) != NULL; i++) {
		struct wf_thread *me;

		reap_class(class);
		me = wf_runtime_enter();
		any |= wf_table_age(class);
		wf_runtime_leave(me);
	}
	return any;
}

static void *reap(void *arg)
{
	struct wf_thread *me = wf_runtime_enter();
	bool must_ask = wf_thread_count_ended(me);

	wf_runtime_leave(me);
	if (must_ask && wf_thread_count_is_last())
		wf_thread_count_end_process(0); /* the program has ended */
	memcpy(me->name, "weft reaper", sizeof("weft reaper"));
	do {
		wf_ufutex_wait(WF_WAIT_RUNTIME, &is_to_end, 0, WF_UFUTEX_ANY,
			       wf_os_now() + PERIOD_NS);
	} while (wf_load_relaxed(&is_to_end) == 0 && reap_all());
	wf_store_relaxed(&nr_left, nr_spare());
	wf_runtime_enter();
	/* its end will be counted, too */
	wf_thread_count_created(wf_vp_of(me));
	wf_runtime_leave(me);
	wf_store_release(&is_running, false);
	return arg;
}

static void start(void)
{
	const struct wf_thread_params params = {
		.class = wf_slot_class_get(STACK_BYTES, 1),
		.is_detached = true,
	};
	const uint64_t all = UINT64_MAX;
	uint64_t old;
	pthread_t thread;

	/*
	 * All signals are blocked for the creation and inherited: no handler of
	 * the program runs on the reaper.
	 */
	wf_mask_change(SIG_BLOCK, &all, &old);
	wf_store_relaxed(&is_to_end, 0);
	if (wf_thread_create(&params, reap, NULL, &thread) < 0)
		wf_store_relaxed(&is_running, false);
	wf_mask_change(SIG_SETMASK, &old, NULL);
}

void wf_reap_consider_slow(void)
{
	uint32_t nr;

	wf_store_relaxed(&wf_table_has_spare, false);
	nr = nr_spare();

	if (nr < wf_load_relaxed(&nr_left))
		wf_store_relaxed(&nr_left, nr);
	if (WF_LIKELY(nr <= wf_load_relaxed(&nr_left) + SPARE_SLOTS) ||
	    wf_load_relaxed(&is_running) || atomic_exchange(&is_running, true))
		return;
	start();
}

void wf_reap_end(void)
{
	enum { MOST_YIELDS = 100 * 1000 };

	if (!wf_load_acquire(&is_running))
		return;
	wf_store_release(&is_to_end, 1);
	wf_ufutex_wake(&is_to_end, 1, WF_UFUTEX_ANY);
	for (int i = 0; i < MOST_YIELDS && wf_load_acquire(&is_running); i++)
		wf_sched_yield();
	for (int i = 0; i < MOST_YIELDS && wf_thread_count_nr() > 1; i++)
		wf_sched_yield();
}

void wf_reap_fork_child(void)
{
	wf_store_relaxed(&is_running, false);
	wf_store_relaxed(&nr_left, 0);
}

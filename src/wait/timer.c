/*
 * H1. A thread is in at most one heap: that of the VP it parked on, named by
 *     timer_vp; timer_index changes under that heap's lock.
 * H2. A thread takes itself out of the heap before it begins its next wait.
 *     So while it is in the heap, under the lock, its wait_generation is the
 *     one the deadline belongs to.
 * H3. Each heap has room for all threads of the table, which does not grow
 *     without that: so a wait never fails for want of memory.
 */
#include "wait/timer.h"

#include <errno.h>

#include "base/heap.h"
#include "base/log.h"
#include "os/mem.h"
#include "sched/table.h"
#include "wait/ufutex_internal.h"

struct wf_timers {
	struct wf_spin lock;
	struct wf_heap heap;	  /* lock */
	_Atomic int64_t earliest; /* lock; read by anybody */
} WF_ALIGNED(WF_CACHE_LINE);

enum { MAX_FIRED = 256 };

static struct wf_timers *all_timers;

/* Before the table grows (H3). */
static int make_room(uint32_t nr_threads)
{
	int err = 0;

	for (uint32_t i = 0; i < wf_sched.nr_vps && err == 0; i++) {
		struct wf_timers *timers = wf_sched.vps[i].timers;

		wf_spin_lock(&timers->lock);
		err = wf_heap_reserve(&timers->heap, nr_threads);
		wf_spin_unlock(&timers->lock);
	}
	return err;
}

int wf_timers_init(void)
{
	size_t bytes = wf_align_up(wf_sched.nr_vps * sizeof(struct wf_timers),
				   WF_PAGE);

	if (all_timers == NULL)
		all_timers = wf_os_reserve(bytes);
	if (all_timers == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < wf_sched.nr_vps; i++) {
		struct wf_timers *timers = &all_timers[i];

		/* A parent may have been growing the heap: left behind. */
		wf_heap_init(&timers->heap, wf_os_regrow);
		timers->lock = WF_SPIN_INIT;
		wf_store_relaxed(&timers->earliest, INT64_MAX);
		wf_sched.vps[i].timers = timers;
	}
	wf_table_grow_hook = make_room;
	return make_room(wf_table_room());
}

int64_t wf_timers_earliest(const struct wf_vp *vp)
{
	return wf_load_relaxed(&vp->timers->earliest);
}

static void update_earliest_locked(struct wf_timers *timers)
{
	int64_t key = wf_heap_min_key(&timers->heap);

	if (wf_load_relaxed(&timers->earliest) != key)
		wf_store_relaxed(&timers->earliest, key);
}

void wf_timer_add(struct wf_thread *t, int64_t deadline_ns)
{
	struct wf_timers *timers = t->vp->timers;

	t->timer_vp = t->vp->id; /* H1 */
	wf_spin_lock(&timers->lock);
	WF_CHECK(wf_heap_push(&timers->heap, deadline_ns, t, &t->timer_index) ==
			 0,
		 "more timers than threads"); /* H3 */
	update_earliest_locked(timers);
	wf_spin_unlock(&timers->lock);
}

void wf_timer_remove(struct wf_thread *t)
{
	struct wf_timers *timers = wf_sched.vps[t->timer_vp].timers;

	wf_spin_lock(&timers->lock);
	if (t->timer_index != 0) {
		wf_heap_remove(&timers->heap, t->timer_index);
		update_earliest_locked(timers);
	}
	wf_spin_unlock(&timers->lock);
}

uint32_t wf_timers_fire(struct wf_vp *vp, int64_t now_ns, struct wf_thread *me)
{
	struct wf_timers *timers = vp->timers;
	uint32_t nr_ended = 0;

	for (uint32_t i = 0; i < MAX_FIRED; i++) {
		struct wf_thread *t = NULL;
		uint64_t generation = 0;

		wf_spin_lock(&timers->lock);
		if (wf_heap_min_key(&timers->heap) <= now_ns) {
			t = wf_heap_pop(&timers->heap);
			generation = t->wait_generation; /* H2 */
			update_earliest_locked(timers);
		}
		wf_spin_unlock(&timers->lock);
		if (t == NULL)
			break;
		nr_ended += wf_ufutex_end_wait(t, generation, -ETIMEDOUT, me);
	}
	return nr_ended;
}

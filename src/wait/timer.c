/* SPDX-License-Identifier: MIT */
/*
 * Deadlines of waiting threads. A thread that parks with a deadline enters the
 * heap of its VP and leaves it when it runs again. The VP's agent and the
 * monitor take due threads out and end their waits. All heaps are in
 * CLOCK_MONOTONIC, so deadlines on CLOCK_REALTIME are converted, and moved when
 * that clock is set.
 *
 * TIMER-1. A thread is in at most one heap: that of the VP it parked on, named
 *     by timer_vp. timer_index changes under that heap's lock.
 * TIMER-2. A thread removes its timer before it begins its next wait. So while
 *     it is in the heap, under the lock, its deadline belongs to its
 *     wait_generation.
 * TIMER-3. Each heap has room for all threads of the table, and the table grows
 *     only after the heaps. So no wait fails for want of memory.
 * TIMER-4. Keys are times of CLOCK_MONOTONIC. Keys of deadlines on that clock
 *     are even. Keys of deadlines on CLOCK_REALTIME are odd: the deadline is
 *     the key plus the heap's wall_offset. The offset and the odd keys change
 *     together, under the heap's lock, when the clock was set
 *     [wf_timers_check_clock].
 * TIMER-5. wall_offset is never above the true offset, except between a setting
 *     of the clock and the check for it. So no deadline comes too early. A
 *     thread that takes out an odd key first reads CLOCK_REALTIME, which may
 *     have been set back just now.
 * TIMER-6. While no thread watches the clock, each wait with a deadline on
 *     CLOCK_REALTIME first checks whether it was set.
 *
 * Rejected: to read CLOCK_REALTIME at each tick and before each sleep. A sleep
 * until a deadline on the other clock would have to end early.
 */
#include "wait/timer.h"

#include <errno.h>

#include "base/log.h"
#include "os/deadline.h"
#include "os/mem.h"
#include "sched/idle.h"
#include "sched/table.h"
#include "wait/ufutex_internal.h"

/*
 * How many timers wf_timers_fire takes at most: then its caller does other
 * work.
 */
enum { MAX_FIRED = 256 };
/*
 * The first and the last key that is odd, so of a deadline on CLOCK_REALTIME
 * (TIMER-4). INT64_MAX as a key means that there is no deadline.
 */
#define FIRST_WALL_KEY 1LL
#define LAST_WALL_KEY (INT64_MAX - 2)

static struct wf_timers *all_timers;
/* taken before a heap's lock */
static struct wf_spin clock_lock = WF_SPIN_INIT;
/* TIMER-6: is the clock watched? */
static _Atomic bool wants_watch, is_watched;

int wf_timers_make_room(uint32_t nr_threads)
{
	int err = 0;

	for (uint32_t i = 0; i < wf_sched.nr_vps && err == 0; i++) {
		struct wf_timers *timers = wf_sched.vps[i].timers;

		/* not made yet: the runtime is about to start */
		if (timers == NULL)
			continue;
		wf_spin_lock(&timers->lock, WF_RANK_TIMERS);
		err = wf_heap_reserve(&timers->heap, nr_threads);
		wf_spin_unlock(&timers->lock);
	}
	return err;
}

/*
 * Measures how many ns CLOCK_REALTIME is ahead of CLOCK_MONOTONIC. The result
 * is between *ret_least and *ret_most, the closest of TIMES readings.
 */
static void measure(int64_t *ret_least, int64_t *ret_most)
{
	enum { TIMES = 3 };
	int64_t best = 0;

	for (int i = 0; i < TIMES; i++) {
		int64_t before = wf_os_now();
		int64_t wall = wf_os_clock(CLOCK_REALTIME);
		int64_t after = wf_os_now();

		if (i > 0 && after - before >= best)
			continue;
		best = after - before;
		*ret_least = wall - after;
		*ret_most = wall - before;
	}
}

int wf_timers_init(void)
{
	int64_t least, most;
	size_t bytes = wf_align_up(wf_sched.nr_vps * sizeof(struct wf_timers),
				   WF_PAGE);

	if (all_timers == NULL)
		all_timers = wf_os_reserve(bytes);
	if (all_timers == NULL)
		return -ENOMEM;
	clock_lock = WF_SPIN_INIT;
	wf_store_relaxed(&wants_watch, false);
	wf_store_relaxed(&is_watched, false);
	measure(&least, &most);
	for (uint32_t i = 0; i < wf_sched.nr_vps; i++) {
		struct wf_timers *timers = &all_timers[i];

		/*
		 * In a fork child the old memory of the heap stays unused: the
		 * parent may have been growing it.
		 */
		wf_heap_init(&timers->heap, wf_os_regrow);
		timers->lock = WF_SPIN_INIT;
		timers->wall_offset = least & ~1LL;
		wf_store_relaxed(&timers->earliest, INT64_MAX);
		wf_sched.vps[i].timers = timers;
	}
	return wf_timers_make_room(wf_table_room());
}

void wf_timers_fini(void)
{
	for (uint32_t i = 0; i < wf_sched.nr_vps; i++) {
		struct wf_heap *h = &all_timers[i].heap;

		if (h->entries != NULL)
			wf_os_release(h->entries,
				      h->capacity * sizeof(*h->entries));
		wf_heap_init(h, wf_os_regrow);
	}
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

/* --- CLOCK_REALTIME ------------------------------------------------------- */

static bool is_wall(int64_t key)
{
	return (key & 1) != 0;
}

static int64_t wall_key(int64_t key)
{
	if (key < FIRST_WALL_KEY)
		return FIRST_WALL_KEY;
	return key < LAST_WALL_KEY ? key | 1 : LAST_WALL_KEY;
}

static int64_t move_wall(int64_t key, int64_t by)
{
	int64_t moved;

	if (!is_wall(key))
		return key;
	if (__builtin_add_overflow(key, by, &moved))
		return LAST_WALL_KEY;
	return wall_key(moved);
}

/*
 * Sets the heap's wall_offset and moves the deadlines on CLOCK_REALTIME.
 * Returns true if the heap's first deadline is earlier now.
 */
static bool set_offset(struct wf_timers *timers, int64_t offset)
{
	int64_t before;
	bool is_earlier;

	wf_spin_lock(&timers->lock, WF_RANK_TIMERS);
	before = wf_heap_min_key(&timers->heap);
	wf_heap_rekey(&timers->heap, move_wall, timers->wall_offset - offset);
	timers->wall_offset = offset; /* TIMER-4: in one step with the keys */
	update_earliest_locked(timers);
	is_earlier = wf_heap_min_key(&timers->heap) < before;
	wf_spin_unlock(&timers->lock);
	return is_earlier;
}

static void set_offset_of_all(int64_t offset)
{
	bool any_is_earlier = false;

	for (uint32_t i = 0; i < wf_sched.nr_vps; i++) {
		if (!set_offset(&all_timers[i], offset))
			continue;
		any_is_earlier = true;
		/* pairs with the fence of a VP that goes to sleep (IDLE-2) */
		wf_fence_seq_cst();
		wf_idle_wake(&wf_sched.vps[i]);
	}
	if (any_is_earlier)
		wf_idle_wake_monitor();
}

void wf_timers_check_clock(void)
{
	int64_t least, most, offset;

	wf_spin_lock(&clock_lock, WF_RANK_CLOCK);
	measure(&least, &most);
	least &= ~1LL;
	offset = all_timers[0].wall_offset;
	if (offset < least || offset > most)
		/* TIMER-5: never above the true offset */
		set_offset_of_all(least);
	wf_spin_unlock(&clock_lock);
}

bool wf_timers_want_watch(void)
{
	return wf_load_relaxed(&wants_watch);
}

void wf_timers_set_watched(bool is)
{
	wf_store_relaxed(&is_watched, is);
}

static WF_COLD void check_unwatched(void)
{
	wf_timers_check_clock(); /* TIMER-6: no thread watches the clock */
	if (!atomic_exchange(&wants_watch, true))
		wf_idle_wake_monitor();
}

/* Returns the key of a deadline. TIMER-4 */
static int64_t key_of_locked(const struct wf_timers *timers,
			     int64_t deadline_ns)
{
	int64_t key;

	if (!wf_deadline_is_wall(deadline_ns))
		return (deadline_ns + 1) & ~1LL;
	if (__builtin_sub_overflow(wf_deadline_time(deadline_ns),
				   timers->wall_offset, &key))
		return LAST_WALL_KEY;
	return wall_key(key);
}

/* True if the deadline of an odd key has not come. TIMER-5 */
static bool is_too_early_locked(const struct wf_timers *timers, int64_t key)
{
	return is_wall(key) && key != FIRST_WALL_KEY &&
	       wf_os_clock(CLOCK_REALTIME) < key + timers->wall_offset;
}

/* --- deadlines ------------------------------------------------------------ */

int64_t wf_timer_add(struct wf_thread *t, int64_t deadline_ns)
{
	struct wf_timers *timers = t->vp->timers;
	int64_t key;

	if (wf_deadline_is_wall(deadline_ns) && !wf_load_relaxed(&is_watched))
		check_unwatched();
	t->timer_vp = (uint16_t)t->vp->id; /* TIMER-1: names the heap */
	wf_spin_lock(&timers->lock, WF_RANK_TIMERS);
	key = key_of_locked(timers, deadline_ns);
	WF_CHECK(wf_heap_push(&timers->heap, key, t, &t->timer_index) == 0,
		 "more timers than threads"); /* TIMER-3: there is room */
	update_earliest_locked(timers);
	wf_spin_unlock(&timers->lock);
	return key;
}

void wf_timer_remove(struct wf_thread *t)
{
	struct wf_timers *timers = wf_sched.vps[t->timer_vp].timers;

	wf_spin_lock(&timers->lock, WF_RANK_TIMERS);
	if (t->timer_index != 0) {
		wf_heap_remove(&timers->heap, t->timer_index);
		update_earliest_locked(timers);
	}
	wf_spin_unlock(&timers->lock);
}

/*
 * Takes the first due timer out of the heap. Returns NULL if no timer is due,
 * or if the clock was set back before the first one.
 */
static struct wf_thread *take_due(struct wf_timers *timers, int64_t now_ns,
				  uint64_t *ret_generation,
				  bool *ret_was_set_back)
{
	struct wf_thread *t = NULL;
	int64_t key;

	wf_spin_lock(&timers->lock, WF_RANK_TIMERS);
	key = wf_heap_min_key(&timers->heap);
	if (key <= now_ns && is_too_early_locked(timers, key)) {
		*ret_was_set_back = true;
	} else if (key <= now_ns) {
		t = wf_heap_pop(&timers->heap);
		/* TIMER-2: that of the deadline */
		*ret_generation = t->wait_generation;
		update_earliest_locked(timers);
	}
	wf_spin_unlock(&timers->lock);
	return t;
}

uint32_t wf_timers_fire(struct wf_vp *vp, int64_t now_ns, struct wf_thread *me)
{
	struct wf_timers *timers = vp->timers;
	uint32_t nr_ended = 0;

	for (uint32_t i = 0; i < MAX_FIRED; i++) {
		bool was_set_back = false;
		uint64_t generation;
		struct wf_thread *t =
			take_due(timers, now_ns, &generation, &was_set_back);

		if (t != NULL)
			nr_ended += wf_ufutex_end_wait(t, generation,
						       -ETIMEDOUT, me);
		else if (was_set_back)
			wf_timers_check_clock();
		else
			break;
	}
	return nr_ended;
}

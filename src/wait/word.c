/* SPDX-License-Identifier: MIT */
/*
 * Waiting for words. The thread parks on a user futex that no waker knows; its
 * key is the place where the wait is noted. A single word of weft_word_new that
 * no other thread waits for is noted in wait/word_array.c. All other words are
 * noted in slots of wait/word_table.c. Pollers (wait/word_poll.c) read the
 * notes and end the waits.
 *
 * WORD-1. The note of a wait changes under the lock of its key's bucket. That
 *     lock also decides which thread ends the wait (UFUTEX-3). A poller reads
 *     notes without a lock, may read a note half written, and decides under the
 *     lock.
 * WORD-2. A thread notes its wait, passes a full fence if the words are rung,
 *     checks the words once more, then parks. A writer that rings changes the
 *     word, fences, then checks for waiters. So the writer finds the waiter, or
 *     the waiter finds the change.
 * WORD-3. A wait may end though no word has changed: the waiter checks again.
 * WORD-4. A word without WF_WORD_RUNG is polled by some kernel thread at least
 *     once a tick, or less often if no such wait has begun for long. A thread
 *     that begins such a wait wakes the monitor if it sleeps without polling at
 *     the next tick (monitor/monitor.c, MONITOR-5).
 *
 * Rejected: slots with the number of the wait, and no key. A poller would have
 * to hold a lock of the slot while it takes that of the bucket. Otherwise it
 * could end another wait of the same thread.
 */
#include "wait/word.h"

#include <errno.h>

#include "libc/cleanup.h"
#include "sched/idle.h"
#include "sched/ready.h"
#include "sched/runtime.h"
#include "wait/closed.h"
#include "wait/ufutex_internal.h"
#include "wait/word_array.h"
#include "wait/word_internal.h"
#include "wait/word_table.h"

_Atomic uint32_t wf_words_nr_polled;

enum { CELL = sizeof(uint64_t) };

static size_t bytes_of(const struct wf_word *w)
{
	return w->size & ~(size_t)WF_WORD_FLAGS;
}

static bool is_valid(const struct wf_word *w)
{
	size_t bytes = bytes_of(w);

	return (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8) &&
	       ((uintptr_t)w->addr & (bytes - 1)) == 0;
}

/*
 * The slot for the aligned 8 bytes that have the word. They never cross a page.
 */
static struct wf_arch_slot slot_of(const struct wf_word *w)
{
	uintptr_t addr = (uintptr_t)w->addr;
	unsigned int shift = addr % CELL * 8;
	uint64_t all = UINT64_MAX >> (64 - 8 * bytes_of(w));

	return (struct wf_arch_slot){
		.at = (const volatile uint64_t *)(addr & ~(CELL - 1UL)),
		.mask = (w->mask & all) << shift,
		.old = w->old << shift,
	};
}

/* True if `old` has bits that no value of the word can have. */
static bool is_always_changed(const struct wf_word *w)
{
	uint64_t all = UINT64_MAX >> (64 - 8 * bytes_of(w));

	return (w->old & ~(w->mask & all)) != 0;
}

/* Returns the word's number, or WF_WORDS_MAX if it is not in the array. */
static uint32_t own_number(const struct wf_word *w)
{
	if (bytes_of(w) != sizeof(uint32_t) || (uint32_t)w->mask != UINT32_MAX)
		return WF_WORDS_MAX;
	return wf_word_number(w->addr);
}

static bool has_own_changed(uint32_t n, uint32_t old)
{
	return __atomic_load_n(&wf_word_array.words[n], __ATOMIC_ACQUIRE) !=
	       old;
}

/* Returns 1 if the word has changed, 0 if not, or -EFAULT. */
static int check_word(const struct wf_word *w, bool can_fault)
{
	uint32_t n = own_number(w);
	struct wf_arch_slot slot;

	if (is_always_changed(w))
		return 1;
	if (n != WF_WORDS_MAX)
		return has_own_changed(n, (uint32_t)w->old);
	slot = slot_of(w);
	return wf_word_slot_check(&slot, can_fault);
}

static int check_all(const struct wf_word *words, size_t nr, size_t *ret_index)
{
	bool can_fault = wf_words_can_fault(wf_thread_self());

	for (size_t i = 0; i < nr; i++) {
		int rc = check_word(&words[i], can_fault);

		if (rc == 0)
			continue;
		if (ret_index != NULL)
			*ret_index = i;
		return rc;
	}
	return 0;
}

/* --- one wait ----------------------------------------------------------- */

struct wait {
	const struct wf_word *words;
	size_t nr;
	struct wf_thread *t;
	bool is_polled;
	bool is_noted;	/* under the bucket's lock */
	bool is_taken;	/* another thread waits; under the lock */
	uint32_t n;	/* number of the word in the array */
	uint32_t first; /* first slot in the table; 0: none */
	const void *key;
};

static bool is_rung(const struct wf_word *w)
{
	return (w->size & WF_WORD_RUNG) != 0;
}

static void count_wait(struct wf_thread *t)
{
	struct wf_vp *vp = wf_vp_of(t);

	if (vp != NULL)
		wf_count_own(&vp->counters, word_waits);
	else
		wf_count(word_waits);
}

/*
 * Called when the wait is noted: counts it, and wakes the monitor if need be.
 * No fence before the monitor's state is read: the monitor announces its sleep,
 * passes a membarrier, then checks the words (monitor/monitor.c, MONITOR-3 and
 * MONITOR-5).
 */
static void check_watch(const struct wait *w, bool is_rung)
{
	if (WF_UNLIKELY(!wf_sched_has_words()))
		wf_vps_add_switch_extra(WF_SWITCH_WORDS);
	count_wait(w->t);
	wf_compiler_barrier();
	if ((!is_rung || w->is_polled) &&
	    WF_UNLIKELY(wf_load_relaxed(&wf_sched.monitor_asleep) ==
			WF_MONITOR_ASLEEP))
		wf_idle_wake_monitor(); /* WORD-4: to poll the word */
}

static uint8_t state_of(const struct wait *w)
{
	return WF_WORD_IS_WAITED_FOR |
	       (is_rung(w->words) ? WF_WORD_IS_RUNG : 0) |
	       (w->is_polled ? WF_WORD_IS_POLLED : 0);
}

static bool commit_own(void *arg)
{
	struct wait *w = arg;
	uint32_t old = (uint32_t)w->words->old;

	if (!wf_word_enter_locked(w->n, w->t, old, state_of(w))) {
		w->is_taken = true;
		return false;
	}
	if (has_own_changed(w->n, old)) { /* WORD-2: checks once more */
		wf_word_leave_locked(w->n);
		return false;
	}
	w->is_noted = true;
	check_watch(w, is_rung(w->words));
	return true;
}

/* Clears the note of a wait that did not end through the word. */
static void leave_own(void *arg)
{
	struct wait *w = arg;

	if (wf_load_relaxed(&wf_word_array.waiters[w->n]) == w->t)
		wf_word_leave_locked(w->n);
}

static bool commit_slots(void *arg)
{
	struct wait *w = arg;
	bool can_fault = wf_words_carrier_can_fault(w->t->carrier);
	bool all_rung = true;
	uint32_t n = w->first;

	w->is_noted = true;
	for (size_t i = 0; i < w->nr; i++) {
		struct wf_arch_slot slot = slot_of(&w->words[i]);

		wf_word_slot_arm_locked(n, w->key, w->t, &slot,
					is_rung(&w->words[i]), w->is_polled);
		all_rung &= is_rung(&w->words[i]);
		n = wf_word_table.infos[n].next;
	}
	wf_fence_seq_cst(); /* WORD-2: noted, then checks */
	for (size_t i = 0; i < w->nr; i++) {
		if (check_word(&w->words[i], can_fault) != 0)
			return false;
	}
	check_watch(w, all_rung);
	return true;
}

static void leave_slots(void *arg)
{
	struct wait *w = arg;

	for (uint32_t n = w->first; n != 0; n = wf_word_table.infos[n].next)
		wf_word_slot_disarm_locked(n);
}

static void get_slots(struct wait *w)
{
	struct wf_thread *t = wf_runtime_enter();
	uint64_t mask = wf_signals_close(t);

	w->first = wf_word_slots_get(w->nr);
	wf_signals_open(t, mask);
	wf_runtime_leave(t);
}

static void put_slots(struct wait *w)
{
	struct wf_thread *t = wf_runtime_enter();
	uint64_t mask = wf_signals_close(t);

	wf_word_slots_put(w->first);
	w->first = 0;
	wf_signals_open(t, mask);
	wf_runtime_leave(t);
}

static int wait_for_slots(struct wait *w, int64_t deadline_ns)
{
	int result;

	get_slots(w);
	if (w->first == 0)
		return -ENOMEM;
	w->key = &wf_word_table.slots[w->first];
	result = wf_ufutex_wait_commit(WF_WAIT_WORD, w->key, commit_slots, w,
				       deadline_ns, NULL);
	if (w->is_noted)
		wf_ufutex_change(w->key, leave_slots, w);
	put_slots(w);
	return result;
}

static int wait_for_own(struct wait *w, int64_t deadline_ns)
{
	int result;

	w->key = &wf_word_array.waiters[w->n];
	result = wf_ufutex_wait_commit(WF_WAIT_WORD, w->key, commit_own, w,
				       deadline_ns, NULL);
	/* A wake through the word clears the note itself. */
	if (result < 0 && w->is_noted)
		wf_ufutex_change(w->key, leave_own, w);
	return result;
}

/* Called when a jump or the thread's exit leaves the waiter's frame. */
static void leave_wait(void *wait)
{
	struct wait *w = wait;

	if (w->is_noted)
		wf_ufutex_change(w->key,
				 w->first != 0 ? leave_slots : leave_own, w);
	if (w->first != 0)
		put_slots(w);
}

static int wait_once(const struct wf_word *words, size_t nr, bool is_polled,
		     int64_t deadline_ns)
{
	WF_CLEANUP struct wf_cleanup cleanup = WF_CLEANUP_NONE;
	struct wait w = { .words = words,
			  .nr = nr,
			  .t = wf_thread_self(),
			  .is_polled = is_polled,
			  .n = nr == 1 ? own_number(words) : WF_WORDS_MAX };
	int result = 0;

	wf_cleanup_begin_own(&cleanup, leave_wait, &w);
	if (w.n != WF_WORDS_MAX)
		result = wait_for_own(&w, deadline_ns);
	if (w.n == WF_WORDS_MAX || w.is_taken)
		result = wait_for_slots(&w, deadline_ns);
	wf_cleanup_end(&cleanup);
	return result;
}

/* Converts the result of a wait for its caller; 0: check the words again. */
static int wait_result(int result)
{
	switch (result) {
	case WF_WORD_UNPOLLED:
		return -EAGAIN;
	case -ETIMEDOUT:
	case -ENOMEM:
	case -ECANCELED:
		return result;
	default:
		/* A handler has run, or no word has changed (WORD-3). */
		return 0;
	}
}

static int wait_for_change(const struct wf_word *words, size_t nr,
			   bool is_polled, size_t *ret_index,
			   int64_t deadline_ns)
{
	int err = 0;

	for (;;) {
		int rc = check_all(words, nr, ret_index);

		if (rc != 0)
			return rc > 0 ? 0 : rc;
		if (err != 0)
			return err;
		err = wait_result(wait_once(words, nr, is_polled, deadline_ns));
		if (err == -ECANCELED)
			return err;
	}
}

static void leave_polled(void *arg)
{
	atomic_fetch_sub(&wf_words_nr_polled, 1);
}

int wf_word_wait(const struct wf_word *words, size_t nr, size_t *ret_index,
		 int64_t deadline_ns)
{
	WF_CLEANUP struct wf_cleanup cleanup = WF_CLEANUP_NONE;
	bool is_polled = false;
	int err;

	if (nr == 0 || nr > WF_WORDS_PER_WAIT)
		return -EINVAL;
	for (size_t i = 0; i < nr; i++) {
		if (!is_valid(&words[i]))
			return -EINVAL;
		is_polled |= (words[i].size & WF_WORD_POLLED) != 0;
	}
	if (!is_polled)
		return wait_for_change(words, nr, false, ret_index,
				       deadline_ns);
	wf_cleanup_begin_own(&cleanup, leave_polled, NULL);
	atomic_fetch_add(&wf_words_nr_polled, 1);
	err = wait_for_change(words, nr, true, ret_index, deadline_ns);
	wf_cleanup_end(&cleanup);
	leave_polled(NULL);
	return err;
}

/* --- ending waits ------------------------------------------------------- */

static const void *key_of(struct wf_word_place place)
{
	if (!place.is_slot)
		return &wf_word_array.waiters[place.n];
	return wf_load_relaxed(&wf_word_table.infos[place.n].key);
}

static struct wf_thread *waiter_of(struct wf_word_place place)
{
	return place.is_slot ? wf_word_slot_waiter(place.n) :
			       wf_load_relaxed(&wf_word_array.waiters[place.n]);
}

/* Tries to lock b while the caller holds `held`; the order may be wrong. */
static bool lock_beside(const struct wf_thread *me, struct wf_bucket *b,
			struct wf_bucket *held, struct wf_bucket_hold *ret_hold)
{
	if (held == NULL)
		*ret_hold = wf_bucket_lock(me, b);
	return held == NULL || b == held ||
	       wf_bucket_trylock_beside(wf_vp_of(me), b);
}

struct wf_thread *wf_word_take_waiter(struct wf_thread *me,
				      struct wf_word_place place, int result,
				      struct wf_bucket *held)
{
	const void *key = key_of(place);
	struct wf_bucket *b = wf_bucket_of(key);
	struct wf_bucket_hold hold = { 0 };
	struct wf_thread *t;

	if (key == NULL || !lock_beside(me, b, held, &hold))
		return NULL;
	t = waiter_of(place);
	if (t != NULL && key_of(place) == key && t->wait_addr == key) {
		wf_ready_prefetch(t, WF_LINES_OF_WAIT);
		if (place.is_slot)
			wf_word_slot_mute_locked(place.n);
		else
			wf_word_leave_locked(place.n);
		wf_bucket_take_locked(b, t, result);
	} else {
		t = NULL; /* WORD-1: its wait has ended */
	}
	if (held == NULL)
		wf_bucket_unlock(me, b, hold);
	else if (b != held)
		wf_bucket_unlock_beside(b);
	return t;
}

static void ring_place(struct wf_thread *me, struct wf_word_place place)
{
	struct wf_thread *t = wf_word_take_waiter(me, place, 0, NULL);

	if (t == NULL)
		return;
	wf_count(word_rings);
	wf_ready_woken(me, t);
}

static void ring_own(struct wf_thread *me, uint32_t n)
{
	if (wf_word_state(n) != 0 && has_own_changed(n, wf_word_array.old[n]))
		ring_place(me, (struct wf_word_place){ .n = n });
}

/*
 * Ends the waits for the word in slots. The caller has just written to the
 * word, so reading it cannot fault.
 */
static void ring_slots(struct wf_thread *me, const volatile void *addr)
{
	const volatile uint64_t *at =
		(const volatile uint64_t *)((uintptr_t)addr & ~(CELL - 1UL));
	uint32_t high = wf_load_acquire(&wf_word_table.high);

	for (uint32_t n = 1; n < high; n++) {
		const struct wf_arch_slot *s = &wf_word_table.slots[n];

		if (s->at == at && (*at & s->mask) != s->old)
			ring_place(me, (struct wf_word_place){ true, n });
	}
}

void wf_word_ring(const volatile void *addr)
{
	uint32_t n = wf_word_number(addr);
	struct wf_thread *me;

	wf_fence_seq_cst(); /* WORD-2: changed, then checks for waiters */
	if (!wf_sched_has_words() ||
	    (wf_load_relaxed(&wf_word_table.high) <= 1 &&
	     (n == WF_WORDS_MAX || wf_word_state(n) == 0)))
		return;
	me = wf_runtime_enter();
	if (n != WF_WORDS_MAX)
		ring_own(me, n);
	ring_slots(me, addr);
	wf_runtime_leave(me);
}

void wf_words_fork_child(void)
{
	wf_word_array_fork_child();
	wf_word_table_fork_child();
	wf_store_relaxed(&wf_words_nr_polled, 0);
}

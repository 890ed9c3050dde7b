/* SPDX-License-Identifier: MIT */
/*
 * Barrier. The round and the number of threads that have arrived in it are one
 * 64-bit word. The last thread to arrive begins the next round and wakes the
 * other threads, which are parked on the round. Each thread then counts itself
 * in `left`, so destroying knows when no thread accesses the object any more.
 *
 * BARRIER-1. An arrival is one CAS on round and number together. The last
 *     thread to arrive opens the next round with the same CAS. So each arrival
 *     belongs to one round, also if more threads than `count` use the barrier.
 * BARRIER-2. A thread parks only while its round is open, and leaves only when
 *     it is closed. It checks again after a wake. The thread that closed a
 *     round may wake late, when threads already wait in the next round.
 * BARRIER-3. Each arrival is added to `left` once, by its thread's last access
 *     to the object. When all arrivals of all closed rounds have left, no
 *     thread will access it. Destroying waits for that, and may be done by the
 *     first thread that returns. A thread that leaves its wait by a jump or by
 *     its exit has arrived, and is added, too.
 *
 * Both sides of the comparison in BARRIER-3 count modulo 2^31; they differ by
 * less.
 *
 *     Left   n -> n + 1            [leave]
 *            n -> n | DYING        [wf_barrier_fini]
 *
 * A destroyed barrier has count 0, which pthread_barrier_wait takes for
 * invalid.
 *
 * Rejected: that the waker counts out the threads it wakes, to save their
 * atomic. Its late wake (BARRIER-2) also reaches threads that must stay.
 */
#include "sync/barrier.h"

#include <string.h>

#include "libc/cleanup.h"

_Static_assert(sizeof(struct wf_barrier) == sizeof(pthread_barrier_t),
	       "the object has libc's size");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	       "round is the high half of arrivals");

int wf_barrier_init(struct wf_barrier *b, unsigned int count)
{
	if (count == 0 || count >= INT_MAX) /* libc refuses these, too */
		return -EINVAL;
	memset(b, 0, sizeof(*b));
	b->count = count;
	return 0;
}

/* Counts the end of the caller's arrival: its last access to the object. */
static void leave(struct wf_barrier *b)
{
	/*
	 * release: the caller's accesses end here; pairs with wf_barrier_fini.
	 */
	uint32_t old = atomic_fetch_add_explicit(&b->left, WF_BARRIER_ONE_LEFT,
						 memory_order_release);

	if (WF_UNLIKELY(old & WF_BARRIER_DYING))
		/* BARRIER-3: the last to leave wakes the destroying thread. */
		wf_ufutex_wake(&b->left, INT_MAX, WF_UFUTEX_ANY);
}

int wf_barrier_fini(struct wf_barrier *b)
{
	uint64_t arrivals = wf_load_relaxed(&b->arrivals);
	uint32_t all =
		(uint32_t)(arrivals >> 32) * b->count * WF_BARRIER_ONE_LEFT;
	uint32_t left;

	if ((uint32_t)arrivals != 0)
		return -EBUSY;
	if (b->count == 0)
		return 0; /* destroyed before; libc allows that, too */
	/* acquire: pairs with the release in leave. */
	left = wf_load_acquire(&b->left);
	while ((left & ~(uint32_t)WF_BARRIER_DYING) != all) {
		left = atomic_fetch_or_explicit(&b->left, WF_BARRIER_DYING,
						memory_order_acquire) |
		       WF_BARRIER_DYING;
		if ((left & ~(uint32_t)WF_BARRIER_DYING) == all)
			break;
		wf_ufutex_wait(WF_WAIT_BARRIER_END, &b->left, left,
			       WF_UFUTEX_ANY, WF_FOREVER);
		left = wf_load_acquire(&b->left);
	}
	b->count = 0;
	return 0;
}

/*
 * Counts the caller's arrival. Returns its round, and whether it is the last to
 * arrive. BARRIER-1
 */
static uint32_t arrive(struct wf_barrier *b, bool *ret_is_last)
{
	uint64_t arrivals = wf_load_relaxed(&b->arrivals);
	uint64_t next;
	uint32_t round;

	do {
		round = (uint32_t)(arrivals >> 32);
		*ret_is_last = (uint32_t)arrivals + 1 == b->count;
		next = *ret_is_last ? (uint64_t)(round + 1) << 32 :
				      arrivals + 1;
		/*
		 * acq_rel: the code before each arrival happens before the code
		 * after the round.
		 */
	} while (!wf_cas_acq_rel(&b->arrivals, &arrivals, next));
	return round;
}

static bool is_open(struct wf_barrier *b, uint32_t round)
{
	/* acquire: pairs with the CAS of the last thread. */
	return (uint32_t)(wf_load_acquire(&b->arrivals) >> 32) == round;
}

static void leave_wait(void *barrier)
{
	leave(barrier);
}

static void await_end(struct wf_barrier *b, uint32_t round)
{
	WF_CLEANUP struct wf_cleanup cleanup = WF_CLEANUP_NONE;

	wf_cleanup_begin_own(&cleanup, leave_wait, b);
	while (is_open(b, round)) /* BARRIER-2: checks again after a wake */
		wf_ufutex_wait(WF_WAIT_BARRIER, &b->round, round, WF_UFUTEX_ANY,
			       WF_FOREVER);
	wf_cleanup_end(&cleanup);
}

int wf_barrier_wait(struct wf_barrier *b)
{
	bool is_last;
	uint32_t round = arrive(b, &is_last);

	if (is_last)
		wf_ufutex_wake(&b->round, INT_MAX, WF_UFUTEX_ANY);
	else
		await_end(b, round);
	leave(b); /* BARRIER-3: last access to the object */
	return is_last ? WF_BARRIER_SERIAL : 0;
}

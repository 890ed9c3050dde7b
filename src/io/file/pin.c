/* SPDX-License-Identifier: MIT */
/*
 * The waits with a pinned file are in buckets by number. A thread that closes
 * or replaces a number walks the bucket and gives each wait on it a duplicate
 * of the file.
 *
 * PIN-1. From its begin to its end a wait is in the bucket of its number, and
 *     its thread is in the runtime. No signal handler runs in that time, so
 *     none can leave the wait in the bucket by a longjmp.
 * PIN-2. Before a number is closed or replaced, each wait on it gets a
 *     duplicate. The waiting thread sets is_in_call before it reads which of
 *     the two numbers to use. The closing thread reads is_in_call after it has
 *     made the duplicate, and waits until the call, which does not wait, is
 *     over.
 * PIN-3. A thread that begins to wait just when the number is closed waits for
 *     the number's next file, or gets EBADF. The same holds for a waiting
 *     thread if no number is free for a duplicate.
 */
#include "io/file/pin.h"

#include <stdint.h>

#include "base/atomic.h"
#include "base/spin.h"
#include "io/file/private_fd.h"
#include "os/clock.h"
#include "os/sys.h"
#include "sched/runtime.h"
#include "sched/yield.h"
#include "signal/deliver.h"
#include "wait/closed.h"

enum { NR_BUCKETS = 64 };

struct bucket {
	struct wf_spin lock;
	/* struct wf_pin; the first wait of the bucket initialises the list */
	struct wf_list waits;
} WF_ALIGNED(WF_CACHE_LINE);

static struct bucket buckets[NR_BUCKETS];
static _Atomic uint32_t nr_waits;

static struct bucket *lock(int fd)
{
	struct bucket *b = &buckets[(unsigned int)fd % NR_BUCKETS];

	wf_spin_lock(&b->lock, WF_RANK_PIN);
	if (b->waits.next == NULL)
		wf_list_init(&b->waits);
	return b;
}

/* --- waiting -------------------------------------------------------------- */

void wf_pin_begin(struct wf_pin *h)
{
	struct bucket *b = lock(h->fd);

	wf_list_add_tail(&b->waits, &h->link);
	wf_spin_unlock(&b->lock);
	atomic_fetch_add(&nr_waits, 1);
}

void wf_pin_end(struct wf_pin *h)
{
	struct bucket *b = lock(h->fd);

	wf_list_del(&h->link);
	wf_spin_unlock(&b->lock);
	atomic_fetch_sub(&nr_waits, 1);
}

int wf_pin_fd(const struct wf_pin *h)
{
	/* seq_cst: after is_in_call was set (PIN-2). */
	int pinned = atomic_load(&h->pinned_fd);

	return pinned >= 0 ? pinned : h->fd;
}

int wf_pin_call_begin(struct wf_pin *h)
{
	atomic_store(&h->is_in_call, true);
	return wf_pin_fd(h);
}

void wf_pin_call_end(struct wf_pin *h)
{
	/* release: the call is over; pairs with pin_all. */
	wf_store_release(&h->is_in_call, false);
}

void wf_pin_fini(struct wf_pin *h)
{
	int pinned = wf_load_relaxed(&h->pinned_fd);

	if (pinned < 0)
		return;
	wf_store_relaxed(&h->pinned_fd, -1);
	wf_private_fd_close(pinned);
}

void wf_pin_release_for_handler(struct wf_pin *h)
{
	struct wf_thread *t = wf_self;

	if ((wf_sigqueue_pending(&t->sigqueue) & wf_deliver_open(t)) != 0)
		wf_pin_fini(h);
}

/* --- closing -------------------------------------------------------------- */

/* PIN-2. Returns true if one of the waiting threads is in its call. */
static bool pin_all(struct bucket *b, unsigned int first, unsigned int last)
{
	bool is_in_call = false;

	for (struct wf_list *l = b->waits.next; l != &b->waits; l = l->next) {
		struct wf_pin *h = wf_container_of(l, struct wf_pin, link);
		unsigned int fd = (unsigned int)h->fd;

		if (fd < first || fd > last)
			continue;
		if (wf_load_relaxed(&h->pinned_fd) < 0)
			atomic_store(&h->pinned_fd,
				     wf_private_fd_duplicate(h->fd));
		/* seq_cst: after pinned_fd was set; pairs with call_begin. */
		is_in_call |= atomic_load(&h->is_in_call);
	}
	return is_in_call;
}

static bool close_bucket(uint32_t index, unsigned int first, unsigned int last)
{
	struct wf_thread *me = wf_runtime_enter();
	uint64_t mask = wf_signals_close(me);
	struct bucket *b = lock((int)index);
	bool again = pin_all(b, first, last);

	wf_spin_unlock(&b->lock);
	wf_signals_open(me, mask);
	wf_runtime_leave(me);
	return again;
}

/*
 * The close barrier waits until no call uses the number (PIN-2): first by
 * yields, then by naps of 20 us, about 20 ms in all. A call may take longer if
 * its kernel thread gets no CPU, or for ever if it is in a page fault. Returns
 * false when the barrier has waited enough.
 */
static bool pass_close_barrier(int nr)
{
	enum { YIELDS = 100, NAPS = 1000 };
	const struct timespec nap = { 0, 20 * WF_NS_PER_US };

	if (nr < YIELDS)
		wf_sched_yield();
	else
		wf_sys(SYS_nanosleep, &nap, NULL);
	return nr < YIELDS + NAPS;
}

void wf_pin_before_close(unsigned int first, unsigned int last)
{
	bool is_few = last - first < NR_BUCKETS;
	uint32_t nr = is_few ? last - first + 1 : NR_BUCKETS;

	if (atomic_load(&nr_waits) == 0)
		return;
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t index = is_few ? (first + i) % NR_BUCKETS : i;

		for (int tries = 0; close_bucket(index, first, last) &&
				    pass_close_barrier(tries);)
			tries++;
	}
}

void wf_pin_fork_child(void)
{
	for (uint32_t i = 0; i < NR_BUCKETS; i++)
		buckets[i] = (struct bucket){ 0 };
	wf_store_relaxed(&nr_waits, 0);
}

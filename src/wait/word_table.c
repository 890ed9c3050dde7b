/* SPDX-License-Identifier: MIT */
/*
 * Slots for words at arbitrary addresses. Each word of a wait has a slot with
 * the address, the mask and the old value. Pollers read the slots up to `high`
 * without a lock. A read may fault: the handler of weft catches that, or the
 * kernel reads.
 *
 * WORD_TABLE-1. A free slot points to `nothing`, with a mask of 0. So it never
 *     seems to have changed, and a poller needs no lock.
 * WORD_TABLE-2. A slot may seem to have changed while it is written. So a
 *     poller that finds a change takes the lock of the slot's bucket and checks
 *     for a waiter.
 * WORD_TABLE-3. A wait gets the first free slot, and `high` follows the last
 *     used one. So a poll reads as many slots as are in use, not as were ever
 *     in use.
 */
#include "wait/word_table.h"

#include <errno.h>
#include <sys/uio.h>

#include "os/mem.h"

struct wf_word_table wf_word_table;

static struct wf_spin lock = WF_SPIN_INIT;
/* slot n is in use: bit n % 64 of element n / 64; under lock */
static uint64_t *used;
/* the elements of `used` below it are full; under lock */
static uint32_t not_full;
static const uint64_t nothing;

/* --- slots -------------------------------------------------------------- */

static bool reserve_locked(void)
{
	struct wf_word_table *w = &wf_word_table;
	size_t slots = WF_WORD_SLOTS_MAX * sizeof(struct wf_arch_slot);
	size_t infos = WF_WORD_SLOTS_MAX * sizeof(struct wf_word_slot_info);
	char *block;

	if (w->slots != NULL)
		return true;
	block = wf_os_reserve(slots + infos + WF_WORD_SLOTS_MAX / 8);
	if (block == NULL)
		return false;
	used = (void *)(block + slots + infos);
	used[0] = 1; /* slot 0 means none */
	w->infos = (void *)(block + slots);
	w->slots = (void *)block;
	wf_store_relaxed(&w->high, 1);
	return true;
}

static bool is_used(uint32_t n)
{
	return (used[n / 64] >> (n % 64) & 1) != 0;
}

/* Frees the slots of a wait, which begin with `first`. WORD_TABLE-3 */
static void put_locked(uint32_t first)
{
	uint32_t high = wf_load_relaxed(&wf_word_table.high);

	for (uint32_t n = first; n != 0; n = wf_word_table.infos[n].next) {
		used[n / 64] &= ~(1ULL << (n % 64));
		not_full = n / 64 < not_full ? n / 64 : not_full;
	}
	while (high > 1 && !is_used(high - 1))
		high--;
	wf_store_relaxed(&wf_word_table.high, high);
}

/* Takes the first free slot; 0 if there is none. */
static uint32_t get_locked(void)
{
	struct wf_word_table *w = &wf_word_table;
	uint32_t n;

	while (not_full < WF_WORD_SLOTS_MAX / 64 &&
	       used[not_full] == UINT64_MAX)
		not_full++;
	if (not_full == WF_WORD_SLOTS_MAX / 64)
		return 0;
	n = not_full * 64 + (uint32_t)__builtin_ctzll(~used[not_full]);
	used[not_full] |= 1ULL << (n % 64);
	if (n >= wf_load_relaxed(&w->high)) {
		/* WORD_TABLE-1: never seems changed */
		w->slots[n].at = &nothing;
		/* release: publishes the slot; pairs with the pollers'
		 * acquire. */
		wf_store_release(&w->high, n + 1);
	}
	return n;
}

uint32_t wf_word_slots_get(size_t nr)
{
	uint32_t first = 0;

	wf_spin_lock(&lock, WF_RANK_WORD_TABLE);
	for (size_t i = 0; i < nr && reserve_locked(); i++) {
		uint32_t n = get_locked();

		if (n == 0) {
			put_locked(first);
			first = 0;
			break;
		}
		wf_word_table.infos[n].next = first;
		first = n;
	}
	wf_spin_unlock(&lock);
	return first;
}

void wf_word_slots_put(uint32_t first)
{
	wf_spin_lock(&lock, WF_RANK_WORD_TABLE);
	put_locked(first);
	wf_spin_unlock(&lock);
}

void wf_word_slot_mute_locked(uint32_t n)
{
	struct wf_arch_slot *s = &wf_word_table.slots[n];

	__atomic_store_n(&s->mask, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&s->old, 0, __ATOMIC_RELAXED);
	/* WORD_TABLE-1: never seems changed */
	__atomic_store_n(&s->at, &nothing, __ATOMIC_RELAXED);
}

void wf_word_slot_arm_locked(uint32_t n, const void *key, struct wf_thread *t,
			     const struct wf_arch_slot *what, bool is_rung,
			     bool is_polled)
{
	struct wf_arch_slot *s = &wf_word_table.slots[n];
	struct wf_word_slot_info *info = &wf_word_table.infos[n];

	info->is_rung = is_rung;
	info->is_polled = is_polled;
	wf_store_relaxed(&info->key, key);
	__atomic_store_n(&s->owner, t, __ATOMIC_RELAXED);
	__atomic_store_n(&s->at, what->at, __ATOMIC_RELAXED);
	__atomic_store_n(&s->old, what->old, __ATOMIC_RELAXED);
	__atomic_store_n(&s->mask, what->mask, __ATOMIC_RELAXED);
}

void wf_word_slot_disarm_locked(uint32_t n)
{
	wf_word_slot_mute_locked(n);
	__atomic_store_n(&wf_word_table.slots[n].owner, NULL, __ATOMIC_RELAXED);
	wf_store_relaxed(&wf_word_table.infos[n].key, NULL);
}

/* --- polling ------------------------------------------------------------ */

/*
 * Finds the first changed slot by a system call that reads the words. A bad
 * address is an error then, not a signal.
 */
static const struct wf_arch_slot *
scan_by_kernel(const struct wf_arch_slot *from, const struct wf_arch_slot *end)
{
	enum { BATCH = 32 };
	struct iovec there[BATCH];
	uint64_t values[BATCH], masks[BATCH], olds[BATCH];

	while (from < end) {
		size_t nr = (size_t)(end - from);
		long got;

		nr = nr < BATCH ? nr : BATCH;
		for (size_t i = 0; i < nr; i++) {
			there[i].iov_base = (void *)(uintptr_t)from[i].at;
			there[i].iov_len = sizeof(uint64_t);
			masks[i] = from[i].mask;
			olds[i] = from[i].old;
		}
		got = wf_os_peek(there, nr, values, nr * sizeof(values[0]));
		if (got < 0 && got != -EFAULT)
			/* the kernel forbids it: another poller reads these
			 * words */
			return end;
		got = got < 0 ? 0 : got / (long)sizeof(values[0]);
		for (size_t i = 0; i < nr; i++) {
			if (i >= (size_t)got)
				return (const void *)((const char *)&from[i] +
						      1);
			if ((values[i] & masks[i]) != olds[i])
				return &from[i];
		}
		from += nr;
	}
	return end;
}

static const struct wf_arch_slot *scan(const struct wf_arch_slot *from,
				       const struct wf_arch_slot *end,
				       bool can_fault, bool *ret_faulted)
{
	const struct wf_arch_slot *s = can_fault ?
					       wf_arch_slots_scan(from, end) :
					       scan_by_kernel(from, end);

	wf_compiler_barrier();
	*ret_faulted = ((uintptr_t)s & 1) != 0;
	return (const void *)((uintptr_t)s & ~(uintptr_t)1);
}

uint32_t wf_word_slot_find(uint32_t from, uint32_t end, bool can_fault,
			   bool *ret_faulted)
{
	const struct wf_arch_slot *slots = wf_word_table.slots;

	if (from >= end)
		return end;
	return (uint32_t)(scan(&slots[from], &slots[end], can_fault,
			       ret_faulted) -
			  slots);
}

int wf_word_slot_check(const struct wf_arch_slot *what, bool can_fault)
{
	bool faulted;

	if (scan(what, what + 1, can_fault, &faulted) != what)
		return 0;
	return faulted ? -EFAULT : 1;
}

/* In a fork child: no thread waits, so all slots are free. */
void wf_word_table_fork_child(void)
{
	struct wf_word_table *w = &wf_word_table;

	lock = WF_SPIN_INIT;
	not_full = 0;
	if (w->slots == NULL)
		return;
	for (uint32_t n = 1; n < wf_load_relaxed(&w->high); n++) {
		wf_word_slot_disarm_locked(n);
		used[n / 64] &= ~(1ULL << (n % 64));
	}
	wf_store_relaxed(&w->high, 1);
}

/*
 * Positions count up and wrap at 2^32; a position's slot is its remainder.
 * The head word holds the first entry's position and a version.
 *
 * I1. head <= tail <= head + WF_RUNQ_SIZE (positions wrap, differences do
 *     not).
 * I2. Only the owner moves tail, and only upwards. Only the owner moves head
 *     down.
 * I3. A slot whose position lies in [head, tail) is never written.
 * I4. Every move of head changes the version. So a CAS on head that succeeds
 *     proves that head stood still since it was read: what was read from
 *     [head, tail) in between were the entries (I3), and nobody else got
 *     them.
 * I5. Entries are read before the CAS and belong to the reader only if it
 *     succeeds.
 *
 * Without I4, push_head could bring head back to a position at which a thief
 * has read the former entry: the thief's CAS would succeed, the old entry run
 * twice and the new one never.
 *
 * A version wraps after 2^32 moves of head. A thief would have to be stopped
 * in pop while head moves, for more than a minute at full speed, a multiple
 * of 2^32 times and back to the same position.
 *
 * Rejected: Chase-Lev, where the owner takes from its own end without a CAS.
 * Fair order needs both ends in the owner's hands and takes from the head
 * only, and the fence that the owner's end needs costs as much as the CAS.
 * Rejected: a growing ring. The old array would have to outlive the thieves
 * that read it; overflow to the injection queue is rare and simple.
 * Rejected: a sequence number in each slot instead of the version. It doubles
 * the ring, and taking half needs one CAS for all entries, not one each.
 */
#include "sched/runq.h"

enum { MASK = WF_RUNQ_SIZE - 1 };
_Static_assert((WF_RUNQ_SIZE & MASK) == 0, "WF_RUNQ_SIZE: a power of two");

static uint32_t position(uint64_t head)
{
	return (uint32_t)head;
}

/* The head word after a move by `by` positions (I4). */
static uint64_t moved(uint64_t head, uint32_t by)
{
	uint32_t version = (uint32_t)(head >> 32) + 1;

	return (uint64_t)version << 32 | (uint32_t)(position(head) + by);
}

void wf_runq_init(struct wf_runq *q)
{
	wf_store_relaxed(&q->head, 0);
	wf_store_relaxed(&q->tail, 0);
}

bool wf_runq_push_tail(struct wf_runq *q, uint64_t entry)
{
	uint32_t tail = wf_load_relaxed(&q->tail); /* I2 */
	/* acquire: the slot's last reader is done with it; pairs with the CAS
	 * in pop and take_half. */
	uint64_t head = wf_load_acquire(&q->head);

	/* An old head only makes the ring look fuller (I2). */
	if (tail - position(head) == WF_RUNQ_SIZE)
		return false;
	wf_store_relaxed(&q->slot[tail & MASK], entry); /* I3 */
	/* release: publishes the slot; pairs with the acquire of tail in pop
	 * and take_half. */
	wf_store_release(&q->tail, tail + 1);
	return true;
}

bool wf_runq_push_head(struct wf_runq *q, uint64_t entry)
{
	uint32_t tail = wf_load_relaxed(&q->tail); /* I2 */
	/* acquire: as in push_tail. */
	uint64_t head = wf_load_acquire(&q->head);

	do {
		if (tail - position(head) == WF_RUNQ_SIZE)
			return false;
		/* I3: the slot before head is outside of [head, tail). */
		wf_store_relaxed(&q->slot[(position(head) - 1) & MASK], entry);
		/* release: publishes the slot; pairs with the acquire of head
		 * in pop and take_half. acquire, if it fails: as above. */
	} while (!wf_cas_acq_rel(&q->head, &head, moved(head, -1U)));
	return true;
}

bool wf_runq_pop(struct wf_runq *q, uint64_t *ret_entry)
{
	/* acquire: an entry that push_head put there. */
	uint64_t head = wf_load_acquire(&q->head);
	uint64_t entry;

	do {
		/* acquire: the entries up to tail; pairs with the release in
		 * push_tail. Read after head, so at least as new (I1). */
		if (wf_load_acquire(&q->tail) == position(head))
			return false;
		entry = wf_load_relaxed(&q->slot[position(head) & MASK]);
		/* release: the slot was read before it may be written; pairs
		 * with the acquire of head in push_tail and push_head. */
	} while (!wf_cas_acq_rel(&q->head, &head, moved(head, 1)));
	*ret_entry = entry; /* I5 */
	return true;
}

bool wf_runq_pop_alone(struct wf_runq *q, uint64_t *ret_entry)
{
	uint64_t head = wf_load_relaxed(&q->head); /* the owner's own */

	if (wf_load_relaxed(&q->tail) == position(head))
		return false;
	*ret_entry = wf_load_relaxed(&q->slot[position(head) & MASK]);
	wf_store_relaxed(&q->head, moved(head, 1));
	return true;
}

uint32_t wf_runq_take_half(struct wf_runq *q, uint64_t *ret_entries,
			   uint32_t max)
{
	uint64_t head = wf_load_acquire(&q->head); /* as in pop */
	uint32_t nr;

	do {
		/* acquire: as in pop. If head is old by now, len may be
		 * anything; the CAS then fails. */
		uint32_t len = wf_load_acquire(&q->tail) - position(head);

		nr = len / 2 + len % 2;
		if (nr > max)
			nr = max;
		if (nr > WF_RUNQ_SIZE)
			nr = WF_RUNQ_SIZE;
		if (nr == 0)
			return 0;
		for (uint32_t i = 0; i < nr; i++)
			ret_entries[i] = wf_load_relaxed(
				&q->slot[(position(head) + i) & MASK]);
		/* release: as in pop. */
	} while (!wf_cas_acq_rel(&q->head, &head, moved(head, nr)));
	return nr; /* I5 */
}

uint32_t wf_runq_drop(struct wf_runq *q, bool (*is_stale)(uint64_t entry))
{
	uint64_t head = wf_load_acquire(&q->head); /* as in pop */
	uint32_t nr;

	do {
		/* acquire, and an old head: as in take_half. */
		uint32_t len = wf_load_acquire(&q->tail) - position(head);

		for (nr = 0; nr < len && nr < WF_RUNQ_SIZE; nr++) {
			uint32_t i = (position(head) + nr) & MASK;

			if (!is_stale(wf_load_relaxed(&q->slot[i])))
				break;
		}
		if (nr == 0)
			return 0;
		/* release: as in pop. */
	} while (!wf_cas_acq_rel(&q->head, &head, moved(head, nr)));
	return nr;
}

uint32_t wf_runq_len(const struct wf_runq *q)
{
	uint32_t pos = position(wf_load_relaxed(&q->head));
	int32_t len = (int32_t)(wf_load_relaxed(&q->tail) - pos);

	/* The two words are not of one moment. */
	if (len < 0)
		return 0;
	return len < WF_RUNQ_SIZE ? (uint32_t)len : WF_RUNQ_SIZE;
}

uint32_t wf_runq_live(const struct wf_runq *q, bool (*is_stale)(uint64_t entry))
{
	uint32_t len = wf_runq_len(q), live = len;
	uint32_t pos = position(wf_load_relaxed(&q->head));

	for (uint32_t i = 0; i < len && i < WF_RUNQ_LOOK; i++)
		live -= is_stale(wf_load_relaxed(&q->slot[(pos + i) & MASK]));
	return live;
}

void wf_runq_positions(const struct wf_runq *q, uint32_t *ret_first,
		       uint32_t *ret_end)
{
	*ret_first = position(wf_load_relaxed(&q->head));
	*ret_end = wf_load_relaxed(&q->tail);
}

uint32_t wf_runq_head(const struct wf_runq *q)
{
	return (uint32_t)(wf_load_relaxed(&q->head) >> 32);
}

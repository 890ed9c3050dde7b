/* SPDX-License-Identifier: MIT */
/*
 * A run queue is a circular array. Its owner pushes at both ends, and all VPs
 * take at the head by a compare-and-swap. Positions count up and wrap at 2^32;
 * a position's slot is its remainder. The head word has the first entry's
 * position and a version.
 *
 * RUNQ-1. head <= tail <= head + WF_RUNQ_SIZE (positions wrap, differences do
 *     not).
 * RUNQ-2. Only the owner moves tail, and down only where no other thread takes
 *     (wf_runq_remove_last_alone). Only the owner moves head down.
 * RUNQ-3. A slot with a position in [head, tail) is never written.
 * RUNQ-4. Every move of head changes the version. So a CAS on head that
 *     succeeds proves that head stood still since it was read. The slots read
 *     from [head, tail) in between had the entries (RUNQ-3), and no other
 *     thread got them.
 * RUNQ-5. Entries are read before the CAS and belong to the reader only if it
 *     succeeds.
 *
 * Without RUNQ-4, push_head could bring head back to a position at which a
 * thief has read the former entry. The thief's CAS would succeed: the old entry
 * would run twice and the new one never.
 *
 * A version wraps after 2^32 moves of head. A thief would have to be stopped in
 * pop for more than a minute at full speed. Head would have to move a multiple
 * of 2^32 times meanwhile, and return to the same position.
 *
 * Rejected: Chase-Lev, where the owner takes from its own end without a CAS.
 * For a fair order the owner pushes at both ends and takes from the head only.
 * The fence that the owner's end needs costs as much as the CAS.
 * Rejected: an array that grows. The old one would have to outlive the thieves
 * that read it; overflow to the injection queue is rare and simple.
 * Rejected: a sequence number in each slot instead of the version. It doubles
 * the queue, and taking half needs one CAS for all entries, not one each.
 */
#include "sched/runq.h"

void wf_runq_init(struct wf_runq *q)
{
	wf_store_relaxed(&q->head, 0);
	wf_store_relaxed(&q->tail, 0);
}

bool wf_runq_push_head(struct wf_runq *q, uint64_t entry)
{
	/* RUNQ-2: only this thread writes tail */
	uint32_t tail = wf_load_relaxed(&q->tail);
	/* acquire: the last reader has read the slot; pairs with the CAS of
	 * head in pop and take_half. */
	uint64_t head = wf_load_acquire(&q->head);

	do {
		if (tail - wf_runq_position(head) == WF_RUNQ_SIZE)
			return false;
		/* RUNQ-3: the slot before head is outside of [head, tail). */
		wf_store_relaxed(
			&q->slot[(wf_runq_position(head) - 1) & WF_RUNQ_MASK],
			entry);
		/* release: publishes the slot; pairs with the acquire of head
		 * in pop and take_half. acquire, if the CAS fails: as for head
		 * above. */
	} while (!wf_cas_acq_rel(&q->head, &head, wf_runq_moved(head, -1U)));
	return true;
}

uint32_t wf_runq_take_half(struct wf_runq *q, uint64_t *ret_entries,
			   uint32_t max)
{
	/* acquire: as in wf_runq_pop */
	uint64_t head = wf_load_acquire(&q->head);
	uint32_t nr;

	do {
		/* acquire: as in wf_runq_pop. If head is old by now, len may be
		 * anything; the CAS below then fails. */
		uint32_t len =
			wf_load_acquire(&q->tail) - wf_runq_position(head);

		nr = len / 2 + len % 2;
		if (nr > max)
			nr = max;
		if (nr > WF_RUNQ_SIZE)
			nr = WF_RUNQ_SIZE;
		if (nr == 0)
			return 0;
		for (uint32_t i = 0; i < nr; i++)
			ret_entries[i] = wf_load_relaxed(
				&q->slot[(wf_runq_position(head) + i) &
					 WF_RUNQ_MASK]);
		/* release: the slots were read before they may be written
		 * again; pairs with the acquire of head in push_tail and
		 * push_head. */
	} while (!wf_cas_acq_rel(&q->head, &head, wf_runq_moved(head, nr)));
	return nr; /* RUNQ-5: the CAS has made the entries ours */
}

uint32_t wf_runq_drop(struct wf_runq *q, bool (*is_stale)(uint64_t entry))
{
	/* acquire: as in wf_runq_pop */
	uint64_t head = wf_load_acquire(&q->head);
	uint32_t nr;

	do {
		/* acquire: as in wf_runq_pop. If head is old by now, the CAS
		 * fails. */
		uint32_t len =
			wf_load_acquire(&q->tail) - wf_runq_position(head);

		for (nr = 0; nr < len && nr < WF_RUNQ_SIZE; nr++) {
			uint32_t i = (wf_runq_position(head) + nr) &
				     WF_RUNQ_MASK;

			if (!is_stale(wf_load_relaxed(&q->slot[i])))
				break;
		}
		if (nr == 0)
			return 0;
		/* release: the slots were read before they may be written
		 * again; pairs with the acquire of head in push_tail and
		 * push_head. */
	} while (!wf_cas_acq_rel(&q->head, &head, wf_runq_moved(head, nr)));
	return nr;
}

uint32_t wf_runq_len(const struct wf_runq *q)
{
	uint32_t pos = wf_runq_position(wf_load_relaxed(&q->head));
	int32_t len = (int32_t)(wf_load_relaxed(&q->tail) - pos);

	/* The two were read at different moments and may not match. */
	if (len < 0)
		return 0;
	return len < WF_RUNQ_SIZE ? (uint32_t)len : WF_RUNQ_SIZE;
}

uint32_t wf_runq_live(const struct wf_runq *q, bool (*is_stale)(uint64_t entry))
{
	uint32_t len = wf_runq_len(q), live = len;
	uint32_t pos = wf_runq_position(wf_load_relaxed(&q->head));

	for (uint32_t i = 0; i < len && i < WF_RUNQ_PEEK; i++)
		live -= is_stale(
			wf_load_relaxed(&q->slot[(pos + i) & WF_RUNQ_MASK]));
	return live;
}

void wf_runq_positions(const struct wf_runq *q, uint32_t *ret_first,
		       uint32_t *ret_end)
{
	*ret_first = wf_runq_position(wf_load_relaxed(&q->head));
	*ret_end = wf_load_relaxed(&q->tail);
}

uint32_t wf_runq_head(const struct wf_runq *q)
{
	return (uint32_t)(wf_load_relaxed(&q->head) >> 32);
}

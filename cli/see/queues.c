/* SPDX-License-Identifier: MIT */
/*
 * Reads which threads wait in which run queue. A place is a number: the queue's
 * kind and its VP.
 */
#include <stdlib.h>
#include <string.h>

#include "threads.h"

enum { INTERACTIVE, BATCH, NEXT, REMOTE, REALTIME, INJECTION, NR_KINDS };

static const char *const names[NR_KINDS] = {
	[INTERACTIVE] = "interactive",
	[BATCH] = "batch",
	[NEXT] = "next",
	[REMOTE] = "remote",
	[REALTIME] = "real-time",
	[INJECTION] = "injection",
};

/* Entries that are read of one queue. */
enum { MAX_RUNQ = 1 << 16, MAX_INJECT = WF_SEE_MAX_THREADS };

const char *wf_see_place_name(uint16_t place)
{
	return place != 0 ? names[(place - 1) % NR_KINDS] : NULL;
}

int wf_see_place_vp(uint16_t place)
{
	int kind = (place - 1) % NR_KINDS;

	return place == 0 || kind == REALTIME || kind == INJECTION ?
		       -1 :
		       (place - 1) / NR_KINDS;
}

static void put(struct wf_see_reading *r, uint64_t entry, int kind, uint32_t vp)
{
	uint32_t index = (uint32_t)entry;

	if (index != 0 && index < r->nr)
		r->places[index] = (uint16_t)(1 + vp * NR_KINDS + kind);
}

/* The ring of `room` entries at `at`: those from `from`, nr of them. */
static void put_ring(struct wf_see_reading *r, uint64_t at, uint64_t room,
		     uint32_t from, uint64_t nr, int kind, uint32_t vp)
{
	uint64_t entries[512];

	if (room == 0 || (room & (room - 1)) != 0 || nr > room)
		return;
	while (nr > 0) {
		uint64_t first = from & (room - 1);
		uint64_t n = room - first < nr ? room - first : nr;
		size_t got;

		if (n > sizeof(entries) / sizeof(entries[0]))
			n = sizeof(entries) / sizeof(entries[0]);
		got = r->source->read(r->source, at + first * 8, entries,
				      n * 8);
		for (size_t i = 0; i < got / 8; i++)
			put(r, entries[i], kind, vp);
		if (got < n * 8)
			return;
		from += (uint32_t)n;
		nr -= n;
	}
}

static void read_runq(struct wf_see_reading *r, uint64_t at, int kind,
		      uint32_t vp)
{
	const struct wf_see_items *it = r->items;
	uint32_t head = (uint32_t)wf_see_peek(r->source, at, &it->runq_head);
	uint32_t tail = (uint32_t)wf_see_peek(r->source, at, &it->runq_tail);

	if (it->runq_slots <= MAX_RUNQ)
		put_ring(r, at + it->runq_slot.offset, it->runq_slots, head,
			 tail - head, kind, vp);
}

static void read_inject(struct wf_see_reading *r, uint64_t at, int kind,
			uint32_t vp)
{
	const struct wf_see_items *it = r->items;
	uint64_t room = wf_see_peek(r->source, at, &it->inject_capacity);

	if (room <= MAX_INJECT)
		put_ring(r, wf_see_peek(r->source, at, &it->inject_entries),
			 room,
			 (uint32_t)wf_see_peek(r->source, at, &it->inject_head),
			 wf_see_peek(r->source, at, &it->inject_len), kind, vp);
}

void wf_see_queues_read(struct wf_see_reading *r)
{
	const struct wf_see_items *it = r->items;

	read_inject(r, it->sched + it->sched_inject.offset, INJECTION, 0);
	for (uint32_t i = 0; i < r->nr_vps; i++) {
		uint64_t vp = wf_see_vp_at(r, i);

		read_inject(r, vp + it->vp_remote.offset, REMOTE, i);
		read_runq(r, vp + it->vp_batch.offset, BATCH, i);
		read_runq(r, vp + it->vp_interactive.offset, INTERACTIVE, i);
		put(r, wf_see_peek(r->source, vp, &it->vp_next_slot), NEXT, i);
	}
}

/* SPDX-License-Identifier: MIT */
/*
 * CPU-bound threads must not run in one order for ever: a thread that empties
 * what the thread before it fills would leave nothing to all others. The
 * kernel's order varies.
 *
 * RUNQ_ORDER-1. In each round all have one turn: what enters the queue after a
 *     round has begun has its turn in the next, but for who had the last turn
 *     of the round before, and is still running then.
 * RUNQ_ORDER-2. Of the first WINDOW of the round one that is drawn becomes the
 *     first, but nobody passes the first one twice in a row. So a thread waits
 *     for at most WINDOW - 1 turns more than in a plain queue.
 * RUNQ_ORDER-3. Only one round in EVERY is varied: threads that spin until each
 *     of the others has done its part, as redis' I/O threads, lose up to a
 *     round where their order changes. Varying each took 0.28 of redis'
 *     requests.
 * RUNQ_ORDER-4. Others may rob the queue meanwhile: whoever is in it then is
 *     taken once, by them or by us.
 */
#include "sched/runq_order.h"

#include "sched/runq.h"

enum { WINDOW = 4, EVERY = 8 };

/* The upper bits of a linear congruential generator (Knuth's MMIX). */
static uint32_t draw(struct wf_runq_order *order, uint32_t below)
{
	order->drawn =
		order->drawn * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(order->drawn >> 32) % below;
}

/* RUNQ_ORDER-1: how many of those in queue are of the round, a new one at its
 * end. */
static uint32_t update_round(struct wf_runq_order *order,
			     const struct wf_runq *queue, uint32_t nr_running)
{
	uint32_t first, end, nr;

	wf_runq_positions(queue, &first, &end);
	nr = order->round_end - first;
	if (nr == 0 || nr > end - first + nr_running) {
		order->round_end = end + nr_running;
		order->nr_rounds++;
		nr = end - first;
	}
	return nr < end - first ? nr : end - first;
}

/* Who is after n others in queue becomes the first. */
static void make_first(struct wf_runq *queue, uint32_t n)
{
	uint64_t entries[WINDOW];
	uint32_t nr = 0;

	while (nr <= n && wf_runq_pop(queue, &entries[nr])) /* RUNQ_ORDER-4 */
		nr++;
	if (nr == 0)
		return;
	/* There is room: they come from it, and nobody else pushes. */
	for (uint32_t i = nr - 1; i > 0; i--)
		wf_runq_push_head(queue, entries[i - 1]);
	wf_runq_push_head(queue, entries[nr - 1]);
}

void wf_runq_order_vary(struct wf_runq_order *order, struct wf_runq *queue,
			uint32_t nr_running)
{
	uint32_t nr = update_round(order, queue, nr_running), n = 0;

	if (order->nr_rounds % EVERY == 0 && nr > 1 && !order->first_was_kept)
		n = draw(order, nr < WINDOW ? nr : WINDOW);
	order->first_was_kept = n > 0;
	if (n > 0)
		make_first(queue, n);
}

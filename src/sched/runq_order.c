/* SPDX-License-Identifier: MIT */
/*
 * Varies the order in which preempted threads run. CPU-bound threads must not
 * run in the same order for ever. If a thread always ran just after the thread
 * that fills a buffer, it would leave nothing in the buffer to other threads.
 * The kernel's order varies, too. A round here is one pass over the threads
 * that were in the queue at its beginning.
 *
 * RUNQ_ORDER-1. In each round every thread has one turn. A thread that enters
 *     the queue during a round has its turn in the next one. Exception: the
 *     thread that runs when the round begins had the last turn of the round
 *     before, and has a turn in this one.
 * RUNQ_ORDER-2. One of the first WINDOW threads of the round is drawn at random
 *     and becomes the first. After a draw that passes over the first thread,
 *     the next call draws none. So a thread waits for at most WINDOW - 1 turns
 *     more than in a plain queue.
 * RUNQ_ORDER-3. Only one round in EVERY is varied. Some threads spin until each
 *     of the others has done its part, as redis' I/O threads do. They lose up
 *     to a round where their order changes: varying each round cost redis 28 %
 *     of its requests.
 * RUNQ_ORDER-4. Other VPs may steal from the queue meanwhile: each entry is
 *     taken once, by them or by us.
 */
#include "sched/runq_order.h"

#include "sched/runq.h"

enum { WINDOW = 4, EVERY = 8 };

/*
 * Draws a number below `below`: the upper bits of a linear congruential
 * generator with the constants of Knuth's MMIX.
 */
static uint32_t draw(struct wf_runq_order *order, uint32_t below)
{
	order->drawn =
		order->drawn * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(order->drawn >> 32) % below;
}

/*
 * RUNQ_ORDER-1. Begins a new round if the old one is over. Returns the number
 *     of entries in the queue that belong to the round.
 */
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

/* Moves the entry at place n, counted from 0 at the head, to the head. */
static void make_first(struct wf_runq *queue, uint32_t n)
{
	uint64_t entries[WINDOW];
	uint32_t nr = 0;

	/* RUNQ_ORDER-4: a thief may be first */
	while (nr <= n && wf_runq_pop(queue, &entries[nr]))
		nr++;
	if (nr == 0)
		return;
	/* There is room for all of them: they were in the queue, and only its
	 * owner, this thread, pushes. */
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

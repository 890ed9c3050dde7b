/*
 * Threads that compute must not have their turns in one order for ever: one
 * that empties what the one before it fills would leave nothing to all others,
 * where the kernel's order varies.
 *
 * TURNS-1. In each round all have one turn: what enters the ring after a round
 *     has begun has its turn in the next, but for who had the last turn of the
 *     round before, and is still running then.
 * TURNS-2. Of the first WINDOW of the round one that is drawn becomes the
 *     first, but nobody passes the first one twice in a row. So a thread waits
 *     for WINDOW - 1 turns more than in a ring at most.
 * TURNS-3. Only one round in EVERY is varied: threads that spin until each of
 *     the others has done its part, as redis' I/O threads, lose up to a round
 *     where their order changes. Varying each took 0.28 of redis' requests.
 * TURNS-4. Others may rob the ring meanwhile: whoever is in it then is taken
 *     once, by them or by us.
 */
#include "sched/turns.h"

#include "sched/runq.h"

enum { WINDOW = 4, EVERY = 8 };

/* The upper bits of a linear congruential generator (Knuth's MMIX). */
static uint32_t draw(struct wf_turns *turns, uint32_t below)
{
	turns->drawn =
		turns->drawn * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(turns->drawn >> 32) % below;
}

/* TURNS-1: how many of those in ring are of the round, a new one at its end. */
static uint32_t see_round(struct wf_turns *turns, const struct wf_runq *ring,
			  uint32_t nr_running)
{
	uint32_t first, end, nr;

	wf_runq_positions(ring, &first, &end);
	nr = turns->round_end - first;
	if (nr == 0 || nr > end - first + nr_running) {
		turns->round_end = end + nr_running;
		turns->nr_rounds++;
		nr = end - first;
	}
	return nr < end - first ? nr : end - first;
}

/* Who is after n others in ring becomes the first. */
static void make_first(struct wf_runq *ring, uint32_t n)
{
	uint64_t entries[WINDOW];
	uint32_t nr = 0;

	while (nr <= n && wf_runq_pop(ring, &entries[nr])) /* TURNS-4 */
		nr++;
	if (nr == 0)
		return;
	/* There is room: they come from it, and nobody else pushes. */
	for (uint32_t i = nr - 1; i > 0; i--)
		wf_runq_push_head(ring, entries[i - 1]);
	wf_runq_push_head(ring, entries[nr - 1]);
}

void wf_turns_vary(struct wf_turns *turns, struct wf_runq *ring,
		   uint32_t nr_running)
{
	uint32_t nr = see_round(turns, ring, nr_running), n = 0;

	if (turns->nr_rounds % EVERY == 0 && nr > 1 && !turns->first_was_kept)
		n = draw(turns, nr < WINDOW ? nr : WINDOW);
	turns->first_was_kept = n > 0;
	if (n > 0)
		make_first(ring, n);
}

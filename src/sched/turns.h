/* The order in which threads that were made to stop have their next turns. */
#ifndef WEFT_SCHED_TURNS_H
#define WEFT_SCHED_TURNS_H

#include <stdbool.h>
#include <stdint.h>

struct wf_runq;

/* Of one ring; all 0 at first. */
struct wf_turns {
	uint64_t drawn;	    /* the last number of the generator */
	uint32_t round_end; /* position in the ring */
	uint32_t nr_rounds;
	bool first_was_kept; /* waiting at the last call */
};

/*
 * The ring's owner, after it has put a thread at ring's tail whose turn is
 * over: decides who of those that wait there is the first. nr_running, 1 or 0,
 * counts the one that has been taken out of the ring in its place.
 */
void wf_turns_vary(struct wf_turns *turns, struct wf_runq *ring,
		   uint32_t nr_running);

#endif

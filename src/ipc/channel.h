/* SPDX-License-Identifier: MIT */
/* One end of a channel, and how it waits. */
#ifndef WEFT_IPC_CHANNEL_H
#define WEFT_IPC_CHANNEL_H

#include <sched.h>

#include <weft/channel.h>

#include "ipc/channel_queue.h"

/* Deadlines in nanoseconds; WF_CHANNEL_TRY: do not wait. */
#define WF_CHANNEL_TRY INT64_MIN
#define WF_CHANNEL_FOREVER INT64_MAX

/* To sleep and be woken costs as much: an end looks for that long at most. */
#define WF_CHANNEL_SPIN_US 50

/* A mapping of its own. Who uses the end writes it, but for `next`, `use`. */
struct weft_channel {
	struct wf_channel_queue queue;
	void *memory;
	int lock_fd;	    /* -1 in a fork child of the owner */
	uint32_t end;	    /* number, as in peer.h */
	bool is_held;	    /* reserved, or peeked at */
	bool is_taken;	    /* received, and not freed yet */
	uint32_t nr_seen;   /* deaths that were reported */
	uint32_t spin_us;   /* how long to look before sleeping */
	int64_t checked_ns; /* when the locks were last looked at */
	/* What a handler of SIGBUS may replace, and that it has (guard.c). */
	_Atomic(void *) guarded;
	_Atomic uint64_t guarded_bytes;
	_Atomic bool is_cut;
	_Atomic uint32_t use;
	struct weft_channel *next; /* all that ever were: never freed */
};

extern struct weft_channel *_Atomic wf_channels;

static inline bool wf_channel_is_sender(const struct weft_channel *c)
{
	return c->end < WF_CHANNEL_SENDERS_MAX;
}

/* The CPU that we are on, as channel_queue.h has it. */
static inline uint32_t wf_channel_cpu(void)
{
	return (uint32_t)sched_getcpu() + 1;
}

/*
 * Waits until the slot at hand is not what `word` was, or the deadline. 0 if it
 * may have changed; -EAGAIN (try), -ETIMEDOUT, or that the other side is gone.
 * nr_waits counts the calls that were in vain so far: others were faster, or a
 * hostile peer changes the slot all the time.
 */
int wf_channel_wait(struct weft_channel *c, uint64_t word, int64_t deadline_ns,
		    unsigned int nr_waits);

/* Wakes the receiver if it sleeps; after messages were published. */
void wf_channel_ring_receiver(struct weft_channel *c);
/* Wakes senders that sleep; after slots were freed. May miss one that is just
 * falling asleep (CHANNEL_WAIT-3 in channel_wait.c). */
void wf_channel_ring_senders(struct weft_channel *c);
/* Wakes the other side, whether it sleeps or not: the end is closed. */
void wf_channel_ring_all(struct weft_channel *c);

/* Now and then: is the other side alive? For those that never wait. */
void wf_channel_check(struct weft_channel *c, clockid_t clock);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * One end of a channel, and how an end waits for the peer: the sender for the
 * receiver, the receiver for the senders.
 *
 *     while ((rc = wf_channel_queue_peek(&c->queue, &word)) == -EAGAIN &&
 *            wf_channel_wait(c, word, deadline_ns, nr_waits++) == 0)
 *             ;
 */
#ifndef WEFT_IPC_CHANNEL_H
#define WEFT_IPC_CHANNEL_H

#include <sched.h>

#include <weft/channel.h>

#include "ipc/channel_queue.h"

/* Deadlines are in nanoseconds. This one means: do not wait. */
#define WF_CHANNEL_TRY INT64_MIN
#define WF_CHANNEL_FOREVER INT64_MAX

/*
 * The longest time for which an end polls, in us: a sleep and a wake cost as
 * much.
 */
#define WF_CHANNEL_SPIN_US 50

/*
 * One end of a channel, with a mapping of the queue of its own. Its user writes
 * all fields but `next` and `use`.
 */
struct weft_channel {
	struct wf_channel_queue queue;
	void *memory;
	/* descriptor with the end's lock; -1 in a fork child */
	int lock_fd;
	uint32_t end;	    /* number of the end, as in peer.h */
	bool is_held;	    /* a slot is reserved, or a message peeked at */
	bool is_taken;	    /* the last message's slot is not yet freed */
	uint32_t nr_seen;   /* dead senders already reported */
	uint32_t spin_us;   /* how long to poll before a sleep */
	int64_t checked_ns; /* when the peer's lock was last checked */
	/*
	 * The memory that the handler of SIGBUS may replace (guard.c). is_cut:
	 * it has replaced it.
	 */
	_Atomic(void *) guarded;
	_Atomic uint64_t guarded_bytes;
	_Atomic bool is_cut;
	_Atomic uint32_t use;
	struct weft_channel *next; /* list of all ends ever made; never freed */
};

extern struct weft_channel *_Atomic wf_channels;

static inline bool wf_channel_is_sender(const struct weft_channel *c)
{
	return c->end < WF_CHANNEL_SENDERS_MAX;
}

/* Returns the caller's CPU, a hint that channel_queue.h stores. */
static inline uint32_t wf_channel_cpu(void)
{
	return (uint32_t)sched_getcpu() + 1;
}

/*
 * Waits until the word of the end's present slot differs from `word`, or until
 * the deadline. Returns 0 if it may have changed, -EAGAIN (WF_CHANNEL_TRY),
 * -ETIMEDOUT, -EPROTO, or -EPIPE or -EOWNERDEAD because of the peer. nr_waits
 * is the number of calls in vain so far: other senders were faster, or a
 * hostile peer changes the slot all the time.
 */
int wf_channel_wait(struct weft_channel *c, uint64_t word, int64_t deadline_ns,
		    unsigned int nr_waits);

/* Wakes the receiver if it sleeps. Called after messages were published. */
void wf_channel_ring_receiver(struct weft_channel *c);
/*
 * Wakes senders that sleep. Called after slots were freed. May miss a sender
 * that begins to sleep just then (CHANNEL_WAIT-3 in channel_wait.c).
 */
void wf_channel_ring_senders(struct weft_channel *c);
/*
 * Rings the peer's doorbell, also if the peer does not sleep. Called after this
 * end has written that it is closed.
 */
void wf_channel_ring_all(struct weft_channel *c);

/*
 * Checks whether the peer lives, if the last check was WF_PEER_CHECK_NS ago.
 * For ends that never wait.
 */
void wf_channel_check(struct weft_channel *c, clockid_t clock);

#endif

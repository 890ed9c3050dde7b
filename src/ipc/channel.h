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

/* Deadlines are in nanoseconds. WF_CHANNEL_TRY: do not wait. */
#define WF_CHANNEL_TRY INT64_MIN
#define WF_CHANNEL_FOREVER INT64_MAX

/* The longest time that an end polls: sleep and wake cost as much. */
#define WF_CHANNEL_SPIN_US 50

/*
 * An end, with a mapping used by no other end. Its user writes all fields but
 * `next` and `use`.
 */
struct weft_channel {
	struct wf_channel_queue queue;
	void *memory;
	int lock_fd;	    /* -1 in a fork child */
	uint32_t end;	    /* number, as in peer.h */
	bool is_held;	    /* a slot is reserved, or a message peeked at */
	bool is_taken;	    /* the last message's slot is not yet freed */
	uint32_t nr_seen;   /* deaths already reported */
	uint32_t spin_us;   /* how long to poll before a sleep */
	int64_t checked_ns; /* last check of the locks */
	/*
	 * The range that a handler of SIGBUS may replace; is_cut: it has
	 * (guard.c).
	 */
	_Atomic(void *) guarded;
	_Atomic uint64_t guarded_bytes;
	_Atomic bool is_cut;
	_Atomic uint32_t use;
	struct weft_channel *next; /* all ends ever made; never freed */
};

extern struct weft_channel *_Atomic wf_channels;

static inline bool wf_channel_is_sender(const struct weft_channel *c)
{
	return c->end < WF_CHANNEL_SENDERS_MAX;
}

/* The caller's CPU, as a hint for channel_queue.h. */
static inline uint32_t wf_channel_cpu(void)
{
	return (uint32_t)sched_getcpu() + 1;
}

/*
 * Waits until the word of the slot at hand differs from `word`, or until the
 * deadline. Returns 0 if it may have changed, -EAGAIN (try), -ETIMEDOUT,
 * -EPROTO, or -EPIPE or -EOWNERDEAD of the peer. nr_waits is the number of
 * calls in vain so far: other senders were faster, or a hostile peer changes
 * the slot all the time.
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
/* Wakes the peer in any case: the end is closed. */
void wf_channel_ring_all(struct weft_channel *c);

/*
 * Checks every WF_PEER_CHECK_NS whether the peer lives. For ends that never
 * wait.
 */
void wf_channel_check(struct weft_channel *c, clockid_t clock);

#endif

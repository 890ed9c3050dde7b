/* SPDX-License-Identifier: MIT */
/*
 * Whether the ends of a queue are there. Each end holds a lock on one byte of
 * the file, which the kernel gives up when its process ends, however it ends.
 */
#ifndef WEFT_IPC_PEER_H
#define WEFT_IPC_PEER_H

#include <errno.h>

#include "ipc/channel_queue.h"

/* How long a waiting end does not look whether others live. */
#define WF_PEER_CHECK_NS 50000000LL

/* The number of the receiver's end; senders have theirs from 0 on. */
#define WF_PEER_RECEIVER WF_CHANNEL_SENDERS_MAX

/* What an end says of itself: lowest bits of its state; above: a generation. */
enum wf_peer_state {
	WF_PEER_NEVER = 0,
	WF_PEER_OPEN = 1,
	WF_PEER_CLOSED = 2,
	WF_PEER_DEAD = 3
};

/*
 * Takes the lock of an end through a description of the file that nobody
 * shares. 0, -EBUSY, or what fcntl fails with.
 */
int wf_peer_lock(int fd, uint32_t end);
/* At once, also if a process shares the description. */
void wf_peer_unlock(int fd, uint32_t end);

/* The lock is held: the end is there, or leaves. */
void wf_peer_arrive(struct wf_channel_queue *r, uint32_t end);
void wf_peer_leave(struct wf_channel_queue *r, uint32_t end);

/* Finds out by the locks who is dead: system calls. */
void wf_peer_check_receiver(struct wf_channel_queue *r, int fd);
void wf_peer_check_senders(struct wf_channel_queue *r, int fd);

/*
 * By the states alone. 0 if more can come, -EPIPE if all senders have gone,
 * -EOWNERDEAD if more than `nr_seen` have died.
 */
int wf_peer_senders(struct wf_channel_queue *r, uint32_t nr_seen);
bool wf_peer_sender_is_open(struct wf_channel_queue *r, uint32_t sender);

/* 0, -EPIPE if the receiver has closed its end, -EOWNERDEAD if it is dead. */
static inline int wf_peer_receiver(struct wf_channel_queue *r)
{
	/* acquire: pairs with the release in wf_peer_leave. */
	uint32_t state = wf_load_acquire(&r->header->receiver) & 3;

	if (WF_LIKELY(state <= WF_PEER_OPEN))
		return 0;
	return state == WF_PEER_CLOSED ? -EPIPE : -EOWNERDEAD;
}

#endif

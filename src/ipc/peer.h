/* SPDX-License-Identifier: MIT */
/*
 * Tells which ends of a queue are open, closed or dead. Each end locks one byte
 * of the file. The kernel releases the lock when the process ends, in any way.
 *
 *     rc = wf_peer_lock(fd, end);             then attach to the queue
 *     wf_peer_arrive(&queue, end);
 *     ...
 *     wf_peer_leave(&queue, end);
 *     wf_peer_unlock(fd, end);
 */
#ifndef WEFT_IPC_PEER_H
#define WEFT_IPC_PEER_H

#include <errno.h>

#include "ipc/channel_queue.h"

/*
 * The time between two checks of a waiting end whether its peers live, in ns.
 * It is the delay until the end notices that a peer has died.
 */
#define WF_PEER_CHECK_NS 50000000LL

/* The number of the receiver's end. Senders have the numbers from 0 on. */
#define WF_PEER_RECEIVER WF_CHANNEL_SENDERS_MAX

/*
 * The state of an end, in the lowest bits of its word. The other bits are a
 * generation (PEER-2).
 */
enum wf_peer_state {
	WF_PEER_NEVER = 0,
	WF_PEER_OPEN = 1,
	WF_PEER_CLOSED = 2,
	WF_PEER_DEAD = 3
};

/*
 * Locks the byte of an end, through a file description that no process shares.
 * Returns 0, -EBUSY, or the error of fcntl.
 */
int wf_peer_lock(int fd, uint32_t end);
/* Unlocks the byte at once, also if another process shares the description. */
void wf_peer_unlock(int fd, uint32_t end);

/*
 * arrive: marks the end as open. leave: marks it as closed. The caller holds
 * its lock.
 */
void wf_peer_arrive(struct wf_channel_queue *r, uint32_t end);
void wf_peer_leave(struct wf_channel_queue *r, uint32_t end);

/* Declare ends dead that have no lock any more. Make system calls. */
void wf_peer_check_receiver(struct wf_channel_queue *r, int fd);
void wf_peer_check_senders(struct wf_channel_queue *r, int fd);

/*
 * Reads the states of the senders, without a system call. Returns 0 if messages
 * may come, -EPIPE if all senders have left. Returns -EOWNERDEAD if more
 * senders have died than the nr_seen that were reported.
 */
int wf_peer_senders(struct wf_channel_queue *r, uint32_t nr_seen);
bool wf_peer_sender_is_open(struct wf_channel_queue *r, uint32_t sender);

/*
 * Returns 0 if the receiver is there, -EPIPE if it has closed its end, or
 * -EOWNERDEAD if it died.
 */
static inline int wf_peer_receiver(struct wf_channel_queue *r)
{
	/* acquire: pairs with the release in wf_peer_leave. */
	uint32_t state = wf_load_acquire(&r->header->receiver) & 3;

	if (WF_LIKELY(state <= WF_PEER_OPEN))
		return 0;
	return state == WF_PEER_CLOSED ? -EPIPE : -EOWNERDEAD;
}

#endif

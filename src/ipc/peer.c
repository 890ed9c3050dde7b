/* SPDX-License-Identifier: MIT */
/*
 * Detects peers that have closed or died. An end's state is a word that its
 * owner writes. A lock on the byte of the end's number shows whether the owner
 * lives. It is taken through an open file description that only the owner has
 * (F_OFD_SETLK).
 *
 *     NEVER, CLOSED, DEAD -> OPEN    arrive, with the lock
 *     OPEN -> OPEN                   arrive in place of a dead owner
 *     OPEN -> CLOSED                 leave, with the lock
 *     OPEN -> DEAD                   check, by CAS: the byte is not locked
 *
 * PEER-1. The holder of the lock writes OPEN, and writes CLOSED before it
 *     unlocks. So OPEN without a lock means that the owner has died.
 * PEER-2. Each arrival has a new generation. So a slow check does not declare a
 *     new owner dead.
 * PEER-3. A sender that takes a dead sender's number first abandons the dead
 *     sender's claimed slots, then writes OPEN. So a claimed slot has no owner
 *     if its number is not OPEN, provided that the slot is read before the
 *     state.
 *
 * Rejected: process ids, which differ between namespaces and come again.
 * Rejected: robust futexes. The kernel ends them with a thread, not with a
 * process, and libc has each thread's list. Rejected: the older locks of fcntl.
 * The process loses them when it closes any descriptor of the file.
 */
#include "ipc/peer.h"

#include <fcntl.h>

#include "os/sys.h"

/* Where the locked bytes begin: beyond the end of any channel's file. */
#define LOCK_OFFSET (1LL << 40)

static struct flock lock_of(uint32_t end, short type)
{
	return (struct flock){ .l_type = type,
			       .l_whence = SEEK_SET,
			       .l_start = LOCK_OFFSET + end,
			       .l_len = 1 };
}

int wf_peer_lock(int fd, uint32_t end)
{
	struct flock lock = lock_of(end, F_WRLCK);
	long rc = wf_sys(SYS_fcntl, fd, F_OFD_SETLK, &lock);

	return rc == -EAGAIN || rc == -EACCES ? -EBUSY : (int)rc;
}

void wf_peer_unlock(int fd, uint32_t end)
{
	struct flock lock = lock_of(end, F_UNLCK);

	wf_sys(SYS_fcntl, fd, F_OFD_SETLK, &lock);
}

/* True if another open file description has the lock, or if fcntl fails. */
static bool is_locked(int fd, uint32_t end)
{
	struct flock lock = lock_of(end, F_WRLCK);
	long rc = wf_sys(SYS_fcntl, fd, F_OFD_GETLK, &lock);

	return rc < 0 || lock.l_type != F_UNLCK;
}

static _Atomic uint32_t *state_of(struct wf_channel_queue *r, uint32_t end)
{
	return end == WF_PEER_RECEIVER ? &r->header->receiver :
					 &r->header->sender[end];
}

void wf_peer_arrive(struct wf_channel_queue *r, uint32_t end)
{
	_Atomic uint32_t *state = state_of(r, end);
	uint32_t old = wf_load_relaxed(state);

	if (end != WF_PEER_RECEIVER) {
		if ((old & 3) == WF_PEER_OPEN)
			atomic_fetch_add(&r->header->nr_died, 1);
		wf_channel_queue_abandon_all(r); /* PEER-3: before OPEN */
	}
	/* release: the abandoned slots; pairs with the acquire in
	 * wf_peer_sender_is_open. */
	/* PEER-2: the next generation */
	wf_store_release(state, ((old | 3) + 1) | WF_PEER_OPEN);
}

void wf_peer_leave(struct wf_channel_queue *r, uint32_t end)
{
	_Atomic uint32_t *state = state_of(r, end);

	/*
	 * release: the last messages; pairs with the acquire in
	 * wf_peer_senders.
	 */
	wf_store_release(state,
			 (wf_load_relaxed(state) & ~3U) | WF_PEER_CLOSED);
}

/*
 * Declares the end dead if its owner has died. Returns true if this call
 * declared it.
 */
static bool remove_dead(struct wf_channel_queue *r, int fd, uint32_t end)
{
	_Atomic uint32_t *state = state_of(r, end);
	uint32_t seen = wf_load_acquire(state);

	return (seen & 3) == WF_PEER_OPEN && !is_locked(fd, end) &&
	       /* PEER-1, PEER-2: fails if the end has a new owner. */
	       wf_cas_acq_rel(state, &seen, seen | WF_PEER_DEAD);
}

void wf_peer_check_receiver(struct wf_channel_queue *r, int fd)
{
	remove_dead(r, fd, WF_PEER_RECEIVER);
}

void wf_peer_check_senders(struct wf_channel_queue *r, int fd)
{
	for (uint32_t i = 0; i < wf_channel_queue_nr_senders(r); i++) {
		if (remove_dead(r, fd, i))
			atomic_fetch_add(&r->header->nr_died, 1);
	}
}

bool wf_peer_sender_is_open(struct wf_channel_queue *r, uint32_t sender)
{
	/* acquire: the slots abandoned before; pairs with the release in
	 * wf_peer_arrive. */
	return (wf_load_acquire(&r->header->sender[sender]) & 3) ==
	       WF_PEER_OPEN;
}

int wf_peer_senders(struct wf_channel_queue *r, uint32_t nr_seen)
{
	bool has_open = false, has_been = false;

	for (uint32_t i = 0; i < wf_channel_queue_nr_senders(r); i++) {
		/* acquire: the last messages; pairs with the release in
		 * wf_peer_leave. */
		uint32_t state = wf_load_acquire(&r->header->sender[i]) & 3;

		has_open = has_open || state == WF_PEER_OPEN;
		has_been = has_been || state != WF_PEER_NEVER;
	}
	if (wf_load_acquire(&r->header->nr_died) != nr_seen)
		return -EOWNERDEAD;
	return has_open || !has_been ? 0 : -EPIPE;
}

/* SPDX-License-Identifier: MIT */
/*
 * Who is there. An end's state is a word that its owner writes; whether the
 * owner lives is told by a lock on the byte of its number, taken through an
 * open file description of its own (F_OFD_SETLK).
 *
 *	NEVER, CLOSED, DEAD -> OPEN    arrive, with the lock
 *	OPEN -> OPEN                   arrive in place of a dead one
 *	OPEN -> CLOSED                 leave, with the lock
 *	OPEN -> DEAD                   check, by CAS: nobody holds the lock
 *
 * PEER-1. OPEN is written, and CLOSED before the lock is given up, by who holds
 *     the lock; so OPEN without a lock is a death.
 * PEER-2. Each arrival has another generation, so that a check that took long
 *     does not declare dead who has just come.
 * PEER-3. Who takes a dead sender's number abandons what that one had claimed
 *     before it is OPEN. So a slot claimed by a number that is not OPEN, the
 *     slot being read before the state, has no owner.
 *
 * Rejected: process ids, which other namespaces do not know and which come
 * again; robust futexes, which the kernel ends with a thread and not with a
 * process, and of which each thread has one list, libc's; locks of fcntl's old
 * kind, which go with any descriptor of the file that the process closes.
 */
#include "ipc/peer.h"

#include <fcntl.h>

#include "os/sys.h"

/* Far beyond what any file holds. */
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

/* Somebody else holds it, or that cannot be told. */
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
		wf_channel_queue_abandon_all(r); /* PEER-3 */
	}
	/* release: what was abandoned; pairs with wf_peer_sender_is_open. */
	wf_store_release(state, ((old | 3) + 1) | WF_PEER_OPEN); /* PEER-2 */
}

void wf_peer_leave(struct wf_channel_queue *r, uint32_t end)
{
	_Atomic uint32_t *state = state_of(r, end);

	/* release: the last messages; pairs with the acquire in open_states. */
	wf_store_release(state,
			 (wf_load_relaxed(state) & ~3U) | WF_PEER_CLOSED);
}

/* Declares the end dead if it is; true if this call did. */
static bool remove_dead(struct wf_channel_queue *r, int fd, uint32_t end)
{
	_Atomic uint32_t *state = state_of(r, end);
	uint32_t seen = wf_load_acquire(state);

	return (seen & 3) == WF_PEER_OPEN && !is_locked(fd, end) &&
	       /* PEER-1, PEER-2 */
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
	/* acquire: pairs with the release in wf_peer_arrive. */
	return (wf_load_acquire(&r->header->sender[sender]) & 3) ==
	       WF_PEER_OPEN;
}

int wf_peer_senders(struct wf_channel_queue *r, uint32_t nr_seen)
{
	bool has_open = false, has_been = false;

	for (uint32_t i = 0; i < wf_channel_queue_nr_senders(r); i++) {
		/* acquire: pairs with the release in wf_peer_leave. */
		uint32_t state = wf_load_acquire(&r->header->sender[i]) & 3;

		has_open = has_open || state == WF_PEER_OPEN;
		has_been = has_been || state != WF_PEER_NEVER;
	}
	if (wf_load_acquire(&r->header->nr_died) != nr_seen)
		return -EOWNERDEAD;
	return has_open || !has_been ? 0 : -EPIPE;
}

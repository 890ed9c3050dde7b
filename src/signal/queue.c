/* SPDX-License-Identifier: MIT */
/*
 * Each queue is a list of nodes from a common pool, and a word with one bit for
 * each signal in the list. Threads read the word without the lock. The pool
 * grows in chunks and never shrinks.
 *
 * SIGNAL_QUEUE-1. Bit n - 1 of q->pending is set as long as a signal n is in
 *     the list; both change under the lock only.
 * SIGNAL_QUEUE-2. A node is in one list or in the free list. Nodes are never
 *     freed.
 * SIGNAL_QUEUE-3. A list is circular: its newest node is followed by its
 *     oldest. So a put takes the same time for any length of the list. So does
 *     a take of a signal of which the list has several.
 */
#include "signal/queue.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/spin.h"
#include "os/mem.h"
#include "signal/posix_timer.h"

enum {
	CHUNK_BYTES = 64 * 1024,
	/* Limits the pool to about the kernel's limit for a user
	 * (RLIMIT_SIGPENDING). It is for real-time signals: each queue has at
	 * most one of each standard signal. Signals to the process stay far
	 * below the limit. The receiver needs 10 us or more for each, and a
	 * thread that does not block it runs within 50 ms. The kernel keeps the
	 * rest. */
	MAX_CHUNKS = 64,
};

struct wf_signal_node {
	struct wf_signal_node *next;
	siginfo_t info;
	bool is_process;
};

static struct wf_spin pool_lock = WF_SPIN_INIT;
static struct wf_signal_node *free_nodes; /* list under pool_lock */
/* chunks of nodes so far; pool_lock */
static uint32_t nr_chunks;

/* --- nodes -------------------------------------------------------------- */

static int add_chunk(void)
{
	struct wf_signal_node *n = wf_os_reserve(CHUNK_BYTES);

	if (n == NULL)
		return -ENOMEM;
	wf_spin_lock(&pool_lock, WF_RANK_SIGNAL_NODES);
	nr_chunks++;
	for (size_t i = 0; i < CHUNK_BYTES / sizeof(*n); i++) {
		n[i].next = free_nodes;
		free_nodes = &n[i];
	}
	wf_spin_unlock(&pool_lock);
	return 0;
}

/* True if sig is a standard signal: several pending ones count as one. */
static bool is_standard(int sig)
{
	return sig < 32;
}

static struct wf_signal_node *get_node(int sig)
{
	struct wf_signal_node *n;

	for (;;) {
		bool may_grow;

		wf_spin_lock(&pool_lock, WF_RANK_SIGNAL_NODES);
		n = free_nodes;
		if (n != NULL)
			free_nodes = n->next;
		may_grow = nr_chunks < MAX_CHUNKS || is_standard(sig);
		wf_spin_unlock(&pool_lock);
		if (n != NULL || !may_grow || add_chunk() < 0)
			return n;
	}
}

static void put_node(struct wf_signal_node *n)
{
	wf_spin_lock(&pool_lock, WF_RANK_SIGNAL_NODES);
	n->next = free_nodes;
	free_nodes = n;
	wf_spin_unlock(&pool_lock);
}

/* --- lists -------------------------------------------------------------- */

/*
 * Returns true if info is from a timer with a signal that is in the queue
 * already. Then counts the expirations since instead of queueing it again.
 */
static bool count_overrun(struct wf_sigqueue *q, const siginfo_t *info)
{
	struct wf_signal_node *n = q->newest;

	if (info->si_code != SI_TIMER)
		return false;
	do {
		n = n->next;
		if (n->info.si_code == SI_TIMER &&
		    n->info.si_signo == info->si_signo &&
		    n->info.si_timerid == info->si_timerid) {
			n->info.si_overrun += 1 + info->si_overrun;
			return true;
		}
	} while (n != q->newest);
	return false;
}

static int append_locked(struct wf_sigqueue *q, struct wf_signal_node *n)
{
	uint64_t bit = WF_SIGNAL_BIT(n->info.si_signo);

	if (wf_sigqueue_is_closed(q))
		return -ESRCH;
	if ((wf_load_relaxed(&q->pending) & bit) != 0 &&
	    (count_overrun(q, &n->info) || is_standard(n->info.si_signo)))
		return -EALREADY;
	n->next = n;
	if (q->newest != NULL) {
		n->next = q->newest->next;
		q->newest->next = n;
	}
	q->newest = n;			   /* SIGNAL_QUEUE-3: circular */
	atomic_fetch_or(&q->pending, bit); /* SIGNAL_QUEUE-1: sig is in it */
	return 0;
}

int wf_sigqueue_put(struct wf_sigqueue *q, const siginfo_t *info,
		    bool is_process)
{
	struct wf_signal_node *n = get_node(info->si_signo);
	int err;

	if (n == NULL)
		return -EAGAIN;
	n->info = *info;
	n->is_process = is_process;
	wf_spin_lock(&q->lock, WF_RANK_SIGNAL_QUEUE);
	err = append_locked(q, n);
	wf_spin_unlock(&q->lock);
	if (err < 0)
		put_node(n);
	return err == -EALREADY ? 0 : err;
}

static void unlink_behind_locked(struct wf_sigqueue *q,
				 struct wf_signal_node *before)
{
	struct wf_signal_node *n = before->next;

	before->next = n->next;
	if (q->newest == n)
		q->newest = before != n ? before : NULL;
}

/*
 * Unlinks the oldest signal `sig`; with is_process the oldest that was sent to
 * the process. Returns NULL if there is none.
 */
static struct wf_signal_node *unlink_oldest_locked(struct wf_sigqueue *q,
						   int sig, bool only_process)
{
	struct wf_signal_node *before = NULL, *at = q->newest, *n;
	bool are_more = false;

	do {
		n = at->next;
		if (n->info.si_signo == sig) {
			if (before == NULL && (n->is_process || !only_process))
				before = at;
			else
				are_more = true;
		}
		at = n;
	} while (at != q->newest && (before == NULL || !are_more));
	if (before == NULL)
		return NULL;
	n = before->next;
	unlink_behind_locked(q, before);
	if (!are_more)
		/* SIGNAL_QUEUE-1: the list has no such signal any more. */
		atomic_fetch_and(&q->pending, ~WF_SIGNAL_BIT(sig));
	return n;
}

static struct wf_signal_node *unlink_locked(struct wf_sigqueue *q, uint64_t set,
					    bool only_process)
{
	struct wf_signal_node *n = NULL;

	for (uint64_t left = wf_load_relaxed(&q->pending) & set;
	     left != 0 && n == NULL; left &= left - 1)
		n = unlink_oldest_locked(q, __builtin_ctzll(left) + 1,
					 only_process);
	return n;
}

static bool take(struct wf_sigqueue *q, uint64_t set, bool only_process,
		 siginfo_t *ret_info)
{
	struct wf_signal_node *n;

	if ((wf_load_relaxed(&q->pending) & set) == 0)
		return false;
	wf_spin_lock(&q->lock, WF_RANK_SIGNAL_QUEUE);
	n = unlink_locked(q, set, only_process);
	wf_spin_unlock(&q->lock);
	if (n == NULL)
		return false;
	*ret_info = n->info;
	put_node(n);
	wf_posix_timer_delivered(ret_info);
	return true;
}

bool wf_sigqueue_take(struct wf_sigqueue *q, uint64_t set, siginfo_t *ret_info)
{
	return take(q, set, false, ret_info);
}

bool wf_sigqueue_take_process(struct wf_sigqueue *q, uint64_t set,
			      siginfo_t *ret_info)
{
	return take(q, set, true, ret_info);
}

void wf_sigqueue_clear(struct wf_sigqueue *q, uint64_t set)
{
	siginfo_t info;

	while (wf_sigqueue_take(q, set, &info))
		continue;
}

int wf_sigqueue_start(void)
{
	return nr_chunks == 0 ? add_chunk() : 0;
}

void wf_sigqueue_fork_child(void)
{
	pool_lock = WF_SPIN_INIT;
}

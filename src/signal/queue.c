/*
 * Q1. Bit n - 1 of q->pending is set as long as a signal n is in the list;
 *     both change under the lock only.
 * Q2. A node is in one list or in the free list. Nodes are never given back.
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
	/* About the kernel's limit of a user (RLIMIT_SIGPENDING). */
	MAX_CHUNKS = 64,
};

struct wf_signal_node {
	struct wf_signal_node *next;
	siginfo_t info;
	bool is_process;
};

static struct wf_spin pool_lock = WF_SPIN_INIT;
static struct wf_signal_node *free_nodes; /* pool_lock */
static uint32_t nr_chunks;		  /* pool_lock */

/* --- nodes -------------------------------------------------------------- */

static int add_chunk(void)
{
	struct wf_signal_node *n = wf_os_reserve(CHUNK_BYTES);

	if (n == NULL)
		return -ENOMEM;
	wf_spin_lock(&pool_lock);
	nr_chunks++;
	for (size_t i = 0; i < CHUNK_BYTES / sizeof(*n); i++) {
		n[i].next = free_nodes;
		free_nodes = &n[i];
	}
	wf_spin_unlock(&pool_lock);
	return 0;
}

static struct wf_signal_node *get_node(void)
{
	struct wf_signal_node *n;

	for (;;) {
		bool may_grow;

		wf_spin_lock(&pool_lock);
		n = free_nodes;
		if (n != NULL)
			free_nodes = n->next;
		may_grow = nr_chunks < MAX_CHUNKS;
		wf_spin_unlock(&pool_lock);
		if (n != NULL || !may_grow || add_chunk() < 0)
			return n;
	}
}

static void put_node(struct wf_signal_node *n)
{
	wf_spin_lock(&pool_lock);
	n->next = free_nodes;
	free_nodes = n;
	wf_spin_unlock(&pool_lock);
}

/* --- lists -------------------------------------------------------------- */

/* Is one of them more than none? */
static bool is_standard(int sig)
{
	return sig < 32;
}

/* A timer's signal is queued once; its expirations meanwhile are counted. */
static bool count_overrun(struct wf_sigqueue *q, const siginfo_t *info)
{
	struct wf_signal_node *n = q->head;

	if (info->si_code != SI_TIMER)
		return false;
	while (n != NULL && (n->info.si_code != SI_TIMER ||
			     n->info.si_signo != info->si_signo ||
			     n->info.si_timerid != info->si_timerid))
		n = n->next;
	if (n == NULL)
		return false;
	n->info.si_overrun += 1 + info->si_overrun;
	return true;
}

static int append_locked(struct wf_sigqueue *q, struct wf_signal_node *n)
{
	uint64_t bit = WF_SIGNAL_BIT(n->info.si_signo);
	struct wf_signal_node **end = &q->head;

	if (q->is_closed)
		return -ESRCH;
	if ((wf_load_relaxed(&q->pending) & bit) != 0 &&
	    (count_overrun(q, &n->info) || is_standard(n->info.si_signo)))
		return -EALREADY;
	while (*end != NULL)
		end = &(*end)->next;
	n->next = NULL;
	*end = n;
	atomic_fetch_or(&q->pending, bit); /* Q1 */
	return 0;
}

int wf_sigqueue_put(struct wf_sigqueue *q, const siginfo_t *info,
		    bool is_process)
{
	struct wf_signal_node *n = get_node();
	int err;

	if (n == NULL)
		return -EAGAIN;
	n->info = *info;
	n->is_process = is_process;
	wf_spin_lock(&q->lock);
	err = append_locked(q, n);
	wf_spin_unlock(&q->lock);
	if (err < 0)
		put_node(n);
	return err == -EALREADY ? 0 : err;
}

static struct wf_signal_node *unlink_locked(struct wf_sigqueue *q, uint64_t set,
					    bool only_process)
{
	struct wf_signal_node **best = NULL, *n;
	uint64_t left = 0;

	for (struct wf_signal_node **p = &q->head; *p != NULL;
	     p = &(*p)->next) {
		int sig = (*p)->info.si_signo;

		if ((set & WF_SIGNAL_BIT(sig)) == 0 ||
		    (only_process && !(*p)->is_process))
			continue;
		if (best == NULL || sig < (*best)->info.si_signo)
			best = p;
	}
	if (best == NULL)
		return NULL;
	n = *best;
	*best = n->next;
	for (struct wf_signal_node *m = q->head; m != NULL; m = m->next)
		left |= WF_SIGNAL_BIT(m->info.si_signo);
	wf_store_relaxed(&q->pending, left); /* Q1 */
	return n;
}

static bool take(struct wf_sigqueue *q, uint64_t set, bool only_process,
		 siginfo_t *ret_info)
{
	struct wf_signal_node *n;

	if ((wf_load_relaxed(&q->pending) & set) == 0)
		return false;
	wf_spin_lock(&q->lock);
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

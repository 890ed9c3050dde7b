/* SPDX-License-Identifier: MIT */
/*
 * The watcher is a kernel thread that waits in one epoll set for the
 * descriptors of all requests without a ring. For an event it takes the
 * requests of that number in turn, makes the call of each without waiting, and
 * completes it.
 *
 * WATCHER-1. A request is in the bucket of its number from wf_watcher_push
 *     until it is about to be completed. List and states change under the
 *     bucket's lock (io/backend/watcher_set.h). The thread that takes the
 *     request out, and no other, completes it.
 *
 *         OUT -> WAITING       [wf_watcher_push]
 *         WAITING -> TRYING    the watcher makes the call that does not wait
 *         TRYING -> WAITING    EAGAIN
 *         WAITING -> SERVED    a worker makes the call that might wait
 *         any -> OUT           a thread takes it out
 *
 * WATCHER-2. A number has one entry in the set, for one event (EPOLLONESHOT).
 *     It is armed under the bucket's lock for the events of all waiting
 *     requests. So the entry covers every waiting request. If the kernel
 *     refuses to arm it, the requests end. An event without a request does
 *     nothing.
 * WATCHER-3. Only the watcher makes calls on ready descriptors: for the first
 *     waiting request, then for the next. So no thread wakes for data that
 *     another has taken. The watcher makes no call that may block. A worker
 *     makes accept, which has no flag not to wait. A worker also makes calls
 *     that stay EAGAIN though poll reports ready (a datagram to a peer with a
 *     full queue). One accept for each number at a time.
 * WATCHER-4. Before a number is closed, each request on it gets a duplicate
 *     with an entry in the set. So the wait is for the file. The thread that
 *     takes the request out closes the duplicate. While the watcher is in a
 *     call on the number, the closing thread waits. A worker's call that has
 *     not begun by then is made on the duplicate if the number has no file
 *     (wf_worker_call). Two gaps remain: the number already has another file,
 *     or libc closes it unseen. A thread that begins to wait just before the
 *     close may find its file without an entry. So the closing thread checks
 *     again afterwards: these requests then wait for the number's next file.
 * WATCHER-5. The epoll call under the lock sleeps only briefly: it waits for
 *     other calls of epoll_ctl, and polls the file, as io_uring would.
 *
 * Rejected: to wake the requesting thread, which would make the call. Before it
 * runs, the number may be closed and have another file: servers end a reader by
 * "shutdown, then close".
 */
#include "io/backend/watcher.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <string.h>
#include <sys/epoll.h>

#include "io/backend/attempt.h"
#include "io/backend/watcher_set.h"
#include "io/backend/worker.h"
#include "os/clock.h"
#include "os/kthread.h"
#include "os/sys.h"
#include "sched/runtime.h"
#include "sched/yield.h"
#include "wait/closed.h"

enum {
	NR_EVENTS = 64,
	/* After this many calls in a row with EAGAIN a worker makes the call,
	 * and waits in it. */
	TRIES_BEFORE_WORKER = 4,
	/*
	 * After so many yields a call that does not wait is over, or is in a
	 * page fault.
	 */
	YIELDS_FOR_CALL = 1000,
	ENDS = EPOLLERR | EPOLLHUP,
};

static struct wf_spin start_lock = WF_SPIN_INIT;

/* --- ending -------------------------------------------------------------- */

/* WATCHER-1. The caller completes r after it has released the lock. */
static void take_locked(struct wf_request *r)
{
	wf_list_del(&r->watcher_link);
	r->watcher_state = WF_WATCHER_OUT;
}

static void complete(struct wf_thread *me, struct wf_request *r, int result)
{
	wf_watcher_set_drop(r);
	/* with MSG_WAITALL the bytes received so far are the result */
	if (result < 0 && r->nr_bytes > 0)
		result = r->nr_bytes;
	wf_request_complete(me, r, result);
}

/* Moves r to `ended` with a result: the kernel cannot wait for its number. */
static void end_locked(struct wf_request *r, int err, struct wf_list *ended)
{
	take_locked(r);
	/* ENOSYS: the caller makes the plain call, as after wf_watcher_push */
	r->result = err == -EBADF ? -EBADF : -ENOSYS;
	wf_list_add_tail(ended, &r->watcher_link);
}

static void complete_all(struct wf_thread *me, struct wf_list *ended)
{
	while (ended->next != ended) {
		struct wf_request *r = wf_watcher_request(ended->next);

		wf_list_del(&r->watcher_link);
		complete(me, r, r->result);
	}
}

/*
 * WATCHER-2. Arms the number's entry again after an event or an accept.
 * Releases the lock.
 */
static void rearm_and_unlock(struct wf_watcher_bucket *b, int number)
{
	int err = wf_watcher_set_arm_locked(b, number);
	struct wf_list ended, *next;

	wf_list_init(&ended);
	for (struct wf_list *l = b->requests.next; err < 0 && l != &b->requests;
	     l = next) {
		struct wf_request *r = wf_watcher_request(l);

		next = l->next;
		if (r->watcher_state == WF_WATCHER_WAITING &&
		    wf_request_fd(r) == number)
			end_locked(r, err, &ended);
	}
	wf_spin_unlock(&b->lock);
	complete_all(NULL, &ended);
}

void wf_watcher_cancel(struct wf_thread *me, struct wf_request *r)
{
	struct wf_watcher_bucket *b =
		wf_watcher_set_lock(wf_watcher_set_index(r->fd));
	bool is_ours = r->watcher_state == WF_WATCHER_WAITING;

	if (is_ours)
		take_locked(r);
	else if (r->watcher_state == WF_WATCHER_SERVED)
		wf_worker_cancel(r);
	wf_spin_unlock(&b->lock);
	if (is_ours)
		complete(me, r, -ECANCELED);
}

void wf_watcher_served(struct wf_request *r, int result)
{
	struct wf_watcher_bucket *b =
		wf_watcher_set_lock(wf_watcher_set_index(r->fd));
	int number = wf_request_fd(r);

	take_locked(r);
	/* arms the accepts that waited for this one */
	rearm_and_unlock(b, number);
	complete(NULL, r, result < 0 ? result : result + r->nr_bytes);
}

/* --- calls --------------------------------------------------------------- */

/* Must a worker make the call of r (WATCHER-3)? */
static bool is_for_worker(const struct wf_request *r)
{
	return r->op == IORING_OP_ACCEPT || r->nr_futile >= TRIES_BEFORE_WORKER;
}

/*
 * Returns the first request that waits for one of the events, or NULL. Skips
 * kinds that have met EAGAIN in this round, and a second accept (WATCHER-3).
 */
static struct wf_request *next_locked(struct wf_watcher_bucket *b, int number,
				      uint32_t revents, uint32_t blocked)
{
	bool is_accepting = wf_watcher_set_is_accepting_locked(b, number);

	for (struct wf_list *l = b->requests.next; l != &b->requests;
	     l = l->next) {
		struct wf_request *r = wf_watcher_request(l);
		uint32_t events = wf_attempt_events(r);

		if (r->watcher_state != WF_WATCHER_WAITING ||
		    wf_request_fd(r) != number ||
		    (revents & (events | ENDS)) == 0 ||
		    (r->op == IORING_OP_ACCEPT && is_accepting))
			continue;
		if (r->op == IORING_OP_POLL_ADD || (events & blocked) == 0)
			return r;
	}
	return NULL;
}

/* Hands r, which is SERVED now, to a worker. */
static void serve(struct wf_request *r)
{
	if (wf_worker_push(r, WF_WORKER_WAIT) == 0)
		return;
	/* No worker is free: the requester makes the call and blocks its
	 * carrier. */
	wf_watcher_served(r, -ENOSYS);
}

/* Handles one event, on the watcher. */
static void handle_event(uint32_t index, int number, uint32_t revents)
{
	struct wf_watcher_bucket *b = wf_watcher_set_lock(index);
	uint32_t blocked = 0;
	struct wf_request *r;

	while ((r = next_locked(b, number, revents, blocked)) != NULL) {
		bool is_handed = is_for_worker(r);
		int nr_bytes = r->nr_bytes, n = 0;

		r->watcher_state = is_handed ? WF_WATCHER_SERVED :
					       WF_WATCHER_TRYING;
		wf_spin_unlock(&b->lock);
		if (is_handed)
			serve(r);
		else
			n = wf_attempt(r, number, revents);
		wf_watcher_set_lock(index);
		if (is_handed)
			break; /* wf_watcher_served arms the entry */
		if (n == -EAGAIN) {
			if (r->nr_bytes == nr_bytes)
				r->nr_futile++;
			r->watcher_state = WF_WATCHER_WAITING;
			blocked |= wf_attempt_events(r);
			continue;
		}
		take_locked(r);
		wf_spin_unlock(&b->lock);
		complete(NULL, r, n);
		wf_watcher_set_lock(index);
	}
	rearm_and_unlock(b, number);
}

static void run(void *arg)
{
	const struct timespec a_while = { 0, 10 * WF_NS_PER_MS };
	struct epoll_event events[NR_EVENTS];

	wf_os_set_thread_name("weft-watcher");
	wf_spin_lock(&start_lock,
		     WF_RANK_WATCHER); /* until the set is published */
	wf_spin_unlock(&start_lock);
	for (;;) {
		long nr;

		wf_worker_check_dismissal();
		nr = wf_sys(SYS_epoll_pwait, wf_watcher_set_fd(), events,
			    NR_EVENTS, -1L, NULL, 8);

		/* the program has closed the set unseen */
		if (nr < 0 && nr != -EINTR)
			wf_sys(SYS_nanosleep, &a_while, NULL);
		for (long i = 0; i < nr; i++)
			handle_event((uint32_t)(events[i].data.u64 >> 32),
				     (int)(uint32_t)events[i].data.u64,
				     events[i].events);
	}
}

/* --- pushing ------------------------------------------------------------- */

/*
 * Makes the set and the watcher. Other threads find the set only once the
 * watcher's kernel thread has started.
 */
static int start(void)
{
	int err = 0, fd;

	wf_spin_lock(&start_lock, WF_RANK_WATCHER);
	if (wf_watcher_set_fd() < 0) {
		fd = wf_watcher_set_make();
		err = fd < 0 ? fd : wf_worker_start_thread(run);
		if (err == 0)
			wf_watcher_set_publish(fd);
		else if (fd >= 0)
			wf_sys(SYS_close, fd);
	}
	wf_spin_unlock(&start_lock);
	return err;
}

/*
 * Returns 0 if r waits. -ENOSYS: the caller has to make the plain call; other
 * -Exxx: r cannot wait.
 */
static int arm_locked(struct wf_watcher_bucket *b, const struct wf_request *r)
{
	int err = wf_watcher_set_arm_locked(b, r->fd);

	return err == 0 && !wf_attempt_fits(r, r->fd) ? -ENOSYS : err;
}

int wf_watcher_push(struct wf_thread *me, struct wf_request *r)
{
	struct wf_watcher_bucket *b;
	int err;

	if (WF_UNLIKELY(wf_watcher_set_fd() < 0) && start() < 0)
		return -ENOSYS;
	r->nr_bytes = 0;
	r->nr_futile = 0;
	b = wf_watcher_set_lock(wf_watcher_set_index(r->fd));
	r->watcher_state = WF_WATCHER_WAITING;
	wf_list_add_tail(&b->requests, &r->watcher_link);
	err = arm_locked(b, r);
	if (err == -EPERM && r->op == IORING_OP_POLL_ADD)
		err = wf_attempt_always(r);
	else if (err < 0 && err != -EBADF)
		err = -ENOSYS;
	if (err != 0)
		take_locked(r);
	wf_spin_unlock(&b->lock);
	if (err == -ENOSYS)
		return err;
	if (err != 0)
		wf_request_complete(me, r, err);
	return 0;
}

/* --- descriptors ---------------------------------------------------------- */

/*
 * WATCHER-4. Gives the waiting requests their duplicates. Returns true if the
 * watcher is in a call on one of the numbers.
 */
static bool pin_locked_all(struct wf_watcher_bucket *b, struct wf_list *ended,
			   unsigned int first, unsigned int last)
{
	bool is_trying = false;

	for (struct wf_list *l = b->requests.next; l != &b->requests;
	     l = l->next) {
		struct wf_request *r = wf_watcher_request(l);
		unsigned int fd = (unsigned int)r->fd;

		if (fd < first || fd > last ||
		    wf_load_relaxed(&r->pinned_fd) >= 0)
			continue;
		if (r->watcher_state == WF_WATCHER_TRYING)
			is_trying = true;
		else
			wf_watcher_set_pin_locked(b, r);
	}
	if (first == last)
		wf_watcher_set_remove_locked(b, (int)first);
	return is_trying;
}

/*
 * WATCHER-4. Arms the requests that were pushed meanwhile for the number's next
 * file. Those that cannot be armed go to `ended` with their result. Returns
 * true if the watcher is in a call on one of the numbers.
 */
static bool rearm_locked_all(struct wf_watcher_bucket *b, struct wf_list *ended,
			     unsigned int first, unsigned int last)
{
	bool is_trying = false;
	struct wf_list *next;

	for (struct wf_list *l = b->requests.next; l != &b->requests;
	     l = next) {
		struct wf_request *r = wf_watcher_request(l);
		unsigned int fd = (unsigned int)r->fd;
		int err;

		next = l->next;
		if (fd < first || fd > last ||
		    wf_load_relaxed(&r->pinned_fd) >= 0)
			continue;
		is_trying |= r->watcher_state == WF_WATCHER_TRYING;
		err = r->watcher_state == WF_WATCHER_WAITING ?
			      arm_locked(b, r) :
			      0;
		if (err < 0)
			end_locked(r, err, ended);
	}
	return is_trying;
}

typedef bool visit_fn(struct wf_watcher_bucket *b, struct wf_list *ended,
		      unsigned int first, unsigned int last);

static bool visit_bucket(uint32_t index, unsigned int first, unsigned int last,
			 visit_fn *visit)
{
	struct wf_thread *me = wf_runtime_enter();
	uint64_t mask = wf_signals_close(me);
	struct wf_watcher_bucket *b = wf_watcher_set_lock(index);
	struct wf_list ended;
	bool again;

	wf_list_init(&ended);
	again = visit(b, &ended, first, last);
	wf_spin_unlock(&b->lock);
	complete_all(me, &ended);
	wf_signals_open(me, mask);
	wf_runtime_leave(me);
	return again;
}

/* Visits all buckets of the numbers, each again while `visit` returns true. */
static void visit_numbers(unsigned int first, unsigned int last,
			  visit_fn *visit)
{
	bool is_few = last - first < WF_WATCHER_BUCKETS;
	uint32_t nr = is_few ? last - first + 1 : WF_WATCHER_BUCKETS;

	if (wf_watcher_set_fd() < 0)
		return;
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t index =
			is_few ? wf_watcher_set_index((int)(first + i)) : i;

		for (int yields = 0; visit_bucket(index, first, last, visit) &&
				     yields < YIELDS_FOR_CALL;
		     yields++)
			wf_sched_yield();
	}
}

void wf_watcher_before_close(unsigned int first, unsigned int last)
{
	visit_numbers(first, last, pin_locked_all);
}

void wf_watcher_after_close(unsigned int first, unsigned int last)
{
	visit_numbers(first, last, rearm_locked_all);
}

void wf_watcher_fork_child(void)
{
	start_lock = WF_SPIN_INIT;
	wf_watcher_set_fork_child();
}

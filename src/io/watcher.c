/* SPDX-License-Identifier: MIT */
/*
 * WATCHER-1. A request is in the bucket of its number from wf_watcher_push
 *     until it is about to be completed; list and states change under the
 *     bucket's lock (io/watcher_set.h).
 *
 *         OUT -> WAITING       [wf_watcher_push]
 *         WAITING -> TRYING    the watcher makes the call that does not wait
 *         TRYING -> WAITING    EAGAIN
 *         WAITING -> SERVED    a worker makes the call that might wait
 *         any -> OUT           who takes it out completes it, and nobody else
 *
 * WATCHER-2. A number has one entry in the set, for one event (EPOLLONESHOT),
 *     armed under the bucket's lock for all that its waiting requests wait for.
 *     So no request waits that the entry does not know of; where the kernel
 *     refuses to arm it they end. An event that finds nobody is for nothing.
 * WATCHER-3. The watcher alone makes calls on ready descriptors, each for the
 *     first that waits, then for the next: nobody is woken for what another has
 *     taken. It makes no call that may block: accept, which cannot be asked not
 *     to, and what stays EAGAIN though poll says ready (a datagram to a peer
 *     whose queue is full) is a worker's. One accept per number at a time.
 * WATCHER-4. Before a number is closed, each request that waits on it gets a
 *     duplicate, with an entry of its own: the wait is on the file. Whoever
 *     takes the request out closes it. While the watcher is in a call on the
 *     number, the closer waits. A worker's call that has not begun by then is
 *     made on the duplicate if the number is no file's (wf_worker_call). That
 *     it is another's already, and what libc closes by itself, are the only
 *     gaps. Who begins to wait just before the number goes may find its file
 *     without an entry; so the closer looks again afterwards: such requests are
 *     for what the number is then.
 * WATCHER-5. The epoll call under the lock does not sleep for long: it waits
 *     for other such calls, and asks the file, as io_uring would.
 *
 * Rejected: waking the thread to make the call. Between ready and running the
 * number may be closed and be another file: "shutdown, then close" is how
 * servers end a reader.
 */
#include "io/watcher.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <string.h>
#include <sys/epoll.h>

#include "io/attempt.h"
#include "io/worker.h"
#include "io/watcher_set.h"
#include "os/clock.h"
#include "os/kthread.h"
#include "os/sys.h"
#include "sched/runtime.h"
#include "sched/yield.h"
#include "wait/closed.h"

enum {
	NR_EVENTS = 64,
	/* Futile calls in a row until a worker makes a real one. */
	TRIES_BEFORE_SERVER = 4,
	/* A call that does not wait is over by then, or its page is away. */
	YIELDS_FOR_CALL = 1000,
	ENDS = EPOLLERR | EPOLLHUP,
};

static struct wf_spin start_lock = WF_SPIN_INIT;

/* --- ending -------------------------------------------------------------- */

/* WATCHER-1. The caller completes it when the lock is released. */
static void take_locked(struct wf_request *r)
{
	wf_list_del(&r->watcher_link);
	r->watcher_state = WF_WATCHER_OUT;
}

static void complete(struct wf_thread *me, struct wf_request *r, int result)
{
	wf_watcher_set_drop(r);
	/* What has been done counts more than how it ended. */
	if (result < 0 && r->nr_bytes > 0)
		result = r->nr_bytes;
	wf_request_complete(me, r, result);
}

/* Goes to `ended`: its number cannot be armed. */
static void end_locked(struct wf_request *r, int err, struct wf_list *ended)
{
	take_locked(r);
	/* What cannot be in a set is a plain call's, as in push. */
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

/* WATCHER-2, after an event or an accept. Releases the lock. */
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
	rearm_and_unlock(b, number); /* who waited for this accept to end */
	complete(NULL, r, result < 0 ? result : result + r->nr_bytes);
}

/* --- calls --------------------------------------------------------------- */

/* WATCHER-3 */
static bool is_for_worker(const struct wf_request *r)
{
	return r->op == IORING_OP_ACCEPT || r->nr_futile >= TRIES_BEFORE_SERVER;
}

/*
 * The first that waits for one of the events; none of a kind that has met
 * EAGAIN in this round, nor a second accept (WATCHER-3).
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
	/* The caller makes the call and blocks its carrier. */
	wf_watcher_served(r, -ENOSYS);
}

/* One event. Called by the watcher. */
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
			break; /* it arms the entry when it is done */
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
	wf_spin_lock(&start_lock); /* until the set is there */
	wf_spin_unlock(&start_lock);
	for (;;) {
		long nr;

		wf_worker_check_dismissal();
		nr = wf_sys(SYS_epoll_pwait, wf_watcher_set_fd(), events,
			    NR_EVENTS, -1L, NULL, 8);

		/* Somebody has closed the set behind weft's back. */
		if (nr < 0 && nr != -EINTR)
			wf_sys(SYS_nanosleep, &a_while, NULL);
		for (long i = 0; i < nr; i++)
			handle_event((uint32_t)(events[i].data.u64 >> 32),
				     (int)(uint32_t)events[i].data.u64,
				     events[i].events);
	}
}

/* --- pushing ------------------------------------------------------------- */

/* The set is there for others only once somebody sees to it. */
static int start(void)
{
	int err = 0, fd;

	wf_spin_lock(&start_lock);
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

/* -Exxx: r has its end. -ENOSYS: the caller's plain call is to be made. */
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

/* WATCHER-4. True if the watcher is in a call on one of the numbers. */
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
	/* The entry of the number goes, or a copy elsewhere would keep it. */
	if (first == last)
		wf_sys(SYS_epoll_ctl, wf_watcher_set_fd(), EPOLL_CTL_DEL, first,
		       NULL);
	return is_trying;
}

/*
 * WATCHER-4. Who has begun to wait since waits for what the number is now. True
 *     as
 * above. Those that cannot go to `ended`, with their result.
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

/* All buckets that may know the numbers, again as long as `visit` says so. */
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

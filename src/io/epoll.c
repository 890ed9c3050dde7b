/*
 * epoll_wait. First the call that does not wait; then a request for the set;
 * then the call again, whose answer counts. Any handler ends it.
 *
 * A wait is on the set, as the kernel's is, and not on its number:
 *
 * E1. While its request is under way a wait is in the bucket of its number,
 *     and its thread in the runtime: no handler can leave it there.
 * E2. Before a number is closed or replaced each wait on it gets a duplicate.
 *     The thread says that it is in the call before it looks which of the two
 *     to use; the closer looks for that after it has made the duplicate, and
 *     waits until the call, which does not wait, is over.
 * E3. Who begins to wait just when the number goes waits for what it is by
 *     then, or gets EBADF; so does who waited where there is no number free for
 *     a duplicate.
 */
#include "io/epoll.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <poll.h>

#include "base/list.h"
#include "base/spin.h"
#include "io/io.h"
#include "io/kept.h"
#include "io/poll.h"
#include "io/request.h"
#include "os/clock.h"
#include "os/sys.h"
#include "sched/runtime.h"
#include "sched/yield.h"
#include "signal/wait.h"
#include "wait/closed.h"

enum { NR_BUCKETS = 64 };

struct bucket {
	struct wf_spin lock;
	struct wf_list waits; /* of struct wait; not made before the first */
} WF_ALIGNED(WF_CACHE_LINE);

struct wait {
	struct wf_request_scope scope;
	struct wf_list link; /* E1; the bucket's lock */
	int epfd;
	_Atomic int kept_fd; /* a duplicate, or -1; closer, under the lock */
	_Atomic bool is_in_call; /* E2; its thread */
	struct epoll_event *events;
	int max;
	int n; /* what the call has returned */
};

static struct bucket buckets[NR_BUCKETS];
static _Atomic uint32_t nr_waits;

static struct bucket *lock(int epfd)
{
	struct bucket *b = &buckets[(unsigned int)epfd % NR_BUCKETS];

	wf_spin_lock(&b->lock);
	if (b->waits.next == NULL)
		wf_list_init(&b->waits);
	return b;
}

/* --- waiting -------------------------------------------------------------- */

static int set_of(const struct wait *w)
{
	/* seq_cst: after is_in_call was set (E2). */
	int kept = atomic_load(&w->kept_fd);

	return kept >= 0 ? kept : w->epfd;
}

static void call(struct wait *w)
{
	atomic_store(&w->is_in_call, true);
	w->n = (int)wf_sys(SYS_epoll_wait, set_of(w), w->events, w->max, 0);
	/* release: the call is over; pairs with keep_all. */
	wf_store_release(&w->is_in_call, false);
}

static bool has_nothing(const struct wait *w, uint32_t nr_handlers)
{
	return w->n == 0 || wf_poll_is_for_nothing(w->n, nr_handlers);
}

static struct wait *wait_of(struct wf_request_scope *scope)
{
	return wf_container_of(scope, struct wait, scope);
}

static void begin(struct wf_request_scope *scope)
{
	struct wait *w = wait_of(scope);
	struct bucket *b = lock(w->epfd);

	wf_list_add_tail(&b->waits, &w->link);
	wf_spin_unlock(&b->lock);
	atomic_fetch_add(&nr_waits, 1);
}

static void end(struct wf_request_scope *scope, bool is_done)
{
	struct wait *w = wait_of(scope);
	struct bucket *b;

	if (is_done)
		call(w);
	b = lock(w->epfd);
	wf_list_del(&w->link);
	wf_spin_unlock(&b->lock);
	atomic_fetch_sub(&nr_waits, 1);
}

/* One wait. Returns 0, with what the call says in w->n, or -Exxx. */
static int wait_once(struct wait *w, int64_t deadline_ns, uint32_t nr_handlers)
{
	struct wf_request r = {
		.op = IORING_OP_POLL_ADD,
		.fd = set_of(w),
		.op_flags = POLLIN,
		.scope = &w->scope,
	};
	int err;

	w->n = 0;
	err = wf_request_run_any(&r, 1, deadline_ns, &nr_handlers);
	if (wf_poll_has_waited(&err))
		return err;
	err = wf_poll_in_kernel(&(struct pollfd){ set_of(w), POLLIN, 0 }, 1,
				deadline_ns, nr_handlers);
	if (err == 0)
		call(w);
	return err;
}

/* After a look that found nothing. */
static int wait_until(struct wait *w, int64_t deadline_ns, uint32_t nr_handlers)
{
	do {
		int err = wait_once(w, deadline_ns, nr_handlers);

		if (err < 0)
			return err;
	} while (has_nothing(w, nr_handlers) && deadline_ns > wf_os_now());
	return has_nothing(w, nr_handlers) ? 0 : w->n;
}

int wf_io_epoll_wait(int epfd, struct epoll_event *events, int max,
		     int64_t deadline_ns, const uint64_t *mask)
{
	uint32_t nr_handlers = wf_self->nr_handlers;
	struct wait w = {
		.scope = { begin, end },
		.epfd = epfd,
		.kept_fd = -1,
		.events = events,
		.max = max,
	};
	int n;

	call(&w);
	if (!has_nothing(&w, nr_handlers))
		return w.n;
	/* The kernel handles no signal here. */
	if (deadline_ns <= wf_os_now())
		return 0;
	n = wf_poll_open(mask, nr_handlers) ?
		    -EINTR :
		    wait_until(&w, deadline_ns, nr_handlers);
	wf_signal_close_after_wait(mask);
	if (wf_load_relaxed(&w.kept_fd) >= 0)
		wf_kept_close(wf_load_relaxed(&w.kept_fd));
	return n;
}

/* --- closing -------------------------------------------------------------- */

/* E2. True if one of them is in its call. */
static bool keep_all(struct bucket *b, unsigned int first, unsigned int last)
{
	bool is_in_call = false;

	for (struct wf_list *l = b->waits.next; l != &b->waits; l = l->next) {
		struct wait *w = wf_container_of(l, struct wait, link);
		unsigned int fd = (unsigned int)w->epfd;

		if (fd < first || fd > last)
			continue;
		if (wf_load_relaxed(&w->kept_fd) < 0)
			atomic_store(&w->kept_fd, wf_kept_make(w->epfd));
		/* seq_cst: after kept_fd was set; pairs with call. */
		is_in_call |= atomic_load(&w->is_in_call);
	}
	return is_in_call;
}

static bool see_bucket(uint32_t index, unsigned int first, unsigned int last)
{
	struct wf_thread *me = wf_runtime_enter();
	uint64_t mask = wf_signals_close(me);
	struct bucket *b = lock((int)index);
	bool again = keep_all(b, first, last);

	wf_spin_unlock(&b->lock);
	wf_signals_open(me, mask);
	wf_runtime_leave(me);
	return again;
}

void wf_epoll_keep(unsigned int first, unsigned int last)
{
	enum { YIELDS_FOR_CALL = 1000 };
	bool is_few = last - first < NR_BUCKETS;
	uint32_t nr = is_few ? last - first + 1 : NR_BUCKETS;

	if (atomic_load(&nr_waits) == 0)
		return;
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t index = is_few ? (first + i) % NR_BUCKETS : i;

		for (int yields = 0;
		     see_bucket(index, first, last) && yields < YIELDS_FOR_CALL;
		     yields++)
			wf_sched_yield();
	}
}

void wf_epoll_fork_child(void)
{
	for (uint32_t i = 0; i < NR_BUCKETS; i++)
		buckets[i] = (struct bucket){ 0 };
	wf_store_relaxed(&nr_waits, 0);
}

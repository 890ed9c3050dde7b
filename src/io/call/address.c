/* SPDX-License-Identifier: MIT */
/*
 * Waits for sockets with an address: receives, accepts and poll. A ring holds a
 * reference to each file that its requests wait for. When a process is killed,
 * the kernel drops these references some milliseconds after the parent's wait
 * for the process has returned. If such a file is a socket with an address, a
 * server that is started again at once finds the address in use. So a request
 * here polls an epoll proxy of the socket (io/file/epoll_proxy.h), which holds
 * no reference to the socket. After the poll the thread makes the call that
 * does not wait.
 *
 * ADDRESS-1. The thread makes that call before it leaves the runtime, also if a
 *     signal or the deadline ended the wait. The kernel wakes one waiting
 *     thread for each message or connection, so no handler or cancellation may
 *     come between wake and call.
 * ADDRESS-2. An event that concerns all waiting threads, such as the end by
 *     shutdown, wakes one thread. That thread wakes the next one.
 * ADDRESS-3. After WAITS_FOR_NOTHING waits in a row that led to nothing the
 *     epoll proxy is in doubt.
 * ADDRESS-4. The kernel may wake one thread for two events. A request that
 *     finds the first event as it begins also uses up the wake for the second.
 *     So a thread that has taken one wakes the next if there is more and
 *     another thread waits. A thread that begins to wait after that check finds
 *     the rest itself. A socket has no such wake: without an epoll proxy all
 *     waiting threads are woken.
 * ADDRESS-5. A thread does not begin to wait while the number is being closed
 *     or replaced. It would wait for the number's next file, which may be no
 *     socket. Instead it makes the call again. It does the same if the number
 *     already is such a file's.
 */
#include "io/call/address.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "io/backend/attempt.h"
#include "io/backend/ring.h"
#include "io/call/run.h"
#include "io/file/descriptor.h"
#include "io/file/epoll_proxy.h"
#include "io/file/pin.h"
#include "os/sys.h"
#include "sched/runtime.h"
#include "wait/ufutex.h"

enum {
	WAITS_FOR_NOTHING = 16,
	/* IORING_ACCEPT_DONTWAIT since Linux 6.10. On older kernels weft gives
	 * up an accept that waits at once. */
	ACCEPT_DONTWAIT = 1 << 1,
};

struct wait {
	struct wf_request_scope scope;
	struct wf_pin pin;
	struct wf_request poll;
	struct wf_request *r;
	struct wf_epoll_proxy *proxy;
	uint32_t nr_futile;
	bool is_closing; /* ADDRESS-5 */
	int n;		 /* the call's result; -EAGAIN: none yet */
};

/* --- calls that do not wait ----------------------------------------------- */

/* Has the ring accept without waiting; -EAGAIN: no connection is there. */
static int accept_with(struct wf_thread *t, const struct wf_request *r, int fd,
		       uint16_t ioprio)
{
	struct wf_request now = {
		.op = IORING_OP_ACCEPT,
		.fd = fd,
		.addr = r->addr,
		.off = r->off,
		.op_flags = r->op_flags,
		.ioprio = ioprio,
	};

	return wf_request_try(t, &now);
}

/*
 * Accepts without waiting, with ACCEPT_DONTWAIT if the kernel knows that flag.
 * -ENOSYS: there is no ring. In the runtime.
 */
static int accept_now(struct wf_thread *t, const struct wf_request *r, int fd)
{
	static _Atomic bool lacks_flag;
	uint16_t ioprio = wf_load_relaxed(&lacks_flag) ? 0 : ACCEPT_DONTWAIT;
	int n = accept_with(t, r, fd, ioprio);

	if (n != -EINVAL || ioprio == 0)
		return n;
	n = accept_with(t, r, fd, 0);
	if (n != -EINVAL)
		wf_store_relaxed(&lacks_flag, true);
	return n;
}

static int attempt(struct wf_request *r, int fd)
{
	if (r->op == IORING_OP_ACCEPT)
		return accept_now(wf_self, r, fd);
	return wf_attempt(r, fd, POLLIN);
}

/* --- waiting -------------------------------------------------------------- */

/*
 * Does the result concern all waiting threads? Lack of descriptors, or of a
 * ring, concerns the caller alone.
 */
static bool is_for_all(int n)
{
	return n <= 0 && n != -EAGAIN && n != -EMFILE && n != -ENFILE &&
	       n != -ENOSYS;
}

/*
 * Has the socket been shut down? A datagram socket, and a Unix socket that
 * listens, say so only to a call that waits.
 */
static bool is_shut(int fd)
{
	struct pollfd now = { fd, POLLRDHUP, 0 };

	return wf_sys(SYS_poll, &now, 1, 0) == 1;
}

/* ADDRESS-4. Is there another event, and another thread that waits? */
static bool is_more(const struct wait *w, int fd)
{
	struct pollfd now = { fd, POLLIN, 0 };

	return w->n >= 0 && wf_epoll_proxy_is_shared(w->proxy) &&
	       wf_sys(SYS_poll, &now, 1, 0) == 1;
}

/* ADDRESS-1. Makes the call. is_reported: the poll has reported an event. */
static void call(struct wait *w, bool is_reported)
{
	int fd = wf_pin_call_begin(&w->pin);
	bool is_end;

	w->n = attempt(w->r, fd);
	is_end = is_reported && w->n == -EAGAIN && is_shut(fd);
	if (is_end)
		w->n = -ENOSYS; /* wf_io_run waits for the socket itself */
	if (w->proxy != NULL && (is_end || is_for_all(w->n) || is_more(w, fd)))
		wf_epoll_proxy_wake_next(w->proxy,
					 fd); /* ADDRESS-2, ADDRESS-4 */
	wf_pin_call_end(&w->pin);
}

static struct wait *wait_of(struct wf_request_scope *scope)
{
	return wf_container_of(scope, struct wait, scope);
}

/*
 * The events to poll for. With EPOLLEXCLUSIVE the kernel wakes one of the
 * threads that wait. A receive with MSG_PEEK leaves its message to the other
 * threads, and poll (r is NULL) takes nothing, so both wake all. A thread that
 * waits alone does not use the flag either: with it the request could not
 * follow its VP (io/backend/migrate.c).
 */
static uint32_t events_of(const struct wait *w)
{
	const struct wf_request *r = w->r;
	bool peeks = r != NULL && r->op != IORING_OP_ACCEPT &&
		     r->op != IORING_OP_READV && (r->op_flags & MSG_PEEK) != 0;
	bool is_one = r != NULL && !peeks && w->proxy != NULL &&
		      wf_epoll_proxy_is_shared(w->proxy); /* ADDRESS-4 */

	return is_one ? POLLIN | EPOLLEXCLUSIVE : POLLIN;
}

static void begin(struct wf_request_scope *scope)
{
	struct wait *w = wait_of(scope);
	int fd;

	wf_pin_begin(&w->pin);
	fd = wf_pin_call_begin(&w->pin); /* until handed_over() */
	w->is_closing = fd == w->pin.fd && wf_epoll_proxy_is_closing(fd);
	if (w->is_closing || (fd == w->pin.fd && w->r != NULL &&
			      !wf_attempt_fits(w->r, fd))) { /* ADDRESS-5 */
		w->proxy = NULL;
		/* the poll ends at once, then the call is made (ADDRESS-1) */
		w->poll.fd = -1;
		w->poll.op_flags = POLLIN;
		return;
	}
	w->proxy = fd == w->pin.fd ?
			   wf_epoll_proxy_get(fd, w->nr_futile >=
							  WAITS_FOR_NOTHING) :
			   NULL;
	w->poll.fd = w->proxy != NULL ? wf_epoll_proxy_set(w->proxy) : fd;
	w->poll.op_flags = events_of(w);
}

static void handed_over(struct wf_request_scope *scope)
{
	wf_pin_call_end(&wait_of(scope)->pin);
}

static void end(struct wf_request_scope *scope, bool is_done)
{
	struct wait *w = wait_of(scope);

	call(w, is_done);
	w->nr_futile = is_done && w->n == -EAGAIN ? w->nr_futile + 1 : 0;
	wf_epoll_proxy_put(w->proxy);
	wf_pin_end(&w->pin);
	wf_pin_release_for_handler(&w->pin);
}

/*
 * ADDRESS-5. Sleeps 50 us and returns -ERESTART, to have the call made again.
 * With SO_LINGER a close may take long.
 */
static int pass_close_barrier(int64_t deadline_ns)
{
	const int64_t pause_ns = 50 * WF_NS_PER_US;
	int64_t until = wf_os_now() + pause_ns;
	bool is_last = deadline_ns <= until;
	int err = wf_request_run_any(NULL, 0, is_last ? deadline_ns : until,
				     NULL);

	return err == -ETIMEDOUT && !is_last ? -ERESTART : err;
}

/*
 * Waits once. Returns as wf_request_run does, and -ERESTART also if the call
 * after the wait found nothing.
 */
static int wait_once(struct wait *w, int64_t deadline_ns)
{
	int err = wf_request_run_any(&w->poll, 1, deadline_ns, NULL);

	if (w->n != -EAGAIN)
		return w->n;
	if (w->is_closing)
		return pass_close_barrier(deadline_ns);
	if (err == 0)
		return wf_self->interrupted ? -EINTR : -ERESTART;
	return err;
}

static int run(struct wait *w, int64_t deadline_ns)
{
	uint32_t nr_handlers = wf_self->nr_handlers;
	int n;

	do
		n = wait_once(w, deadline_ns);
	while (wf_io_goes_on(n, deadline_ns, nr_handlers));
	wf_pin_fini(&w->pin);
	return n;
}

int wf_address_run(struct wf_request *r, int64_t deadline_ns)
{
	struct wait w = {
		.scope = { begin, end, handed_over },
		.pin = { .fd = r->fd, .pinned_fd = -1 },
		.poll = { .op = IORING_OP_POLL_ADD, .scope = &w.scope },
		.r = r,
		.n = -EAGAIN,
	};
	int n = -ENOSYS;

	if (!r->avoids_ring && !wf_ring_is_refused()) {
		r->nr_bytes = 0;
		n = run(&w, deadline_ns);
	}
	return n == -ENOSYS ? wf_io_run(r, deadline_ns) : wf_io_wait_result(n);
}

int wf_address_try_accept(const struct wf_request *r)
{
	struct wf_thread *t;
	int n = -EAGAIN;

	if (wf_ring_is_refused())
		return n;
	t = wf_runtime_enter();
	if (t->kind == WF_THREAD_MULTIPLEXED && t->vp != NULL)
		n = accept_now(t, r, r->fd);
	wf_runtime_leave(t);
	return n == -ENOSYS ? -EAGAIN : n;
}

/* --- poll ----------------------------------------------------------------- */

static void begin_poll(struct wf_request_scope *scope)
{
	begin(scope);
	if (wait_of(scope)->proxy == NULL)
		wait_of(scope)->poll.fd = -1; /* the poll ends at once */
}

/*
 * Makes no call after the wait: every thread that polls is woken, and then
 * checks the descriptor itself.
 */
static void end_poll(struct wf_request_scope *scope, bool is_done)
{
	struct wait *w = wait_of(scope);

	wf_epoll_proxy_put(w->proxy);
	wf_pin_end(&w->pin);
	wf_pin_release_for_handler(&w->pin);
}

int wf_address_poll(int fd, int64_t deadline_ns, uint32_t nr_handlers,
		    bool is_in_doubt)
{
	struct wait w = {
		.scope = { begin_poll, end_poll, handed_over },
		.pin = { .fd = fd, .pinned_fd = -1 },
		.poll = { .op = IORING_OP_POLL_ADD, .scope = &w.scope },
		.nr_futile = is_in_doubt ? WAITS_FOR_NOTHING : 0,
	};
	int err = wf_request_run_any(&w.poll, 1, deadline_ns, &nr_handlers);

	wf_pin_fini(&w.pin);
	return err == 0 && w.proxy == NULL ? -E2BIG : err;
}

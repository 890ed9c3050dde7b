/*
 * SERVER-1. A request is handed to a server that has nothing to do; none waits
 *     for its turn. With all busy the push is refused and the caller makes the
 *     plain call, which blocks its carrier: the monitor sees to its VP. So
 *     what one request waits for never keeps another from being served.
 * SERVER-2. server->job is the request that it is at. It changes, and the
 *     signal that ends the call is sent, under the server's lock: a signal is
 *     for that request and no other. One that comes before the call begins is
 *     lost, so the asker asks again (io/request.c, REQUEST-2).
 * SERVER-3. A server takes what is left of the signal for one job before the
 *     next. A call that ends with EINTR though nobody asked is made again.
 * SERVER-4. A server has nothing to do from when it is in an idle list until a
 *     pusher takes it out, writes job and, last, word.
 * SERVER-5. No thread of the program's runs on a server, nor a handler of its.
 *     It follows changes of credentials as carriers do (boot/setxid.c).
 * SERVER-6. Status says who completes the request: one exchange by the server,
 *     one by the requester. What is COMPLETE is completed once, by whoever
 *     takes the job out under the lock [wf_server_finish]: the requester that
 *     looks, a server that is a kernel thread, for one that is a process the
 *     keeper or the handler of a carrier that it has signalled.
 * SERVER-7. A server that is a process may be killed between any two
 *     instructions. So it takes no lock, and nothing that it has to do after
 *     COMPLETE is needed: the keeper does it when it hears of its end
 *     (io/keeper.c).
 * SERVER-8. A process is made under the clone lock, and only if no thread is
 *     about to replace the program, or to end it.
 *
 * Rejected: a queue of requests. A server may be busy for as long as it likes
 * with one that waits for what the next in the queue would do.
 */
#include "io/attempt.h"
#include "io/server.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>

#include "base/options.h"
#include "io/ring.h"
#include "io/server_table.h"
#include "io/watch.h"
#include "os/clock.h"
#include "os/futex.h"
#include "os/kthread.h"
#include "os/sys.h"
#include "sched/carrier.h"
#include "sched/clone_lock.h"
#include "sched/runtime.h"
#include "trace/counters.h"
#include "wait/closed.h"

struct wf_server wf_servers[WF_NR_SERVERS];

/* Numbers given out; never shrinks. The last two are for those that run for
 * ever: the watcher and the keeper. */
static _Atomic uint32_t nr_servers;
enum { NR_OWN = 2 };

static struct wf_spin lists_lock = WF_SPIN_INIT;
static struct wf_server *idle[2]; /* kernel threads, processes */
static struct wf_server *unused;  /* do not run */
static struct wf_spin own_lock = WF_SPIN_INIT;

/* The program is about to exit (SERVER-8). */
static _Atomic bool is_ending;
static _Atomic bool had_process;
static _Atomic bool is_refused; /* there can be no processes */

/* --- lists --------------------------------------------------------------- */

static void put(struct wf_server **list, struct wf_server *s)
{
	wf_spin_lock(&lists_lock);
	s->next = *list;
	*list = s;
	wf_spin_unlock(&lists_lock);
}

static struct wf_server *take(struct wf_server **list)
{
	struct wf_server *s;

	wf_spin_lock(&lists_lock);
	s = *list;
	if (s != NULL)
		*list = s->next;
	wf_spin_unlock(&lists_lock);
	return s;
}

/* A server that has never run, of the first `most`, or NULL. */
static struct wf_server *take_number(uint32_t most)
{
	uint32_t nr = wf_load_relaxed(&nr_servers);

	do {
		if (nr >= most)
			return NULL;
	} while (!wf_cas_acq_rel(&nr_servers, &nr, nr + 1));
	return &wf_servers[nr];
}

/* --- handing over -------------------------------------------------------- */

bool wf_server_serves(const struct wf_request *r)
{
	return r->op == WF_REQUEST_OP_CALL || r->op == WF_RING_OP_FUTEX_WAIT ||
	       r->op == IORING_OP_CONNECT ||
	       (r->op == IORING_OP_RECVMSG && (r->op_flags & MSG_WAITALL) != 0);
}

/* SERVER-4. From here on r may be over. False: s has ended. */
static bool give_job(struct wf_server *s, struct wf_request *r,
		     enum wf_server_status status)
{
	bool is_there;

	wf_spin_lock(&s->lock);
	is_there = wf_load_relaxed(&s->tid) != 0;
	if (is_there) {
		s->job = r;
		s->vp = wf_self != NULL ? wf_vp_of(wf_self) : NULL;
		s->has_signal = wf_load_relaxed(&s->is_asked);
		wf_store_relaxed(&s->is_asked, false);
		wf_store_relaxed(&s->has_begun, false);
		wf_store_relaxed(&s->status, status);
		wf_store_relaxed(&r->server, (uint32_t)(s - wf_servers) + 1);
		/* release: the job; pairs with wf_serve_jobs. */
		atomic_fetch_or_explicit(&s->word, WF_SERVER_JOB,
					 memory_order_release);
	}
	wf_spin_unlock(&s->lock);
	if (is_there)
		wf_os_futex_wake(&s->word, 1);
	return is_there;
}

static int push_to(bool is_process, struct wf_request *r,
		   enum wf_server_status status)
{
	struct wf_server *s;
	int err;

	while ((s = take(&idle[is_process])) != NULL) {
		if (give_job(s, r, status))
			return 0;
		put(&unused, s); /* it was killed */
	}
	s = take(&unused);
	if (s == NULL)
		s = take_number(WF_NR_SERVERS - NR_OWN);
	if (s == NULL)
		return -ENOSYS;
	wf_serve_set_action();
	err = wf_serve_start(s, is_process, wf_serve_jobs);
	if (err == 0 && give_job(s, r, status))
		return 0;
	put(&unused, s);
	/* What may be there later is asked for again. */
	if (is_process && err < 0 && err != -EAGAIN && err != -ENOMEM)
		wf_store_relaxed(&is_refused, true);
	return -ENOSYS;
}

bool wf_server_may_be_made(void)
{
	return !wf_load_relaxed(&is_ending) &&
	       wf_load_relaxed(&wf_os_execs) == 0;
}

static bool is_for_process(const struct wf_request *r)
{
	return wf_options.io == WF_IO_PROCESS && wf_server_may_be_made() &&
	       wf_serve_is_for_process(r);
}

int wf_server_push(struct wf_request *r, enum wf_server_status status)
{
	wf_count(served);
	if (is_for_process(r) && wf_keeper_start() == 0) {
		wf_store_relaxed(&had_process, true);
		if (push_to(true, r, status) == 0)
			return 0;
	}
	return push_to(false, r, status);
}

bool wf_server_is_free(void)
{
	bool is_any;

	wf_spin_lock(&lists_lock);
	is_any = idle[0] != NULL || idle[1] != NULL || unused != NULL;
	wf_spin_unlock(&lists_lock);
	return is_any || wf_load_relaxed(&nr_servers) < WF_NR_SERVERS - NR_OWN;
}

static struct wf_server *own; /* which could not be started */

int wf_server_start_own(void (*run)(void *))
{
	int err;

	wf_spin_lock(&own_lock);
	if (own == NULL || own >= wf_servers + wf_load_relaxed(&nr_servers))
		own = take_number(WF_NR_SERVERS);
	err = own == NULL ? -EAGAIN : wf_serve_start(own, false, run);
	if (err == 0)
		own = NULL;
	wf_spin_unlock(&own_lock);
	return err;
}

/* --- ending requests ----------------------------------------------------- */

static void deliver(struct wf_thread *me, struct wf_request *r, int result)
{
	if (wf_attempt_serves(r))
		wf_watch_served(r, result);
	else
		wf_request_complete(me, r, result);
}

/* SERVER-6. NULL: somebody else has it, or it is not complete. */
static struct wf_request *take_job_locked(struct wf_server *s)
{
	struct wf_request *r = s->job;

	/* acquire: the result; pairs with the server's exchange. */
	if (wf_load_acquire(&s->status) != WF_SERVER_COMPLETE)
		return NULL;
	s->job = NULL;
	return r;
}

static void finish(struct wf_thread *me, struct wf_server *s,
		   struct wf_request *r)
{
	int result = s->result;

	put(&idle[s->is_process], s);
	deliver(me, r, result);
}

void wf_server_finish(struct wf_thread *me, struct wf_server *s)
{
	struct wf_request *r;

	wf_spin_lock(&s->lock);
	r = take_job_locked(s);
	wf_spin_unlock(&s->lock);
	if (r != NULL)
		finish(me, s, r);
}

void wf_server_look(struct wf_thread *me, struct wf_request *r)
{
	struct wf_server *s = &wf_servers[wf_load_relaxed(&r->server) - 1];
	uint32_t yet = WF_SERVER_YET;
	bool is_complete = false;

	wf_spin_lock(&s->lock);
	/* Another's if s was killed and the keeper has seen to it; then r is
	 * done or waited for. */
	if (s->job == r && !wf_cas_acq_rel(&s->status, &yet, WF_SERVER_WAIT))
		is_complete = take_job_locked(s) != NULL;
	wf_spin_unlock(&s->lock);
	if (is_complete) {
		wf_count(served_at_once);
		finish(me, s, r);
	}
}

static void send_signal(struct wf_server *s, int sig)
{
	int tid = wf_load_relaxed(&s->tid);

	if (tid != 0)
		wf_sys(SYS_tgkill, s->is_process ? tid : wf_os_getpid(), tid,
		       sig);
}

void wf_server_cancel(const struct wf_request *r)
{
	uint32_t number = wf_load_relaxed(&r->server);
	struct wf_server *s;

	if (number == 0) /* not handed over yet */
		return;
	s = &wf_servers[number - 1];
	wf_spin_lock(&s->lock);
	if (s->job == r) { /* SERVER-2 */
		wf_store_relaxed(&s->is_asked, true);
		send_signal(s, WF_SERVER_END_SIGNAL);
	}
	wf_spin_unlock(&s->lock);
}

/* --- processes that end -------------------------------------------------- */

/* What its server has left of r. */
static void recover(struct wf_request *r, bool has_begun, bool is_asked)
{
	int result = has_begun ? wf_serve_lost(r) : -ERESTART;

	r->is_repeated |= has_begun;
	if (result == -ERESTART && is_asked)
		result = -EINTR;
	/* Nobody looks a second time. */
	if (result == -ERESTART && wf_server_push(r, WF_SERVER_WAIT) == 0)
		return;
	deliver(NULL, r, result == -ERESTART ? -ENOSYS : result);
}

int wf_server_lose(struct wf_server *s)
{
	bool has_begun, is_asked, is_complete;
	struct wf_request *r;
	int pid;

	wf_spin_lock(&s->lock);
	pid = wf_load_relaxed(&s->tid);
	wf_store_relaxed(&s->tid, 0);
	if ((wf_load_relaxed(&s->word) & WF_SERVER_GO) == 0)
		wf_count(servers_lost);
	wf_store_relaxed(&s->word, 0);
	is_complete = wf_load_relaxed(&s->status) == WF_SERVER_COMPLETE;
	has_begun = wf_load_relaxed(&s->has_begun);
	is_asked = wf_load_relaxed(&s->is_asked);
	wf_store_relaxed(&s->is_asked, false);
	r = s->job;
	if (!is_complete)
		s->job = NULL;
	wf_spin_unlock(&s->lock);
	if (is_complete) {
		wf_server_finish(NULL, s);
	} else if (r != NULL) {
		put(&unused, s);
		recover(r, has_begun, is_asked);
	}
	return pid;
}

/* How many there are; each is asked to end. */
static uint32_t ask_to_go(int sig)
{
	uint64_t mask = wf_os_close_signals();
	uint32_t nr = 0;

	for (uint32_t i = 0; i < wf_server_count(); i++) {
		struct wf_server *s = &wf_servers[i];

		wf_spin_lock(&s->lock);
		if (s->is_process && wf_load_relaxed(&s->tid) != 0) {
			nr++;
			atomic_fetch_or(&s->word, WF_SERVER_GO);
			send_signal(s, sig);
			wf_os_futex_wake(&s->word, 1);
		}
		wf_spin_unlock(&s->lock);
	}
	wf_os_set_signal_mask(mask);
	return nr;
}

void wf_server_end_processes(void)
{
	/* A call that cannot be interrupted may take longer. */
	enum { NAPS_BEFORE_KILL = 1000, MOST_NAPS = 10000 };
	const struct timespec nap = { 0, 100 * WF_NS_PER_US };
	int naps = 0;

	if (!wf_load_relaxed(&had_process))
		return;
	wf_clone_pass(); /* SERVER-8: no thread is making a server any more */
	while (ask_to_go(naps < NAPS_BEFORE_KILL ? WF_SERVER_END_SIGNAL :
						   SIGKILL) > 0 &&
	       naps++ < MOST_NAPS)
		wf_sys(SYS_nanosleep, &nap, NULL);
}

void wf_server_end(void)
{
	wf_store_relaxed(&is_ending, true);
	wf_server_end_processes();
}

/* --- all servers --------------------------------------------------------- */

uint32_t wf_server_count(void)
{
	return wf_load_acquire(&nr_servers);
}

static struct wf_server_follower follower_of(struct wf_server *s)
{
	return (struct wf_server_follower){
		.tid = wf_load_acquire(&s->tid),
		.is_process = s->is_process,
		.seen = &s->setxid_seen,
		.arrived = &s->setxid_arrived,
	};
}

struct wf_server_follower wf_server_at(uint32_t number)
{
	return follower_of(&wf_servers[number]);
}

void wf_server_signal(uint32_t number, int sig)
{
	struct wf_server *s = &wf_servers[number];

	wf_spin_lock(&s->lock);
	send_signal(s, sig);
	wf_spin_unlock(&s->lock);
}

struct wf_server_follower wf_server_self(const struct wf_thread *t)
{
	struct wf_server *s =
		wf_container_of((struct wf_thread *)t, struct wf_server, self);

	if (s < wf_servers || s >= wf_servers + WF_NR_SERVERS)
		return (struct wf_server_follower){ 0 };
	return follower_of(s);
}

void wf_server_fork_child(void)
{
	/* They were taken in order, in this process and its ancestors. */
	for (uint32_t i = 0; i < WF_NR_SERVERS; i++) {
		char *block = wf_servers[i].block;

		if (block == NULL && i >= wf_load_relaxed(&nr_servers))
			break;
		memset(&wf_servers[i], 0, sizeof(wf_servers[i]));
		wf_servers[i].block = block;
	}
	wf_store_relaxed(&nr_servers, 0);
	wf_store_relaxed(&is_ending, false);
	wf_store_relaxed(&had_process, false);
	wf_store_relaxed(&is_refused, false);
	lists_lock = WF_SPIN_INIT;
	own_lock = WF_SPIN_INIT;
	idle[0] = idle[1] = unused = own = NULL;
	wf_keeper_fork_child();
}

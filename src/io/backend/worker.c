/* SPDX-License-Identifier: MIT */
/*
 * The table of the workers and the life of a job. A pusher takes an idle
 * worker, or starts one, and gives it a request as its job. The worker makes
 * the call, and the completion goes back to the requester.
 *
 * WORKER-1. Only an idle worker gets a request; no request waits for a busy
 *     worker. If all are busy the push is refused and the caller makes the
 *     plain call. That blocks its carrier, and the monitor hands its VP off. So
 *     a request never waits for another request.
 * WORKER-2. worker->job is the request that the worker carries out. It changes
 *     under the worker's lock, and the signal that ends the call is sent under
 *     that lock. So a signal is for that request and no other. A signal that
 *     comes before the call begins is lost, so the requester sends it again
 *     (io/backend/request.c, REQUEST-2).
 * WORKER-3. Before the next job a worker takes a signal that is left of the
 *     last one. If a call ends with EINTR though no requester has asked for
 *     that, the worker repeats it.
 * WORKER-4. A worker is idle from its entry into an idle list until a pusher
 *     takes it out, writes job and, last, word.
 * WORKER-5. A worker runs no thread of the program's and no handler of its. It
 *     follows changes of credentials as carriers do (boot/setxid.c).
 * WORKER-6. The status says which side completes the request: one exchange by
 *     the worker, one by the requester. The thread that takes a COMPLETE job
 *     out under the lock completes the request, once [wf_worker_finish]. This
 *     is the requester that checks, or a worker that is a kernel thread. For an
 *     I/O server it is the supervisor, or the handler of a carrier that the
 *     server has signalled.
 * WORKER-7. An I/O server may be killed between any two instructions. So it
 *     takes no lock. If it dies before its last steps after COMPLETE, the
 *     supervisor does them when it learns of the end (io/backend/supervisor.c).
 * WORKER-8. An I/O server is made under the clone lock, and only if no thread
 *     is about to replace the program or to end it.
 *
 * Rejected: a queue of requests. A worker may be busy for any time with a
 * request that only the next request in the queue can end.
 */
#include "io/backend/worker.h"
#include "io/backend/attempt.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>

#include "base/options.h"
#include "io/backend/ring.h"
#include "io/backend/watcher.h"
#include "io/backend/worker_table.h"
#include "os/clock.h"
#include "os/fallback.h"
#include "os/futex.h"
#include "os/kthread.h"
#include "os/sys.h"
#include "sched/carrier.h"
#include "sched/clone_lock.h"
#include "sched/runtime.h"
#include "trace/counters.h"
#include "wait/closed.h"

struct wf_worker wf_workers[WF_NR_WORKERS];

/*
 * The rows of the table that have ever been in use; never shrinks. The last two
 * rows are for the kernel threads that run for ever: the watcher and the
 * supervisor.
 */
static _Atomic uint32_t nr_workers;
enum { NR_OWN = 2 };

static struct wf_spin lists_lock = WF_SPIN_INIT;
static struct wf_worker *idle[2]; /* [0]: kernel threads, [1]: processes */
static struct wf_worker *unused;  /* workers that do not run */
static struct wf_spin own_lock = WF_SPIN_INIT;

/* The program is about to exit (WORKER-8). */
static _Atomic bool is_ending;
static _Atomic bool had_process;
static _Atomic bool is_refused; /* the kernel refuses to make processes */

/* --- lists --------------------------------------------------------------- */

static void put(struct wf_worker **list, struct wf_worker *s)
{
	wf_spin_lock(&lists_lock, WF_RANK_WORKER_LISTS);
	s->next = *list;
	*list = s;
	wf_spin_unlock(&lists_lock);
}

static struct wf_worker *take(struct wf_worker **list)
{
	struct wf_worker *s;

	wf_spin_lock(&lists_lock, WF_RANK_WORKER_LISTS);
	s = *list;
	if (s != NULL)
		*list = s->next;
	wf_spin_unlock(&lists_lock);
	return s;
}

/* A worker that has never run, of the first `most`, or NULL. */
static struct wf_worker *take_number(uint32_t most)
{
	uint32_t nr = wf_load_relaxed(&nr_workers);

	do {
		if (nr >= most)
			return NULL;
	} while (!wf_cas_acq_rel(&nr_workers, &nr, nr + 1));
	return &wf_workers[nr];
}

/* --- handing over -------------------------------------------------------- */

bool wf_worker_handles(const struct wf_request *r)
{
	return r->op == WF_REQUEST_OP_CALL || r->op == WF_RING_OP_FUTEX_WAIT ||
	       r->op == IORING_OP_CONNECT ||
	       (r->op == IORING_OP_RECVMSG && (r->op_flags & MSG_WAITALL) != 0);
}

/* WORKER-4. r may be done when this returns. False: s has ended. */
static bool give_job(struct wf_worker *s, struct wf_request *r,
		     enum wf_worker_status status)
{
	bool is_there;

	wf_spin_lock(&s->lock, WF_RANK_WORKER);
	is_there = wf_load_relaxed(&s->tid) != 0;
	if (is_there) {
		s->job = r;
		s->vp = wf_self != NULL ? wf_vp_of(wf_self) : NULL;
		s->has_signal = wf_load_relaxed(&s->is_asked);
		wf_store_relaxed(&s->is_asked, false);
		wf_store_relaxed(&s->has_begun, false);
		wf_store_relaxed(&s->status, status);
		wf_store_relaxed(&r->worker, (uint32_t)(s - wf_workers) + 1);
		/* release: the job; pairs with wf_worker_run_jobs. */
		atomic_fetch_or_explicit(&s->word, WF_WORKER_JOB,
					 memory_order_release);
	}
	wf_spin_unlock(&s->lock);
	if (is_there)
		wf_os_futex_wake(&s->word, 1);
	return is_there;
}

static int push_to(bool is_process, struct wf_request *r,
		   enum wf_worker_status status)
{
	struct wf_worker *s;
	int err;

	while ((s = take(&idle[is_process])) != NULL) {
		if (give_job(s, r, status))
			return 0;
		put(&unused, s); /* it was killed */
	}
	s = take(&unused);
	if (s == NULL)
		s = take_number(WF_NR_WORKERS - NR_OWN);
	if (s == NULL)
		return -ENOSYS;
	wf_worker_set_action();
	err = wf_worker_start(s, is_process, wf_worker_run_jobs);
	if (err == 0 && give_job(s, r, status))
		return 0;
	put(&unused, s);
	/* these resources may be free later */
	if (is_process && err < 0 && err != -EAGAIN && err != -ENOMEM) {
		wf_store_relaxed(&is_refused, true);
		wf_fallback_note(WF_FALLBACK_PROCESSES);
	}
	return -ENOSYS;
}

bool wf_worker_may_be_made(void)
{
	return !wf_load_relaxed(&is_ending) &&
	       wf_load_relaxed(&wf_os_execs) == 0;
}

static bool is_for_process(const struct wf_request *r)
{
	return wf_options.io == WF_IO_PROCESS && wf_worker_may_be_made() &&
	       wf_worker_call_is_for_process(r);
}

int wf_worker_push(struct wf_request *r, enum wf_worker_status status)
{
	wf_count(served);
	if (is_for_process(r) && wf_supervisor_start() == 0) {
		wf_store_relaxed(&had_process, true);
		if (push_to(true, r, status) == 0)
			return 0;
	}
	return push_to(false, r, status);
}

bool wf_worker_is_free(void)
{
	bool is_any;

	wf_spin_lock(&lists_lock, WF_RANK_WORKER_LISTS);
	is_any = idle[0] != NULL || idle[1] != NULL || unused != NULL;
	wf_spin_unlock(&lists_lock);
	return is_any || wf_load_relaxed(&nr_workers) < WF_NR_WORKERS - NR_OWN;
}

static struct wf_worker *own; /* the row of a thread that did not start */

int wf_worker_start_thread(void (*run)(void *))
{
	int err;

	wf_spin_lock(&own_lock, WF_RANK_OWN_WORKER);
	if (own == NULL || own >= wf_workers + wf_load_relaxed(&nr_workers))
		own = take_number(WF_NR_WORKERS);
	err = own == NULL ? -EAGAIN : wf_worker_start(own, false, run);
	if (err == 0)
		own = NULL;
	wf_spin_unlock(&own_lock);
	return err;
}

/* --- ending requests ----------------------------------------------------- */

static void deliver(struct wf_thread *me, struct wf_request *r, int result)
{
	if (wf_attempt_serves(r))
		wf_watcher_served(r, result);
	else
		wf_request_complete(me, r, result);
}

/*
 * WORKER-6. Takes the request of a finished job. Returns NULL if the worker has
 * not finished it, or if another thread has taken it.
 */
static struct wf_request *take_job_locked(struct wf_worker *s)
{
	struct wf_request *r = s->job;

	/* acquire: the result; pairs with the worker's exchange. */
	if (wf_load_acquire(&s->status) != WF_WORKER_COMPLETE)
		return NULL;
	s->job = NULL;
	return r;
}

static void finish(struct wf_thread *me, struct wf_worker *s,
		   struct wf_request *r)
{
	int result = s->result;

	put(&idle[s->is_process], s);
	deliver(me, r, result);
}

void wf_worker_finish(struct wf_thread *me, struct wf_worker *s)
{
	struct wf_request *r;

	wf_spin_lock(&s->lock, WF_RANK_WORKER);
	r = take_job_locked(s);
	wf_spin_unlock(&s->lock);
	if (r != NULL)
		finish(me, s, r);
}

void wf_worker_check(struct wf_thread *me, struct wf_request *r)
{
	struct wf_worker *s = &wf_workers[wf_load_relaxed(&r->worker) - 1];
	uint32_t yet = WF_WORKER_YET;
	bool is_complete = false;

	wf_spin_lock(&s->lock, WF_RANK_WORKER);
	/*
	 * s has another job if s was killed and the supervisor has recovered r.
	 * Then r is done, or another worker will report it.
	 */
	if (s->job == r && !wf_cas_acq_rel(&s->status, &yet, WF_WORKER_WAIT))
		is_complete = take_job_locked(s) != NULL;
	wf_spin_unlock(&s->lock);
	if (is_complete) {
		wf_count(served_at_once);
		finish(me, s, r);
	}
}

static void send_signal(struct wf_worker *s, int sig)
{
	int tid = wf_load_relaxed(&s->tid);

	if (tid != 0)
		wf_sys(SYS_tgkill, s->is_process ? tid : wf_os_getpid(), tid,
		       sig);
}

void wf_worker_cancel(const struct wf_request *r)
{
	uint32_t number = wf_load_relaxed(&r->worker);
	struct wf_worker *s;

	if (number == 0) /* not handed over yet */
		return;
	s = &wf_workers[number - 1];
	wf_spin_lock(&s->lock, WF_RANK_WORKER);
	if (s->job == r) { /* WORKER-2 */
		wf_store_relaxed(&s->is_asked, true);
		send_signal(s, WF_WORKER_END_SIGNAL);
	}
	wf_spin_unlock(&s->lock);
}

/* --- processes that end -------------------------------------------------- */

/* The worker of r was killed: runs r again, or completes it with an error. */
static void recover(struct wf_request *r, bool has_begun, bool is_asked)
{
	int result = has_begun ? wf_worker_call_lost(r) : -ERESTART;

	r->is_repeated |= has_begun;
	if (result == -ERESTART && is_asked)
		result = -EINTR;
	/* the requester has checked already: WAIT */
	if (result == -ERESTART && wf_worker_push(r, WF_WORKER_WAIT) == 0)
		return;
	deliver(NULL, r, result == -ERESTART ? -ENOSYS : result);
}

int wf_worker_lose(struct wf_worker *s)
{
	bool has_begun, is_asked, is_complete;
	struct wf_request *r;
	int pid;

	wf_spin_lock(&s->lock, WF_RANK_WORKER);
	pid = wf_load_relaxed(&s->tid);
	wf_store_relaxed(&s->tid, 0);
	if ((wf_load_relaxed(&s->word) & WF_WORKER_GO) == 0)
		wf_count(servers_lost);
	wf_store_relaxed(&s->word, 0);
	is_complete = wf_load_relaxed(&s->status) == WF_WORKER_COMPLETE;
	has_begun = wf_load_relaxed(&s->has_begun);
	is_asked = wf_load_relaxed(&s->is_asked);
	wf_store_relaxed(&s->is_asked, false);
	r = s->job;
	if (!is_complete)
		s->job = NULL;
	wf_spin_unlock(&s->lock);
	if (is_complete) {
		wf_worker_finish(NULL, s);
	} else if (r != NULL) {
		put(&unused, s);
		recover(r, has_begun, is_asked);
	}
	return pid;
}

/* Asks all I/O servers to end. Returns how many run. */
static uint32_t ask_to_go(int sig)
{
	uint64_t mask = wf_os_close_signals();
	uint32_t nr = 0;

	for (uint32_t i = 0; i < wf_worker_count(); i++) {
		struct wf_worker *s = &wf_workers[i];

		wf_spin_lock(&s->lock, WF_RANK_WORKER);
		if (s->is_process && wf_load_relaxed(&s->tid) != 0) {
			nr++;
			atomic_fetch_or(&s->word, WF_WORKER_GO);
			send_signal(s, sig);
			wf_os_futex_wake(&s->word, 1);
		}
		wf_spin_unlock(&s->lock);
	}
	wf_os_set_signal_mask(mask);
	return nr;
}

void wf_worker_end_processes(void)
{
	/* I/O servers get 0.1 s to end by WF_WORKER_END_SIGNAL. Then they are
	 * killed, and this waits for 0.9 s more: a system call that cannot be
	 * interrupted may take longer. */
	enum { NAPS_BEFORE_KILL = 1000, MOST_NAPS = 10000 };
	const struct timespec nap = { 0, 100 * WF_NS_PER_US };
	int naps = 0;

	if (!wf_load_relaxed(&had_process))
		return;
	wf_clone_pass(); /* WORKER-8: no thread is making a worker any more */
	while (ask_to_go(naps < NAPS_BEFORE_KILL ? WF_WORKER_END_SIGNAL :
						   SIGKILL) > 0 &&
	       naps++ < MOST_NAPS)
		wf_sys(SYS_nanosleep, &nap, NULL);
}

void wf_worker_end(void)
{
	wf_store_relaxed(&is_ending, true);
	wf_worker_end_processes();
}

/* --- all workers --------------------------------------------------------- */

uint32_t wf_worker_count(void)
{
	return wf_load_acquire(&nr_workers);
}

static struct wf_worker_follower follower_of(struct wf_worker *s)
{
	return (struct wf_worker_follower){
		.tid = wf_load_acquire(&s->tid),
		.is_process = s->is_process,
		.seen = &s->setxid_seen,
		.arrived = &s->setxid_arrived,
	};
}

struct wf_worker_follower wf_worker_at(uint32_t number)
{
	return follower_of(&wf_workers[number]);
}

void wf_worker_signal(uint32_t number, int sig)
{
	struct wf_worker *s = &wf_workers[number];

	wf_spin_lock(&s->lock, WF_RANK_WORKER);
	send_signal(s, sig);
	wf_spin_unlock(&s->lock);
}

struct wf_worker_follower wf_worker_self(const struct wf_thread *t)
{
	struct wf_worker *s =
		wf_container_of((struct wf_thread *)t, struct wf_worker, self);

	if (s < wf_workers || s >= wf_workers + WF_NR_WORKERS)
		return (struct wf_worker_follower){ 0 };
	return follower_of(s);
}

void wf_worker_fork_child(void)
{
	/* numbers were given out in order, here and in each ancestor */
	for (uint32_t i = 0; i < WF_NR_WORKERS; i++) {
		char *block = wf_workers[i].block;

		if (block == NULL && i >= wf_load_relaxed(&nr_workers))
			break;
		memset(&wf_workers[i], 0, sizeof(wf_workers[i]));
		wf_workers[i].block = block;
	}
	wf_store_relaxed(&nr_workers, 0);
	wf_store_relaxed(&is_ending, false);
	wf_store_relaxed(&had_process, false);
	wf_store_relaxed(&is_refused, false);
	wf_fallback_forget(WF_FALLBACK_PROCESSES);
	lists_lock = WF_SPIN_INIT;
	own_lock = WF_SPIN_INIT;
	idle[0] = idle[1] = unused = own = NULL;
	wf_supervisor_fork_child();
}

/*
 * S1. A request is handed to a server that has nothing to do; none waits for
 *     its turn. With NR_SERVERS busy the push is refused and the caller makes
 *     the plain call, which blocks its carrier: the monitor sees to its VP. So
 *     what one request waits for never keeps another from being served.
 * S2. server->job is the request that it is at. It changes, and the signal that
 *     ends the call is sent, under the server's lock: a signal is for that
 *     request and no other. One that comes before the call begins is lost, so
 *     the asker asks again (io/request.c, X2).
 * S3. A server that was asked takes what is left of the signal before the next
 *     request. A call that ends with EINTR though nobody asked is made again.
 * S4. A server has nothing to do from when it is in the idle list until a
 *     pusher takes it out, writes job and, last, word.
 * S5. No thread of the program's runs on a server, nor a handler of its. It
 *     follows changes of credentials as carriers do (boot/setxid.c).
 *
 * Rejected: a queue of requests. A server may be busy for as long as it likes
 * with one that waits for what the next in the queue would do.
 */
#include "io/server.h"

#include <errno.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>

#include "arch/arch.h"
#include "base/list.h"
#include "base/spin.h"
#include "io/call.h"
#include "io/ring.h"
#include "io/watch.h"
#include "libc/tcb.h"
#include "os/futex.h"
#include "os/kthread.h"
#include "os/mem.h"
#include "os/sys.h"
#include "sched/carrier.h"
#include "sched/preempt.h"

enum {
	/* Each takes two pages and its kernel stack: 3 MiB in all. */
	NR_SERVERS = 128, /* the last is for wf_server_start_own */
	STACK_BYTES = 64 * 1024,
	/* libc refuses it to programs; its own use, by pthread_cancel, is
	 * weft's. Debuggers pass it silently. */
	END_SIGNAL = 32,
};
#define END_BIT (1ULL << (END_SIGNAL - 1))

struct server {
	struct wf_thread self; /* wf_self there; in_runtime is always 1 */
	_Atomic int tid;       /* 0 until it has started */
	_Atomic uint32_t setxid_seen;
	void (*run)(void *);
	char *block; /* TLS and stack; kept by a fork child */

	struct wf_spin lock;
	struct wf_request *job; /* S2; lock */
	bool is_asked;		/* to end the job; lock */

	_Atomic uint32_t word;	  /* futex: 1 with a job to begin (S4) */
	struct server *next_idle; /* idle_lock */
};

static struct server servers[NR_SERVERS];
static _Atomic uint32_t nr_servers; /* numbers given out; never shrinks */

static struct wf_spin idle_lock = WF_SPIN_INIT;
static struct server *idle;

/* --- with nothing to do -------------------------------------------------- */

static void put_idle(struct server *s)
{
	wf_spin_lock(&idle_lock);
	s->next_idle = idle;
	idle = s;
	wf_spin_unlock(&idle_lock);
}

/* One that could not be started is to be tried after all others. */
static void put_idle_last(struct server *s)
{
	struct server **end = &idle;

	wf_spin_lock(&idle_lock);
	while (*end != NULL)
		end = &(*end)->next_idle;
	s->next_idle = NULL;
	*end = s;
	wf_spin_unlock(&idle_lock);
}

static struct server *take_idle(void)
{
	struct server *s;

	wf_spin_lock(&idle_lock);
	s = idle;
	if (s != NULL)
		idle = s->next_idle;
	wf_spin_unlock(&idle_lock);
	return s;
}

/* --- serving ------------------------------------------------------------- */

static int call(const struct wf_request *r)
{
	int fd = wf_request_fd(r);
	uint32_t done = (uint32_t)r->nr_bytes;

	switch (r->op) {
	case WF_RING_OP_FUTEX_WAIT:
		return (int)wf_sys(SYS_futex, r->addr, FUTEX_WAIT_BITSET,
				   r->off, NULL, NULL, r->addr3);
	case IORING_OP_CONNECT:
		return (int)wf_sys(SYS_connect, fd, r->addr, r->off);
	case IORING_OP_ACCEPT:
		return (int)wf_sys(SYS_accept4, fd, r->addr, r->off,
				   r->op_flags);
	case IORING_OP_RECVMSG:
		return (int)wf_sys(SYS_recvmsg, fd, r->addr, r->op_flags);
	case IORING_OP_RECV: /* what the watcher has left */
		return (int)wf_sys(SYS_recvfrom, fd, r->addr + done,
				   r->len - done, r->op_flags);
	case IORING_OP_SENDMSG:
		return (int)wf_sys(SYS_sendmsg, fd, r->addr,
				   r->op_flags | MSG_NOSIGNAL);
	case IORING_OP_READV:
		return (int)wf_sys(SYS_readv, fd, r->addr, r->len);
	case WF_REQUEST_OP_CALL:
		return (int)wf_call_make((struct wf_call *)r->addr);
	default:
		return -EINVAL;
	}
}

/* S3 */
static void take_signal(void)
{
	const struct timespec now = { 0, 0 };
	uint64_t end = END_BIT;

	wf_os_set_signal_mask(~WF_PREEMPT_BIT);
	wf_sys(SYS_rt_sigtimedwait, &end, NULL, &now, 8);
	wf_os_set_signal_mask(~(WF_PREEMPT_BIT | END_BIT));
}

/* True if the call's end is the request's; then the server has no job. */
static bool end_job(struct server *s, int result, bool *ret_was_asked)
{
	bool is_over;

	wf_spin_lock(&s->lock);
	is_over = result != -EINTR || s->is_asked;
	*ret_was_asked = s->is_asked;
	if (is_over) {
		s->job = NULL;
		s->is_asked = false;
	}
	wf_spin_unlock(&s->lock);
	return is_over;
}

static void serve(struct server *s)
{
	struct wf_request *r = s->job;
	bool was_asked;
	int result;

	do {
		result = call(r);
	} while (!end_job(s, result, &was_asked));
	if (was_asked)
		take_signal();
	wf_store_relaxed(&s->word, 0);
	put_idle(s);
	if (wf_watch_serves(r))
		wf_watch_served(r, result);
	else
		wf_request_complete(NULL, r, result);
}

static void run_jobs(void *arg)
{
	struct server *s = wf_container_of(wf_self, struct server, self);

	wf_os_set_signal_mask(~(WF_PREEMPT_BIT | END_BIT));
	for (;;) {
		/* acquire: the job; pairs with give_job. */
		while (wf_load_acquire(&s->word) == 0)
			wf_os_futex_wait(&s->word, 0, WF_OS_FOREVER);
		serve(s);
	}
}

/* --- starting ------------------------------------------------------------ */

static void on_end(int sig)
{
}

/* Without SA_RESTART: it is to end calls. */
static void set_action(void)
{
	struct {
		void (*handler)(int);
		unsigned long flags;
		void (*restorer)(void);
		uint64_t mask;
	} action = { on_end, 0x04000000, wf_arch_sigreturn, UINT64_MAX };

	wf_sys(SYS_rt_sigaction, END_SIGNAL, &action, NULL, 8);
}

static void start_on(void *arg)
{
	struct server *s = arg;

	wf_os_set_signal_mask(~WF_PREEMPT_BIT);
	s->run(NULL);
}

/* A server that has not started, of the first `most`, or NULL. */
static struct server *take_number(uint32_t most)
{
	uint32_t nr = wf_load_relaxed(&nr_servers);

	do {
		if (nr >= most)
			return NULL;
	} while (!wf_cas_acq_rel(&nr_servers, &nr, nr + 1));
	return &servers[nr];
}

static int start(struct server *s, void (*run)(void *))
{
	size_t tls = wf_align_up(wf_tcb_minimal_bytes(), WF_PAGE);
	uint64_t mask;
	uintptr_t tp;
	int tid;

	if (s->block == NULL)
		s->block = wf_os_reserve(tls + STACK_BYTES);
	if (s->block == NULL)
		return -ENOMEM;
	s->self.kind = WF_THREAD_FOREIGN;
	wf_store_relaxed(&s->self.in_runtime, 1);
	s->run = run;
	memset(s->block, 0, tls);
	tp = wf_tcb_minimal_make(s->block, &s->self);
	/* As carriers are made: credentials reach it or are inherited. */
	mask = wf_os_get_signal_mask();
	wf_carrier_clone_lock();
	wf_os_set_signal_mask(UINT64_MAX);
	wf_store_relaxed(&s->setxid_seen, wf_carrier_setxid_generation);
	tid = wf_os_kthread_start(start_on, s, s->block + tls + STACK_BYTES,
				  tp);
	if (tid > 0)
		wf_store_release(&s->tid, tid);
	wf_os_set_signal_mask(mask);
	wf_carrier_clone_unlock();
	return tid < 0 ? tid : 0;
}

int wf_server_start_own(void (*run)(void *))
{
	static struct server *own; /* which could not be started */
	int err;

	if (own == NULL || own >= servers + wf_load_relaxed(&nr_servers))
		own = take_number(NR_SERVERS);
	if (own == NULL)
		return -EAGAIN;
	err = start(own, run);
	if (err == 0)
		own = NULL;
	return err;
}

/* --- handing over -------------------------------------------------------- */

bool wf_server_serves(const struct wf_request *r)
{
	return r->op == WF_REQUEST_OP_CALL || r->op == WF_RING_OP_FUTEX_WAIT ||
	       r->op == IORING_OP_CONNECT ||
	       (r->op == IORING_OP_RECVMSG && (r->op_flags & MSG_WAITALL) != 0);
}

/* S4. From here on r may be over. */
static void give_job(struct server *s, struct wf_request *r)
{
	wf_store_relaxed(&r->server, (uint32_t)(s - servers) + 1);
	wf_spin_lock(&s->lock);
	s->job = r;
	wf_spin_unlock(&s->lock);
	/* release: the job; pairs with run_jobs. */
	wf_store_release(&s->word, 1);
}

int wf_server_push(struct wf_request *r)
{
	struct server *s = take_idle();

	if (s != NULL && wf_load_relaxed(&s->tid) != 0) {
		give_job(s, r);
		wf_os_futex_wake(&s->word, 1);
		return 0;
	}
	if (s == NULL)
		s = take_number(NR_SERVERS - 1);
	if (s == NULL)
		return -ENOSYS;
	set_action();
	if (start(s, run_jobs) < 0) {
		put_idle_last(s);
		return -ENOSYS;
	}
	give_job(s, r);
	wf_os_futex_wake(&s->word, 1);
	return 0;
}

bool wf_server_is_free(void)
{
	bool is_any;

	wf_spin_lock(&idle_lock);
	is_any = idle != NULL;
	wf_spin_unlock(&idle_lock);
	return is_any || wf_load_relaxed(&nr_servers) < NR_SERVERS - 1;
}

void wf_server_cancel(const struct wf_request *r)
{
	uint32_t number = wf_load_relaxed(&r->server);
	struct server *s = &servers[number - 1];

	if (number == 0) /* not handed over yet */
		return;
	wf_spin_lock(&s->lock);
	if (s->job == r) { /* S2 */
		s->is_asked = true;
		wf_os_tgkill(wf_load_relaxed(&s->tid), END_SIGNAL);
	}
	wf_spin_unlock(&s->lock);
}

/* --- all servers --------------------------------------------------------- */

uint32_t wf_server_count(void)
{
	return wf_load_acquire(&nr_servers);
}

int wf_server_at(uint32_t number, _Atomic uint32_t **ret_seen)
{
	*ret_seen = &servers[number].setxid_seen;
	return wf_load_acquire(&servers[number].tid);
}

_Atomic uint32_t *wf_server_seen(const struct wf_thread *t)
{
	struct server *s =
		wf_container_of((struct wf_thread *)t, struct server, self);

	return s >= servers && s < servers + NR_SERVERS ? &s->setxid_seen :
							  NULL;
}

void wf_server_fork_child(void)
{
	/* They were taken in order, in this process and its ancestors. */
	for (uint32_t i = 0; i < NR_SERVERS; i++) {
		char *block = servers[i].block;

		if (block == NULL && i >= wf_load_relaxed(&nr_servers))
			break;
		memset(&servers[i], 0, sizeof(servers[i]));
		servers[i].block = block;
	}
	wf_store_relaxed(&nr_servers, 0);
	idle_lock = WF_SPIN_INIT;
	idle = NULL;
}

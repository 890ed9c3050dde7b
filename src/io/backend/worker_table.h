/* SPDX-License-Identifier: MIT */
/*
 * The declarations that the files of the I/O workers share: the table
 * (worker.c), the code that runs on a worker (worker_run.c, worker_call.c), and
 * the supervisor of the I/O servers (supervisor.c).
 */
#ifndef WEFT_IO_BACKEND_WORKER_TABLE_H
#define WEFT_IO_BACKEND_WORKER_TABLE_H

#include "base/atomic.h"
#include "base/spin.h"
#include "io/backend/worker.h"

enum {
	/* Each takes two pages and its kernel stack: 3 MiB in all. */
	WF_NR_WORKERS = 128,
	/*
	 * libc does not let programs use this signal. libc itself uses it for
	 * pthread_cancel, which weft replaces. Debuggers pass it silently.
	 */
	WF_WORKER_END_SIGNAL = 32,
};

/* Bits of wf_worker.word. */
enum {
	WF_WORKER_JOB = 1, /* there is a job to begin (WORKER-4) */
	WF_WORKER_GO = 2,  /* the worker has to end */
};

/* The list of robust futexes, which the kernel reads when a process ends. */
struct wf_robust {
	struct wf_robust *next;
};
struct wf_robust_head {
	struct wf_robust list;
	long offset;
	struct wf_robust *pending;
};

struct wf_worker {
	/* wf_self of the worker; in_runtime is always 1 */
	struct wf_thread self;
	/* 0: it does not run; written under the lock, or by its starter */
	_Atomic int tid;
	_Atomic uint32_t setxid_seen, setxid_arrived;
	void (*run)(void *);
	char *block;	 /* TLS and stack; a fork child uses it again */
	bool is_process; /* written by its starter */

	struct wf_spin lock;
	struct wf_request *job; /* WORKER-2; under the lock */
	_Atomic bool is_asked;	/* to end the job; written under the lock */
	/* A signal of the previous job is still pending; under the lock. */
	bool has_signal;
	/*
	 * the VP of the requester, or NULL; under the lock. An I/O server reads
	 * it until it has reported.
	 */
	struct wf_vp *vp;

	_Atomic uint32_t word;	 /* futex; WF_WORKER_JOB, ... */
	_Atomic uint32_t status; /* of the job; enum wf_worker_status */
	/* the call of the job; written by the worker */
	_Atomic bool has_begun;
	/* of the job; the worker writes it before COMPLETE */
	int result;
	struct wf_worker *next; /* under lists_lock */

	/* The fields from here on are for I/O servers. */
	/* futex: the result of wf_worker_clone; SUPERVISOR-4 in supervisor.c */
	_Atomic int made_pid;
	_Atomic int start_word; /* futex: 1: it runs, -Exxx: it cannot */
	int main_pid;		/* the pid of the program */
	struct wf_robust_head robust_head;
	struct wf_robust robust;
	/* its tid; the kernel marks it when the process ends */
	_Atomic uint32_t owner;
};

extern struct wf_worker wf_workers[WF_NR_WORKERS];

/*
 * worker_run.c. Starts s, which no other thread uses. Returns 0 or -Exxx. If a
 * process cannot be made, the caller may try a kernel thread.
 */
int wf_worker_start(struct wf_worker *s, bool is_process, void (*run)(void *));
/*
 * Makes the kernel thread or process of s, which wf_worker_start has set up.
 * Returns its id or -Exxx. A process dies with the kernel thread that has
 * called this.
 */
int wf_worker_clone(struct wf_worker *s);
/* The loop of a worker that carries out requests; arg is the worker. */
void wf_worker_run_jobs(void *arg);
/* Sets the handler of WF_WORKER_END_SIGNAL. */
void wf_worker_set_action(void);

/* worker_call.c. Makes the call of r, on a worker. Returns its result. */
int wf_worker_call(const struct wf_request *r);
/*
 * Returns true if the call has the same effect when another process makes it,
 * so that an I/O server may.
 */
bool wf_worker_call_is_for_process(const struct wf_request *r);
/*
 * Returns true if the result depends on resource limits of the calling process.
 */
bool wf_worker_call_heeds_limits(const struct wf_request *r);
/*
 * The result of a call during which its worker was killed. -ERESTART: the call
 * may be made again.
 */
int wf_worker_call_lost(const struct wf_request *r);

/*
 * worker.c. If the job of s is complete, completes its request and puts s into
 * the idle list. On a kernel thread of this process.
 */
void wf_worker_finish(struct wf_thread *me, struct wf_worker *s);
/*
 * Returns true if an I/O server may be made (WORKER-8). The caller holds the
 * clone lock, except where the answer is only a hint.
 */
bool wf_worker_may_be_made(void);
/*
 * The process of s has ended: cleans up, and recovers its job. Returns its pid,
 * or 0 if another thread has cleaned up.
 */
int wf_worker_lose(struct wf_worker *s);

/*
 * supervisor.c. Starts the supervisor if it does not run. Returns 0 or -Exxx.
 */
int wf_supervisor_start(void);
/* Returns true if the caller is the supervisor. */
bool wf_supervisor_is_self(void);
/*
 * Has the supervisor call wf_worker_clone, and returns its result. On any
 * kernel thread of weft's.
 */
int wf_supervisor_clone(struct wf_worker *s);
/* Makes the supervisor run its loop once more, if it runs. Any thread. */
void wf_supervisor_wake(void);
/* The futex word that the kernel clears when an I/O server ends. */
_Atomic uint32_t *wf_supervisor_word(void);
/*
 * The job of s is complete: has its completion reported. s is the calling
 * process.
 */
void wf_supervisor_notice(const struct wf_worker *s);
/* s, the calling process, waits for a job. May return early. */
void wf_supervisor_rest(struct wf_worker *s);
void wf_supervisor_fork_child(void);

#endif

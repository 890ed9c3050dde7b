/* SPDX-License-Identifier: MIT */
/*
 * What the files of the I/O workers share: the table (worker.c), what runs on a
 * worker (worker_run.c, worker_call.c), and the supervisor of the I/O servers
 * (supervisor.c).
 */
#ifndef WEFT_IO_WORKER_TABLE_H
#define WEFT_IO_WORKER_TABLE_H

#include "base/atomic.h"
#include "base/spin.h"
#include "io/worker.h"

enum {
	/* Each takes two pages and its kernel stack: 3 MiB in all. */
	WF_NR_WORKERS = 128,
	/* libc refuses it to programs; its own use, by pthread_cancel, is
	 * weft's. Debuggers pass it silently. */
	WF_WORKER_END_SIGNAL = 32,
};

/* Bits of wf_worker.word. */
enum {
	WF_WORKER_JOB = 1, /* there is a job to begin (WORKER-4) */
	WF_WORKER_GO = 2,  /* it is to end */
};

/* As the kernel walks it when a process ends. */
struct wf_robust {
	struct wf_robust *next;
};
struct wf_robust_head {
	struct wf_robust list;
	long offset;
	struct wf_robust *pending;
};

struct wf_worker {
	struct wf_thread self; /* wf_self there; in_runtime is always 1 */
	_Atomic int tid;       /* 0: it does not run; lock, or its starter */
	_Atomic uint32_t setxid_seen, setxid_arrived;
	void (*run)(void *);
	char *block;	 /* TLS and stack; kept by a fork child */
	bool is_process; /* starter */

	struct wf_spin lock;
	struct wf_request *job; /* WORKER-2; lock */
	_Atomic bool is_asked;	/* to end the job; written under the lock */
	bool has_signal;	/* of the job before: to be taken; lock */
	struct wf_vp *vp;	/* that the job came from, or NULL; lock, and
				 * the process until it has reported */

	_Atomic uint32_t word;	 /* futex; WF_WORKER_JOB, ... */
	_Atomic uint32_t status; /* of the job; enum wf_worker_status */
	_Atomic bool has_begun;	 /* the job's call; the worker */
	int result;		 /* of the job; the worker, before COMPLETE */
	struct wf_worker *next;	 /* lists_lock */

	/* Of a process. */
	/* futex: as wf_worker_clone; supervisor.c, SUPERVISOR-4 */
	_Atomic int made_pid;
	_Atomic int start_word; /* futex: 1 it runs, -Exxx it cannot */
	int main_pid;		/* the program's */
	struct wf_robust_head robust_head;
	struct wf_robust robust;
	_Atomic uint32_t owner; /* its tid; marked by the kernel at its end */
};

extern struct wf_worker wf_workers[WF_NR_WORKERS];

/*
 * worker_run.c. Starts s, which is nobody's else. A process that cannot be made
 * is -Exxx: try a kernel thread.
 */
int wf_worker_start(struct wf_worker *s, bool is_process, void (*run)(void *));
/*
 * Makes the kernel thread or the process of s, which wf_worker_start has set
 * up: its id or -Exxx. A process dies with the calling kernel thread.
 */
int wf_worker_clone(struct wf_worker *s);
/* What a worker runs that is for requests; arg is the worker. */
void wf_worker_run_jobs(void *arg);
/* The disposition of the signal that ends calls. */
void wf_worker_set_action(void);

/* worker_call.c. Makes the call of r; on a worker. */
int wf_worker_call(const struct wf_request *r);
/* Is it the same, made by another process of the program's? */
bool wf_worker_call_is_for_process(const struct wf_request *r);
/* Does its result depend on limits of the process that makes it? */
bool wf_worker_call_heeds_limits(const struct wf_request *r);
/*
 * The result of a call during which its worker was killed; -ERESTART if it may
 * be made once more.
 */
int wf_worker_call_lost(const struct wf_request *r);

/*
 * worker.c. The job of s, if it is complete, is completed and s has nothing to
 * do. On a kernel thread of this process.
 */
void wf_worker_finish(struct wf_thread *me, struct wf_worker *s);
/* May a process be made? Asked under the clone lock (WORKER-8). */
bool wf_worker_may_be_made(void);
/* The process of s has ended, and the caller cleans up after it. Its pid. */
int wf_worker_lose(struct wf_worker *s);

/* supervisor.c. Starts the supervisor if there is none: 0 or -Exxx. */
int wf_supervisor_start(void);
/* Is the caller the supervisor? */
bool wf_supervisor_is_self(void);
/* As wf_worker_clone, by the supervisor. On any kernel thread of weft's. */
int wf_supervisor_clone(struct wf_worker *s);
/* It goes through its loop again, if there is one. Any thread. */
void wf_supervisor_wake(void);
/* The word that the kernel clears when a process ends. */
_Atomic uint32_t *wf_supervisor_word(void);
/* The job of s, the calling process, is complete and is to be reported. */
void wf_supervisor_notice(const struct wf_worker *s);
/* s, the calling process, waits for something to do; it may return early. */
void wf_supervisor_rest(struct wf_worker *s);
void wf_supervisor_fork_child(void);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * I/O workers: they carry out requests by the plain system call, one at a time.
 * weft makes them when they are needed.
 *
 * A worker is a kernel thread or, with --io process, an I/O server. This is a
 * process that shares address space, descriptors, file locks and the file
 * system's root with this process. No worker runs a thread of the program's.
 *
 *     if (wf_worker_push(r, WF_WORKER_YET) == -ENOSYS)
 *             ...                 all workers are busy, and no more are made
 *     ...
 *     wf_worker_check(me, r);     completes r, or has the completion reported
 */
#ifndef WEFT_IO_BACKEND_WORKER_H
#define WEFT_IO_BACKEND_WORKER_H

#include <stdbool.h>

#include "io/backend/request.h"
#include "sched/thread.h"

/*
 * The status of a request. The names are those of PTL-N, a thread library of
 * the papers (docs/guide/papers.md):
 *
 *     YET -> WAIT         [wf_worker_check] the requester waits for a report
 *     YET -> COMPLETE     the worker is done; the requester checks, and
 *                         no report is needed
 *     WAIT -> COMPLETE    the worker is done and reports it
 */
enum wf_worker_status {
	WF_WORKER_YET,
	WF_WORKER_WAIT,
	WF_WORKER_COMPLETE,
};

/* Returns true if the request goes straight to a worker. */
bool wf_worker_handles(const struct wf_request *r);

/*
 * Hands r to an idle worker or to a new one. status is WF_WORKER_YET if the
 * caller checks later, and WF_WORKER_WAIT if it does not. Returns 0; or
 * -ENOSYS, and nothing has been done. in_runtime is set, or the caller is a
 * kernel thread of weft's.
 */
int wf_worker_push(struct wf_request *r, enum wf_worker_status status);

/*
 * The caller has pushed r with WF_WORKER_YET and is about to wait. Completes r
 * if the worker is done; otherwise the worker's report completes it. me is the
 * caller, with in_runtime set.
 */
void wf_worker_check(struct wf_thread *me, struct wf_request *r);

/* Returns true if a push would most likely succeed now. */
bool wf_worker_is_free(void);

/* Cancels a request that was pushed. Call it as wf_worker_push. */
void wf_worker_cancel(const struct wf_request *r);

/*
 * Starts a kernel thread that runs `run`, which does not return. All signals
 * are blocked but that for changes of credentials. Returns 0 or -Exxx.
 */
int wf_worker_start_thread(void (*run)(void *));

/*
 * wf_worker_end_processes: exec is about to replace the program. Ends the I/O
 * servers, which would keep its files open, and returns when they have ended.
 * Kernel threads carry out later requests until exec has failed (wf_os_execs).
 * The caller needs no VP; in_runtime is 0.
 *
 * wf_worker_end does the same when the process is about to exit.
 */
void wf_worker_end_processes(void);
void wf_worker_end(void);

/*
 * Ends all workers and the kernel threads of wf_worker_start_thread, at a time
 * when there is no request. Returns false if some still run after seconds. The
 * workers that have ended are made again when they are needed. Call it only
 * while no other thread of the program's exists, with in_runtime 0 and all
 * signals of the program's blocked.
 */
bool wf_worker_dismiss(void);
/*
 * A function that runs for ever calls this at the top of its loop. If the
 * caller is dismissed, its kernel thread ends here.
 */
void wf_worker_check_dismissal(void);

/*
 * The part of a worker in changes of credentials. wf_worker_at gives the
 * entries of all workers ever made, 0 to count - 1. A worker follows a change
 * in its handler of the signal, and then writes the change's number to `seen`.
 */
struct wf_worker_follower {
	int tid; /* 0: it does not run */
	bool is_process;
	_Atomic uint32_t *seen;	   /* the last change that it followed */
	_Atomic uint32_t *arrived; /* the last change for which it waits */
};
uint32_t wf_worker_count(void);
struct wf_worker_follower wf_worker_at(uint32_t number);
void wf_worker_signal(uint32_t number, int sig);
/* The entry of the calling worker t; tid is 0 if t is no worker. */
struct wf_worker_follower wf_worker_self(const struct wf_thread *t);
/*
 * The calling I/O server has changed its credentials, by which the kernel
 * clears its parent-death signal: sets that signal again.
 */
void wf_worker_changed(void);

void wf_worker_fork_child(void);

/*
 * Completes the requests that I/O servers have reported by the preemption
 * signal. The handler of that signal calls it. t is NULL where no thread may be
 * preempted.
 */
void wf_supervisor_finish_marked(struct wf_thread *t);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * I/O workers: they carry out requests by the plain system call, one at a time,
 * and are made when they are needed. A worker is a kernel thread or, with --io
 * process, a process of its own: an I/O server, which shares address space,
 * descriptors, locks on files and the file system's root with this process. No
 * worker runs a thread of the program's.
 *
 *     if (wf_worker_push(r, WF_WORKER_YET) == -ENOSYS)
 *             ...                 all are busy and there are enough of them
 *     ...
 *     wf_worker_check(me, r);     completes r, or has the completion reported
 */
#ifndef WEFT_IO_WORKER_H
#define WEFT_IO_WORKER_H

#include <stdbool.h>

#include "io/request.h"
#include "sched/thread.h"

/*
 * How far a request has come, in PTL-N's words:
 *
 *     YET -> WAIT         [wf_worker_check] its completion is to be reported
 *     YET -> COMPLETE     the worker is done; the requester checks, and
 *                         no report is needed
 *     WAIT -> COMPLETE    the worker is done and reports it
 */
enum wf_worker_status {
	WF_WORKER_YET,
	WF_WORKER_WAIT,
	WF_WORKER_COMPLETE,
};

/* Does the request go straight to a worker? */
bool wf_worker_handles(const struct wf_request *r);

/*
 * Hands r to a worker that has nothing to do, or to a new one. The status is
 * WF_WORKER_YET if the caller checks later, and WF_WORKER_WAIT if it does not.
 * 0, or -ENOSYS: nothing has been done. in_runtime set, or on a kernel thread
 * of weft's.
 */
int wf_worker_push(struct wf_request *r, enum wf_worker_status status);

/*
 * The caller, which has pushed r with WF_WORKER_YET, is about to wait:
 * completes r if the worker is done; else it is completed later. me is the
 * caller, in_runtime set.
 */
void wf_worker_check(struct wf_thread *me, struct wf_request *r);

/* Would a push succeed just now, as far as is known? */
bool wf_worker_is_free(void);

/* Asks for the early end of a request that was pushed; as wf_worker_push. */
void wf_worker_cancel(const struct wf_request *r);

/*
 * Starts a kernel thread that runs `run` for ever; all signals but that of
 * changes of credentials are blocked. 0 or -Exxx.
 */
int wf_worker_start_thread(void (*run)(void *));

/*
 * The program is about to be replaced: I/O servers go, which keep its files
 * open, and kernel threads serve what is left until exec has failed
 * (wf_os_execs). Returns when they are gone. Needs no VP. in_runtime 0.
 * wf_worker_end: it is about to exit.
 */
void wf_worker_end_processes(void);
void wf_worker_end(void);

/*
 * All workers end, and the kernel threads of wf_worker_start_thread, at a time
 * when there is no request. False: some still run, after seconds; those that
 * have ended are made again when they are needed. Only where no other thread of
 * the program's lives. in_runtime 0, all signals of the program's blocked.
 */
bool wf_worker_dismiss(void);
/* What runs for ever asks this at the top of its loop. It does not return if
 * the caller is dismissed. */
void wf_worker_check_dismissal(void);

/*
 * For changes of credentials: all workers ever made, 0 .. count - 1. Each
 * follows a change by itself when it gets the signal, and writes so.
 */
struct wf_worker_follower {
	int tid; /* 0: it is not there */
	bool is_process;
	_Atomic uint32_t *seen;	   /* number of the last change it followed */
	_Atomic uint32_t *arrived; /* number of the last for which it waits */
};
uint32_t wf_worker_count(void);
struct wf_worker_follower wf_worker_at(uint32_t number);
void wf_worker_signal(uint32_t number, int sig);
/* The calling worker's own; tid 0 if the caller, t, is none. */
struct wf_worker_follower wf_worker_self(const struct wf_thread *t);
/* An I/O server has changed its credentials: what it loses by that. */
void wf_worker_changed(void);

void wf_worker_fork_child(void);

#endif

/*
 * I/O servers: they carry out requests by the plain system call, one at a time,
 * and are made when they are needed. One is a kernel thread or, with --io
 * process, a process of its own that shares address space, descriptors, locks
 * on files and the file system's root with this one. None runs a thread of the
 * program's.
 *
 *     if (wf_server_push(r, WF_SERVER_YET) == -ENOSYS)
 *             ...                 all are busy and there are enough of them
 *     ...
 *     wf_server_look(me, r);      done already? Else somebody will be told
 */
#ifndef WEFT_IO_SERVER_H
#define WEFT_IO_SERVER_H

#include <stdbool.h>

#include "io/request.h"
#include "sched/thread.h"

/*
 * How far a request has come, in PTL-N's words:
 *
 *     YET -> WAIT         [wf_server_look] its end is to be told
 *     YET -> COMPLETE     the server is done; the requester sees it, and
 *                         nobody has to be told
 *     WAIT -> COMPLETE    the server is done and tells
 */
enum wf_server_status {
	WF_SERVER_YET,
	WF_SERVER_WAIT,
	WF_SERVER_COMPLETE,
};

/* Does the request go straight to a server? */
bool wf_server_serves(const struct wf_request *r);

/*
 * Hands r to a server that has nothing to do, or to a new one. The status is
 * WF_SERVER_YET if the caller looks later, and WF_SERVER_WAIT if it does not.
 * 0, or -ENOSYS: nothing has been done. in_runtime set, or on a kernel thread
 * of weft's.
 */
int wf_server_push(struct wf_request *r, enum wf_server_status status);

/*
 * The caller, which has pushed r with WF_SERVER_YET, is about to wait: r is
 * completed here if the server is done, else somebody will do it. me is the
 * caller, in_runtime set.
 */
void wf_server_look(struct wf_thread *me, struct wf_request *r);

/* Would a push succeed just now, as far as is known? */
bool wf_server_is_free(void);

/* Asks for the early end of a request that was pushed; as wf_server_push. */
void wf_server_cancel(const struct wf_request *r);

/*
 * Starts a kernel thread that runs `run` for ever; all signals but that of
 * changes of credentials are blocked. 0 or -Exxx.
 */
int wf_server_start_own(void (*run)(void *));

/*
 * The program is about to be replaced: server processes go, which keep its
 * files open, and kernel threads serve what is left until exec has failed
 * (wf_os_execs). Returns when they are gone. Needs no VP. in_runtime 0.
 * wf_server_end: it is about to exit.
 */
void wf_server_end_processes(void);
void wf_server_end(void);

/*
 * All servers end, and the kernel threads of wf_server_start_own, at a time
 * when there is no request. False: some still run, after seconds; those that
 * have ended are made again when they are needed. Only where no other thread of
 * the program's lives. in_runtime 0, all signals of the program's blocked.
 */
bool wf_server_dismiss(void);
/* What runs for ever asks this at the top of its loop. It does not return if
 * the caller is dismissed. */
void wf_server_see_dismissal(void);

/*
 * For changes of credentials: all servers ever made, 0 .. count - 1. Each
 * follows a change by itself when it gets the signal, and writes so.
 */
struct wf_server_follower {
	int tid; /* 0: it is not there */
	bool is_process;
	_Atomic uint32_t *seen;	   /* number of the last change it followed */
	_Atomic uint32_t *arrived; /* number of the last for which it waits */
};
uint32_t wf_server_count(void);
struct wf_server_follower wf_server_at(uint32_t number);
void wf_server_signal(uint32_t number, int sig);
/* The calling server's own; tid 0 if the caller, t, is none. */
struct wf_server_follower wf_server_self(const struct wf_thread *t);
/* A server process has changed its credentials: what it loses by that. */
void wf_server_changed(void);

void wf_server_fork_child(void);

#endif

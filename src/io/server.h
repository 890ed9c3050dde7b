/*
 * I/O servers: kernel threads that carry out requests by the plain system call,
 * one at a time. They share address space and descriptors with everybody, run
 * no thread of the program's, and are made when they are needed.
 *
 *     if (wf_server_push(r) == -ENOSYS)
 *             ...                 all are busy and there are enough of them
 */
#ifndef WEFT_IO_SERVER_H
#define WEFT_IO_SERVER_H

#include <stdbool.h>

#include "io/request.h"
#include "sched/thread.h"

/* Does the request go straight to a server? */
bool wf_server_serves(const struct wf_request *r);

/*
 * Hands r to a server that has nothing to do, or to a new one. 0, or -ENOSYS:
 * nothing has been done. in_runtime set, or on a kernel thread of weft's.
 */
int wf_server_push(struct wf_request *r);

/* Would a push succeed just now, as far as is known? */
bool wf_server_is_free(void);

/* Asks for the early end of a request that was pushed; as wf_server_push. */
void wf_server_cancel(const struct wf_request *r);

/*
 * Starts a server that runs run(NULL) for ever; all signals but that of changes
 * of credentials are blocked. One caller at a time. 0 or -Exxx.
 */
int wf_server_start_own(void (*run)(void *));

/*
 * For changes of credentials: all servers ever made, 0 .. count - 1. *ret_seen
 * is the number of the last change that it has followed. Returns its tid.
 */
uint32_t wf_server_count(void);
int wf_server_at(uint32_t number, _Atomic uint32_t **ret_seen);
/* The calling server's own; NULL if the caller, t, is none. */
_Atomic uint32_t *wf_server_seen(const struct wf_thread *t);

void wf_server_fork_child(void);

#endif

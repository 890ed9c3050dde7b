/* SPDX-License-Identifier: MIT */
/*
 * Kernel threads that serve the runtime and run no thread of the program's:
 * the monitor, the receiver of signals.
 */
#ifndef WEFT_SCHED_SERVICE_H
#define WEFT_SCHED_SERVICE_H

#include "sched/thread.h"

/* Called with the id of each kernel thread that must not wait for carriers that
 * compute: services and I/O workers. Set by boot; NULL in unit tests. */
extern void (*wf_service_hook)(int tid);

/*
 * Starts run(NULL), which never returns, on a kernel thread with a minimal TLS
 * block whose wf_self is `self`. *tid is its id, 0 before; a service that has
 * one, since an earlier start failed later on, is not started again. Returns 0
 * or -Exxx; -ECANCELED: it is being dismissed.
 */
int wf_service_start(void (*run)(void *), struct wf_thread *self,
		     _Atomic int *tid);

/* What a service does instead of going on once it is dismissed. */
WF_NORETURN void wf_service_end(void);

/*
 * Is the service to end by wf_service_end? A service asks when it holds no
 * lock and has nothing in hand.
 */
bool wf_service_is_dismissed(const _Atomic int *tid);

/*
 * The service with this id is to end, and cannot start until wf_service_dismiss
 * has returned true; it is not woken. By then any
 * service that could start it has ended.
 */
void wf_service_dismiss_begin(const _Atomic int *tid);

/*
 * Dismisses the service with this id and waits until the kernel has removed its
 * kernel thread; *tid is 0 then. `wake` brings it to where it asks, and is
 * called again and again. False: it still runs, after seconds. The first
 * kernel thread, when no other thread of the program's lives.
 */
bool wf_service_dismiss(_Atomic int *tid, void (*wake)(void));

void wf_service_fork_child(void);

#endif

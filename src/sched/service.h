/* SPDX-License-Identifier: MIT */
/*
 * Services: kernel threads that work for the runtime and run no thread of the
 * program's, such as the monitor and the signal receiver thread.
 *
 *     err = wf_service_start(run, &self, &tid);
 */
#ifndef WEFT_SCHED_SERVICE_H
#define WEFT_SCHED_SERVICE_H

#include "sched/thread.h"

/*
 * Starts run(NULL), which never returns, on a new kernel thread with a minimal
 * TLS block, in which wf_self is `self`. *tid identifies the service: it is 0
 * before the start and the kernel thread's id after it. If *tid is not 0, the
 * service runs, and only 0 is returned: an earlier start may have failed at a
 * later step. Returns 0 or -Exxx; -ECANCELED if the service is being dismissed.
 */
int wf_service_start(void (*run)(void *), struct wf_thread *self,
		     _Atomic int *tid);

/* Ends the calling service, which has been dismissed. */
WF_NORETURN void wf_service_end(void);

/*
 * True if the calling service has to end by wf_service_end. A service checks
 * this when it holds no lock and has no work in hand.
 */
bool wf_service_is_dismissed(const _Atomic int *tid);

/*
 * Marks the service with this id as dismissed, without a wake. It cannot start
 * until wf_service_dismiss has returned true. By then any service that could
 * start it has ended.
 */
void wf_service_dismiss_begin(const _Atomic int *tid);

/*
 * Dismisses the service with this id and waits until the kernel has removed its
 * kernel thread; *tid is 0 then. `wake` makes the service check whether it is
 * dismissed, and is called repeatedly. Returns false if the service still runs
 * after some seconds. Called on the first kernel thread, when no other thread
 * of the program's is left.
 */
bool wf_service_dismiss(_Atomic int *tid, void (*wake)(void));

void wf_service_fork_child(void);

#endif

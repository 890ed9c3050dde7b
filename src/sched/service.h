/*
 * Kernel threads that serve the runtime and run no thread of the program's:
 * the monitor, the receiver of signals.
 */
#ifndef WEFT_SCHED_SERVICE_H
#define WEFT_SCHED_SERVICE_H

#include "sched/thread.h"

/*
 * Starts run(NULL), which never returns, on a kernel thread with a minimal TLS
 * block whose wf_self is `self`. *tid is its id, 0 before; a service that has
 * one, since an earlier start failed later on, is not started again. Returns 0
 * or -Exxx.
 */
int wf_service_start(void (*run)(void *), struct wf_thread *self,
		     _Atomic int *tid);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * pthread_barrier_*. Private barriers are sync/barrier.c's. Process-shared ones
 * have libc's layout, and shared/barrier.c waits for them.
 */
#include "api/api.h"

#include "libc/real.h"
#include "shared/barrier.h"
#include "sync/barrier.h"

static struct wf_barrier *barrier_of(pthread_barrier_t *barrier)
{
	return (struct wf_barrier *)barrier;
}

WF_API(int, pthread_barrier_init, pthread_barrier_t *barrier,
       const pthread_barrierattr_t *attr, unsigned int count)
{
	int shared = PTHREAD_PROCESS_PRIVATE;

	if (attr != NULL)
		pthread_barrierattr_getpshared(attr, &shared);
	if (shared != PTHREAD_PROCESS_PRIVATE)
		return wf_real.pthread_barrier_init(barrier, attr, count);
	return -wf_barrier_init(barrier_of(barrier), count);
}

WF_API(int, pthread_barrier_destroy, pthread_barrier_t *barrier)
{
	if (WF_UNLIKELY(wf_barrier_is_shared(barrier_of(barrier)))) {
		wf_shared_barrier_fini(barrier);
		return 0;
	}
	return -wf_barrier_fini(barrier_of(barrier));
}

/* PTHREAD_BARRIER_SERIAL_THREAD is -1 and no error: no change of the sign. */
WF_API(int, pthread_barrier_wait, pthread_barrier_t *barrier)
{
	if (WF_UNLIKELY(wf_barrier_is_shared(barrier_of(barrier))))
		return wf_shared_barrier_wait(barrier);
	return wf_barrier_wait(barrier_of(barrier));
}

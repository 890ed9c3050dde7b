/* SPDX-License-Identifier: MIT */
/*
 * Process-shared barriers, in libc's layout and by libc's protocol.
 *
 *     if (wf_barrier_is_shared(b))
 *             return wf_shared_barrier_wait(barrier);
 *
 * Both functions park and are no cancellation points. The caller has in_runtime
 * 0.
 */
#ifndef WEFT_SHARED_BARRIER_H
#define WEFT_SHARED_BARRIER_H

#include <pthread.h>

/*
 * Waits until a round is complete. Returns PTHREAD_BARRIER_SERIAL_THREAD to one
 * of its threads, 0 to the others.
 */
int wf_shared_barrier_wait(pthread_barrier_t *barrier);

/* Waits until the threads of the last round have left the barrier. */
void wf_shared_barrier_fini(pthread_barrier_t *barrier);

#endif

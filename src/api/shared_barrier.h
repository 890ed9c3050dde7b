/* SPDX-License-Identifier: MIT */
/*
 * Process-shared barriers, in libc's layout and by libc's protocol.
 *
 *     if (wf_barrier_is_shared(b))
 *             return wf_shared_barrier_wait(barrier);
 *
 * Both park, with in_runtime 0, and are no cancellation points.
 */
#ifndef WEFT_API_SHARED_BARRIER_H
#define WEFT_API_SHARED_BARRIER_H

#include <pthread.h>

/* 0, or PTHREAD_BARRIER_SERIAL_THREAD in one thread of each round. */
int wf_shared_barrier_wait(pthread_barrier_t *barrier);

/* Waits until the threads of the last round have left it. */
void wf_shared_barrier_fini(pthread_barrier_t *barrier);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Waiting on process-shared semaphores, those of sem_open among them, in
 * libc's layout and by libc's protocol.
 *
 *     rc = wf_shared_sem_wait(sem, deadline_ns);
 *
 * Trying and posting are libc's own functions.
 */
#ifndef WEFT_API_SHARED_SEM_H
#define WEFT_API_SHARED_SEM_H

#include <semaphore.h>
#include <stdint.h>

/*
 * 0, -EINTR, -ETIMEDOUT, -ECANCELED. Parks; for threads that
 * wf_io_can_wait_futex, with in_runtime 0.
 */
int wf_shared_sem_wait(sem_t *sem, int64_t deadline_ns);

#endif

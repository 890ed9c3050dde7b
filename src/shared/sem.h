/* SPDX-License-Identifier: MIT */
/*
 * Waits for process-shared semaphores, also those of sem_open, in libc's layout
 * and by libc's protocol.
 *
 *     if (wf_io_can_wait_futex())
 *             rc = wf_shared_sem_wait(sem, deadline_ns);
 *
 * sem_trywait and sem_post are libc's own functions.
 */
#ifndef WEFT_SHARED_SEM_H
#define WEFT_SHARED_SEM_H

#include <semaphore.h>
#include <stdint.h>

/*
 * Takes a permit; parks until there is one. Returns 0, -EINTR, -ETIMEDOUT or
 * -ECANCELED. The caller has in_runtime 0.
 */
int wf_shared_sem_wait(sem_t *sem, int64_t deadline_ns);

#endif

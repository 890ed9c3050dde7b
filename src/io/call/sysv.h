/* SPDX-License-Identifier: MIT */
/*
 * Semaphores and messages of System V, and POSIX message queues: the thread
 * parks while a worker waits. Arguments as the system calls'; results as in
 * io/io.h.
 *
 *     n = wf_io_msgrcv(id, &message, bytes, type, 0);
 *     if (n == -ENOSYS)
 *             ...                     make the plain call
 */
#ifndef WEFT_IO_CALL_SYSV_H
#define WEFT_IO_CALL_SYSV_H

#include <mqueue.h>
#include <stddef.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <time.h>

/* timeout: relative, or NULL for no limit */
int wf_io_semop(int id, struct sembuf *ops, size_t nr,
		const struct timespec *timeout);
int wf_io_msgsnd(int id, const void *message, size_t bytes, int flags);
long wf_io_msgrcv(int id, void *message, size_t bytes, long type, int flags);

/* until: a CLOCK_REALTIME time, or NULL for no limit */
int wf_io_mq_send(mqd_t queue, const char *message, size_t bytes,
		  unsigned int priority, const struct timespec *until);
long wf_io_mq_receive(mqd_t queue, char *message, size_t bytes,
		      unsigned int *ret_priority, const struct timespec *until);

#endif

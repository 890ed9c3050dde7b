/* SPDX-License-Identifier: MIT */
/*
 * Locks on files: the calls wait without holding a VP, and return as the
 * functions of io/io.h do. The caller has in_runtime 0.
 *
 *     err = wf_io_flock(fd, LOCK_EX);
 */
#ifndef WEFT_IO_CALL_LOCK_H
#define WEFT_IO_CALL_LOCK_H

int wf_io_flock(int fd, int operation);
/* command: F_SETLKW or F_OFD_SETLKW; lock: its struct flock. */
int wf_io_lock_record(int fd, int command, const void *lock);

#endif

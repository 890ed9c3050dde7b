/* SPDX-License-Identifier: MIT */
/*
 * Locks on files that wait without holding a VP. in_runtime 0; return as
 * io/io.h.
 *
 *     err = wf_io_flock(fd, LOCK_EX);
 */
#ifndef WEFT_IO_CALL_LOCK_H
#define WEFT_IO_CALL_LOCK_H

int wf_io_flock(int fd, int operation);
/* command: F_SETLKW or F_OFD_SETLKW; lock: its struct flock. */
int wf_io_lock_record(int fd, int command, const void *lock);

#endif

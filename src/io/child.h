/* SPDX-License-Identifier: MIT */
/*
 * Waiting for children. As io/io.h: in_runtime 0, the system call's result or
 * -Exxx, -ENOSYS if the thread cannot wait so.
 */
#ifndef WEFT_IO_CHILD_H
#define WEFT_IO_CHILD_H

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

int wf_io_wait4(pid_t pid, int *status, int options, struct rusage *usage);
int wf_io_waitid(idtype_t type, id_t id, siginfo_t *ret_info, int options);

#endif

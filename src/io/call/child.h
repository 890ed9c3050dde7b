/* SPDX-License-Identifier: MIT */
/*
 * Waits for child processes without holding a VP. in_runtime is 0. Returns as
 * the functions of io/io.h do: the system call's result or -Exxx. -ENOSYS: the
 * thread cannot park in this call.
 *
 * pid = wf_io_wait4(-1, &status, 0, NULL);
 */
#ifndef WEFT_IO_CALL_CHILD_H
#define WEFT_IO_CALL_CHILD_H

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

int wf_io_wait4(pid_t pid, int *status, int options, struct rusage *usage);
int wf_io_waitid(idtype_t type, id_t id, siginfo_t *ret_info, int options);

#endif

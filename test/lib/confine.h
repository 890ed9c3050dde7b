/* SPDX-License-Identifier: MIT */
/* Seccomp filters that a test puts on itself. */
#ifndef CONFINE_H
#define CONFINE_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* The first instruction of a filter: loads the number of the call. */
#define CONFINE_LOAD_NUMBER \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
#define CONFINE_ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define CONFINE_KILL_FOR(call)                                 \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
#define CONFINE_KILL_THREAD_FOR(call)                          \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_THREAD)

/*
 * Confines the calling thread and its later threads. Returns 0, or -1 if
 * refused.
 */
static inline int confine_to(struct sock_filter *code, size_t nr)
{
	struct sock_fprog program = { (unsigned short)nr, code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

#endif

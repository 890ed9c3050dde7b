/* SPDX-License-Identifier: MIT */
/*
 * A filter like QEMU's and Chromium's: it allows clone only with
 * pthread_create's flags. weft's kernel threads have to be made with the same
 * flags.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include "check.h"
#include "confine.h"
#include "threading.h"

enum {
	NR_NAPPERS = 4,
	THREAD_FLAGS = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND |
		       CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS |
		       CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID
};

static void allow_threads_alone(void)
{
	struct sock_filter code[] = {
		CONFINE_LOAD_NUMBER,
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, THREAD_FLAGS, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		CONFINE_ALLOW,
	};

	if (confine_to(code, sizeof(code) / sizeof(code[0])) != 0)
		SKIP("filters of system calls are refused");
}

static void *nap(void *arg)
{
	sleep_ms(10);
	return arg;
}

int main(void)
{
	pthread_t nappers[NR_NAPPERS];

	allow_threads_alone();
	threads_start(nappers, NR_NAPPERS, nap, NULL);
	threads_join(nappers, NR_NAPPERS);
	puts("threads were made");
	return 0;
}

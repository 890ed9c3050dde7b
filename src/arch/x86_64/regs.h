/* SPDX-License-Identifier: MIT */
/*
 * x86-64: reads and changes the registers in a signal frame.
 *
 *     wf_arch_uc_set_eintr(uc);
 */
#ifndef WEFT_ARCH_X86_64_REGS_H
#define WEFT_ARCH_X86_64_REGS_H

#include <errno.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "arch/x86_64/registers.h"

#ifndef SYS_futex_waitv /* Headers before Linux 5.16 lack it. */
#define SYS_futex_waitv 449
#endif

static inline uintptr_t wf_arch_uc_sp(const ucontext_t *uc)
{
	return (uintptr_t)uc->uc_mcontext.gregs[REG_RSP];
}

static inline uintptr_t wf_arch_uc_pc(const ucontext_t *uc)
{
	return (uintptr_t)uc->uc_mcontext.gregs[REG_RIP];
}

/*
 * True for system calls that wait and that a signal may end at any moment.
 * False for waits for a futex with an owner (FUTEX_LOCK_PI and others), which
 * are always resumed.
 */
static inline bool wf_arch_may_be_interrupted(long nr, long second)
{
	const long command = second & FUTEX_CMD_MASK;
	static const short waiting[] = {
		SYS_read,	 SYS_write,	   SYS_open,
		SYS_openat,	 SYS_creat,	   SYS_readv,
		SYS_writev,	 SYS_preadv,	   SYS_pwritev,
		SYS_preadv2,	 SYS_pwritev2,	   SYS_pread64,
		SYS_pwrite64,	 SYS_ioctl,	   SYS_wait4,
		SYS_waitid,	 SYS_flock,	   SYS_fcntl,
		SYS_accept,	 SYS_accept4,	   SYS_connect,
		SYS_sendto,	 SYS_recvfrom,	   SYS_sendmsg,
		SYS_recvmsg,	 SYS_sendmmsg,	   SYS_recvmmsg,
		SYS_openat2,	 SYS_mq_timedsend, SYS_mq_timedreceive,
		SYS_getrandom,	 SYS_splice,	   SYS_tee,
		SYS_vmsplice,	 SYS_sendfile,	   SYS_copy_file_range,
		SYS_futex_waitv,
	};

	if (nr == SYS_futex)
		return command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET;
	for (size_t i = 0; i < sizeof(waiting) / sizeof(waiting[0]); i++) {
		if (waiting[i] == nr)
			return true;
	}
	return false;
}

/*
 * Makes an interrupted system call return EINTR if the kernel has set the frame
 * up to restart it. Such a frame has the program counter at the instruction,
 * and rcx and r11 as the instruction leaves them. A thread that is about to
 * make a call looks the same only if it makes the call in a loop. To end the
 * call before it begins is correct, too.
 */
static inline void wf_arch_uc_set_eintr(ucontext_t *uc)
{
	greg_t *r = uc->uc_mcontext.gregs;
	uintptr_t pc = wf_arch_uc_pc(uc);

	if ((uintptr_t)r[REG_RCX] != pc + 2 || r[REG_R11] != r[REG_EFL] ||
	    !wf_arch_may_be_interrupted(r[REG_RAX], r[REG_RSI]) ||
	    memcmp((const void *)pc, "\x0f\x05", 2) != 0)
		return;
	r[REG_RAX] = -EINTR;
	r[REG_RIP] += 2;
}

#endif

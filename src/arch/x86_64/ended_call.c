/* SPDX-License-Identifier: MIT */
/*
 * Recognises, from the registers of a signal frame, a system call that has just
 * returned EINTR, and makes it execute again. It finds the number of the call
 * by decoding the instruction before `syscall`.
 *
 * ENDED_CALL-1. After a system call rcx has the address of the next instruction
 *     and r11 the flags. Only the kernel leaves these together with -EINTR in
 *     rax, behind a `syscall`. All other registers are as the call received
 *     them. If the instruction before has put the number into eax, weft knows
 *     the number. Otherwise it leaves the call alone.
 * ENDED_CALL-2. To make the call again, weft sets the frame up as the kernel
 *     would: program counter at the instruction, number in rax.
 * ENDED_CALL-3. Once a handler of the program is entered over such a frame, the
 *     program gets EINTR. That holds also if another signal of weft comes
 *     before the next instruction. So weft changes rcx, which a system call
 *     overwrites anyway.
 */
#include "arch/ended_call.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>

#include "arch/x86_64/regs.h"

enum { SYSCALL_BYTES = 2 };

bool wf_arch_call_may_be_made_again(long nr, const long a[6])
{
	switch (nr) {
	case SYS_poll:
		return (int)a[2] < 0;
	case SYS_ppoll:
		return a[2] == 0 && a[3] == 0;
	case SYS_select:
		return a[4] == 0;
	case SYS_pselect6:
		return a[4] == 0 && a[5] == 0;
	case SYS_epoll_wait:
		return (int)a[3] < 0;
	case SYS_epoll_pwait:
		return (int)a[3] < 0 && a[4] == 0;
	case SYS_semop:
	case SYS_msgsnd:
	case SYS_msgrcv:
		return true;
	case SYS_semtimedop:
		return a[3] == 0;
	case SYS_io_uring_enter:
		/*
		 * If the call has submitted entries, it returns their number
		 * and not EINTR.
		 */
		return (a[3] &
			(IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG)) ==
			       IORING_ENTER_GETEVENTS &&
		       a[4] == 0;
	default:
		return false;
	}
}

/*
 * Returns the number in a `mov $number, %eax` that ends at `end`; -1 if another
 * instruction does.
 */
static long number_moved(const unsigned char *end)
{
	uint32_t nr;

	if (end[-5] != 0xb8)
		return -1;
	memcpy(&nr, end - 4, sizeof(nr));
	return nr;
}

/*
 * Returns the number in a `mov %register, %eax` that ends at `end`. The
 * register still has it, unless it is one of the three that the call changes.
 */
static long number_copied(const unsigned char *end, const greg_t *r)
{
	enum { LOST = -1, TO_EAX = 0xc0, HIGH = 4 };
	static const signed char registers[16] = {
		LOST,	 LOST,	  REG_RDX, REG_RBX, LOST,    REG_RBP,
		REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, LOST,
		REG_R12, REG_R13, REG_R14, REG_R15,
	};
	unsigned int prefix = end[-3], operands = end[-1], from;

	if (end[-2] != 0x89 || (operands & 0xc7) != TO_EAX)
		return -1;
	from = operands >> 3 & 7;
	if ((prefix & 0xf3) == 0x40)
		from += (prefix & HIGH) != 0 ? 8 : 0;
	return registers[from] != LOST ? (int)r[registers[from]] : -1;
}

/*
 * Returns the number of the call that the frame is behind, or that it is about
 * to make again. ENDED_CALL-1
 */
static long number_of(const greg_t *r)
{
	const unsigned char *end =
		(const unsigned char *)r[REG_RCX] - SYSCALL_BYTES;
	const long args[] = { r[REG_RDI], r[REG_RSI], r[REG_RDX],
			      r[REG_R10], r[REG_R8],  r[REG_R9] };
	long nr;

	if (r[REG_R11] != r[REG_EFL] ||
	    memcmp(end, "\x0f\x05", SYSCALL_BYTES) != 0)
		return -1;
	nr = number_moved(end);
	if (nr < 0)
		nr = number_copied(end, r);
	return wf_arch_call_may_be_made_again(nr, args) ? nr : -1;
}

void wf_arch_uc_call_again(ucontext_t *uc)
{
	greg_t *r = uc->uc_mcontext.gregs;
	long nr;

	if (r[REG_RAX] != -EINTR || r[REG_RCX] != r[REG_RIP])
		return;
	nr = number_of(r);
	if (nr < 0)
		return;
	r[REG_RAX] = nr; /* ENDED_CALL-2: the call's number */
	r[REG_RIP] -= SYSCALL_BYTES;
}

void wf_arch_uc_call_is_over(ucontext_t *uc)
{
	greg_t *r = uc->uc_mcontext.gregs;

	if (r[REG_RCX] == r[REG_RIP] + SYSCALL_BYTES) {
		if (r[REG_RAX] < 0 || number_of(r) != r[REG_RAX])
			return;
		r[REG_RAX] = -EINTR;
		r[REG_RIP] += SYSCALL_BYTES;
	}
	if (r[REG_RAX] == -EINTR && r[REG_RCX] == r[REG_RIP] &&
	    number_of(r) >= 0)
		r[REG_RCX] = 0; /* ENDED_CALL-3: marks it as over */
}

/* SPDX-License-Identifier: MIT */
/*
 * futex_wake, futex_wait and futex_requeue, which Linux has from 6.7 on, by
 * syscall(). They wait for the same words as futex, so they become calls of
 * api/syscall/futex.c and use its table. On an older kernel they fail with
 * -ENOSYS, as natively. A call with a form that the table does not have goes to
 * the kernel: words of another size, NUMA nodes, invalid flags.
 */
#include <errno.h>
#include <linux/futex.h>

#include "api/syscall/futex.h"
#include "os/sys.h"
#include "signal/memory.h"

/* Newer versions of linux/futex.h have these. */
enum {
	NR_WAKE = 454,
	NR_WAIT = 455,
	NR_REQUEUE = 456,
	SIZE_U32 = 2,
	PRIVATE = 128,
};

struct waiter {
	uint64_t val, addr;
	uint32_t flags, reserved;
};

static bool is_plain(unsigned long flags)
{
	return (flags & ~(unsigned long)PRIVATE) == SIZE_U32;
}

static int with_flags(int op, unsigned long flags)
{
	return op | ((flags & PRIVATE) != 0 ? FUTEX_PRIVATE_FLAG : 0);
}

static long call_kernel(long nr, const long *a)
{
	return wf_syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/*
 * Does the kernel have the calls? With invalid flags it returns -EINVAL at
 * once.
 */
static bool is_there(void)
{
	return wf_sys(NR_WAKE, 0, 0, 0, -1) != -ENOSYS;
}

static long wake(const long *a)
{
	if (!is_plain((unsigned long)a[3]) || (uint32_t)a[1] != (uint64_t)a[1])
		return call_kernel(NR_WAKE, a);
	/* Unlike futex, this call may wake no thread. */
	if ((int)a[2] <= 0)
		return call_kernel(NR_WAKE, a);
	return wf_futex_syscall((uint32_t *)a[0],
				with_flags(FUTEX_WAKE_BITSET,
					   (unsigned long)a[3]),
				(uint32_t)a[2], NULL, NULL, (uint32_t)a[1]);
}

static long wait(const long *a)
{
	const int clock = (int)a[5];
	int op = with_flags(FUTEX_WAIT_BITSET, (unsigned long)a[3]);

	if (!is_plain((unsigned long)a[3]) ||
	    (uint32_t)a[1] != (uint64_t)a[1] ||
	    (uint32_t)a[2] != (uint64_t)a[2] ||
	    (a[4] != 0 && clock != CLOCK_MONOTONIC && clock != CLOCK_REALTIME))
		return call_kernel(NR_WAIT, a);
	if (a[4] != 0 && clock == CLOCK_REALTIME)
		op |= FUTEX_CLOCK_REALTIME;
	return wf_futex_syscall((uint32_t *)a[0], op, (uint32_t)a[1],
				(const struct timespec *)a[4], NULL,
				(uint32_t)a[2]);
}

static long requeue(const long *a)
{
	struct waiter w[2];

	if (wf_memory_get(w, (const void *)a[0], sizeof(w)) < 0 || a[1] != 0 ||
	    !is_plain(w[0].flags) || w[0].flags != w[1].flags ||
	    w[0].reserved != 0 || w[1].reserved != 0 ||
	    (uint32_t)w[0].val != w[0].val)
		return call_kernel(NR_REQUEUE, a);
	return wf_futex_syscall(
		(uint32_t *)w[0].addr,
		with_flags(FUTEX_CMP_REQUEUE, w[0].flags), (uint32_t)a[2],
		(const struct timespec *)(uintptr_t)(uint32_t)a[3],
		(uint32_t *)w[1].addr, (uint32_t)w[0].val);
}

bool wf_futex2_syscall(long nr, const long *a, long *ret)
{
	if (nr < NR_WAKE || nr > NR_REQUEUE)
		return false;
	if (!is_there())
		*ret = -ENOSYS;
	else
		*ret = nr == NR_WAKE ? wake(a) :
		       nr == NR_WAIT ? wait(a) :
				       requeue(a);
	return true;
}

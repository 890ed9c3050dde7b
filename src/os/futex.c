/* SPDX-License-Identifier: MIT */
/*
 * Wrappers of the system calls futex and futex_waitv. All timeouts are
 * absolute, in the clock of the deadline.
 */
#include "os/futex.h"

#include <errno.h>
#include <linux/futex.h>

#include "arch/arch.h"
#include "os/deadline.h"
#include "os/sys.h"

enum { U32 = 2 }; /* a flag of futex_waitv: a 32-bit word */

struct waitv {
	uint64_t expected, word;
	uint32_t flags, reserved;
};

static struct timespec *until(int64_t deadline_ns, struct timespec *ts)
{
	if (deadline_ns == WF_OS_FOREVER)
		return NULL;
	*ts = wf_os_timespec(wf_deadline_time(deadline_ns));
	return ts;
}

int wf_os_futex_wait(_Atomic uint32_t *word, uint32_t expected,
		     int64_t deadline_ns)
{
	return wf_os_futex_wait_bits(word, FUTEX_PRIVATE_FLAG, expected,
				     FUTEX_BITSET_MATCH_ANY, deadline_ns);
}

int wf_os_futex_wait_bits(const void *word, int flags, uint32_t expected,
			  uint32_t bits, int64_t deadline_ns)
{
	struct timespec ts;

	if (wf_deadline_is_wall(deadline_ns))
		flags |= FUTEX_CLOCK_REALTIME;
	return (int)wf_sys(SYS_futex, word, FUTEX_WAIT_BITSET | flags, expected,
			   until(deadline_ns, &ts), NULL, bits);
}

int wf_os_futex_wait_beside(_Atomic uint32_t *word, uint32_t expected,
			    const void *shared, uint32_t shared_expected,
			    int64_t deadline_ns)
{
	/* The kernel returns the index of the last word if both are woken. */
	const struct waitv both[] = {
		{ expected, (uintptr_t)word, U32 | FUTEX_PRIVATE_FLAG, 0 },
		{ shared_expected, (uintptr_t)shared, U32, 0 },
	};
	struct timespec ts;

	return (int)wf_sys(SYS_futex_waitv, both, 2, 0, until(deadline_ns, &ts),
			   wf_deadline_clock(deadline_ns));
}

bool wf_os_futex_can_wait_beside(void)
{
	static _Atomic int answer; /* 0: not known yet, 1: yes, -1: no */

	/* Asks with no words: a kernel that has the call returns EINVAL. */
	if (wf_load_relaxed(&answer) == 0)
		wf_store_relaxed(&answer, wf_sys(SYS_futex_waitv, NULL, 0, 0) ==
							  -EINVAL ?
						  1 :
						  -1);
	return wf_load_relaxed(&answer) > 0;
}

int wf_os_futex_wake_shared(_Atomic uint32_t *word, int nr)
{
	return (int)wf_sys(SYS_futex, word, FUTEX_WAKE, nr);
}

int wf_os_futex_wake(_Atomic uint32_t *word, int nr)
{
	return (int)wf_sys(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG,
			   nr);
}

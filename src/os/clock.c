/* SPDX-License-Identifier: MIT */
/*
 * Clocks are read through a function pointer: at first a system call, then
 * libc's clock_gettime, which reads the vDSO.
 */
#include "os/clock.h"

#include "os/sys.h"

static int ask_kernel(clockid_t clock, struct timespec *ret_time)
{
	return (int)wf_sys(SYS_clock_gettime, clock, ret_time);
}

int (*wf_os_clock_gettime)(clockid_t, struct timespec *) = ask_kernel;

void wf_os_clock_ask_kernel(void)
{
	__atomic_store_n(&wf_os_clock_gettime, ask_kernel, __ATOMIC_RELAXED);
}

int64_t wf_os_clock(clockid_t clock)
{
	struct timespec ts;

	wf_os_clock_gettime(clock, &ts);
	return ts.tv_sec * WF_NS_PER_S + ts.tv_nsec;
}

int64_t wf_os_thread_cpu(int tid)
{
	/* The kernel's encoding of the CPU clock of thread tid. */
	clockid_t clock = (clockid_t)((~(uint32_t)tid << 3) | 6);
	struct timespec ts;
	long err = wf_sys(SYS_clock_gettime, clock, &ts);

	return err < 0 ? err : ts.tv_sec * WF_NS_PER_S + ts.tv_nsec;
}

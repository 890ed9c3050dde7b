/* SPDX-License-Identifier: MIT */
/*
 * Reads clocks in nanoseconds.
 *
 *     int64_t deadline_ns = wf_os_now() + 5 * WF_NS_PER_MS;
 */
#ifndef WEFT_OS_CLOCK_H
#define WEFT_OS_CLOCK_H

#include <stdint.h>
#include <time.h>

#define WF_NS_PER_S 1000000000LL
#define WF_NS_PER_MS 1000000LL
#define WF_NS_PER_US 1000LL

/*
 * libc's own function, set at start. By then another library may have replaced
 * the name, with code that cannot run on weft's kernel threads.
 */
extern int (*wf_os_clock_gettime)(clockid_t, struct timespec *);

/*
 * Makes weft read clocks by a system call from now on. Call it when
 * prctl(PR_SET_TSC) keeps a thread from reading the CPU's counter.
 */
void wf_os_clock_ask_kernel(void);

/*
 * Reads a clock in ns, by default through libc's vDSO path, which takes no
 * lock.
 */
int64_t wf_os_clock(clockid_t clock);

static inline int64_t wf_os_now(void)
{
	return wf_os_clock(CLOCK_MONOTONIC);
}

/*
 * The CPU time in ns that a kernel thread of this process has used, or -Exxx.
 */
int64_t wf_os_thread_cpu(int tid);

static inline struct timespec wf_os_timespec(int64_t ns)
{
	return (struct timespec){ .tv_sec = ns / WF_NS_PER_S,
				  .tv_nsec = ns % WF_NS_PER_S };
}

#endif

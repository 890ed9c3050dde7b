/* SPDX-License-Identifier: MIT */
/*
 * How many CPUs the process may use.
 *
 *     uint32_t nr = wf_os_cpus_allowed(0);
 *     uint32_t quota = wf_os_cpus_quota("");
 *
 *     if (quota != 0 && quota < nr)
 *             nr = quota;
 *
 * Raw system calls, no allocation. What changes later is not seen.
 */
#ifndef WEFT_OS_CPUS_H
#define WEFT_OS_CPUS_H

#include <stdint.h>

/* CPUs in a kernel thread's affinity mask, at least 1; tid 0 is the caller. */
uint32_t wf_os_cpus_allowed(int tid);

/*
 * The least CPU quota of the control groups that the process is in, their
 * ancestors included, versions 1 and 2, in CPUs, rounded up; 0 if there is
 * none, or none that can be read. `root` is put before each path that is
 * opened: "" but in tests.
 */
uint32_t wf_os_cpus_quota(const char *root);

#endif

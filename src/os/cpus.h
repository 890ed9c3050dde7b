/* SPDX-License-Identifier: MIT */
/*
 * Tells how many CPUs the process may use.
 *
 *     uint32_t nr = wf_os_cpus_allowed(0);
 *     uint32_t quota = wf_os_cpus_quota("");
 *
 *     if (quota != 0 && quota < nr)
 *             nr = quota;
 *
 * Uses raw system calls and no malloc. Call again to notice later changes.
 */
#ifndef WEFT_OS_CPUS_H
#define WEFT_OS_CPUS_H

#include <stdint.h>

/*
 * The number of CPUs in a kernel thread's affinity mask, at least 1; tid 0 is
 * the caller.
 */
uint32_t wf_os_cpus_allowed(int tid);

/*
 * The least CPU quota of the process's control groups and their ancestors,
 * versions 1 and 2. In CPUs, rounded up; 0 if there is none, or none can be
 * read. `root` is put before each path that is opened: "" except in tests.
 */
uint32_t wf_os_cpus_quota(const char *root);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * SYS_get_robust_list and SYS_set_robust_list, for syscall(): each thread has
 * the list that libc keeps for it.
 *
 *     rc = wf_robust_get(0, &head, &bytes);
 */
#ifndef WEFT_API_ROBUST_H
#define WEFT_API_ROBUST_H

#include <stddef.h>
#include <stdint.h>

/*
 * Do what the system calls do. Return 0 or -Exxx. For another thread's list the
 * kernel is asked. A thread of weft can set only the list that it has.
 */
long wf_robust_get(long tid, uintptr_t *ret_head, size_t *ret_bytes);
long wf_robust_set(uintptr_t head, size_t bytes);

#endif

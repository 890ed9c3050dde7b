/* SPDX-License-Identifier: MIT */
/* What syscall() does for SYS_get_robust_list and SYS_set_robust_list. */
#ifndef WEFT_API_ROBUST_H
#define WEFT_API_ROBUST_H

#include <stddef.h>
#include <stdint.h>

/* As the system calls; return 0 or -Exxx. */
long wf_robust_get(long tid, uintptr_t *ret_head, size_t *ret_bytes);
long wf_robust_set(uintptr_t head, size_t bytes);

#endif

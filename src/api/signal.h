/* What syscall() does about signals. */
#ifndef WEFT_API_SIGNAL_H
#define WEFT_API_SIGNAL_H

#include <stddef.h>
#include <stdint.h>

#include <stddef.h>
#include <stdint.h>

/* As the system call: a negative error number on failure. */
long wf_signal_tgkill(long pid, long tid, long sig);

/* As rt_sigprocmask. */
long wf_mask_syscall(int how, const uint64_t *set, uint64_t *ret_old,
		     size_t bytes);

#endif

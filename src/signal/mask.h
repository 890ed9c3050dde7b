/* The calling thread's signal mask and alternate stack. in_runtime 0. */
#ifndef WEFT_SIGNAL_MASK_H
#define WEFT_SIGNAL_MASK_H

#include <signal.h>
#include <stdint.h>

/* As rt_sigprocmask; set NULL only asks. Returns 0 or -EINVAL. */
int wf_mask_change(int how, const uint64_t *set, uint64_t *ret_old);

/* As sigaltstack, on the thread's virtual stack. 0, -EINVAL, -ENOMEM, -EPERM. */
int wf_altstack_change(const stack_t *ss, stack_t *ret_old);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Adapts weft to a seccomp filter that the program sets for itself.
 *
 *     has_left_rings = wf_sandbox_comes(filter);
 *     ...             the kernel takes the filter, or refuses it
 *     if (rc == 0)
 *             wf_sandbox_check(filter);
 *     else if (has_left_rings)
 *             wf_sandbox_is_refused();
 */
#ifndef WEFT_API_STATE_SANDBOX_H
#define WEFT_API_STATE_SANDBOX_H

#include <linux/filter.h>
#include <stdbool.h>

/*
 * The program is about to set this filter for all its threads. If the filter
 * refuses the calls of rings with an error, no request waits in a ring from now
 * on, and the function returns true. If the kernel then refuses the filter, the
 * caller calls wf_sandbox_is_refused, which permits rings again. May yield, and
 * sleep for up to 1000 times 1 ms.
 */
bool wf_sandbox_comes(const struct sock_fprog *filter);
void wf_sandbox_is_refused(void);

/*
 * The program has set this filter for all its threads, or for its only one.
 * weft stops making those calls that it can do without. If the filter kills, or
 * sends SIGSYS, for another call of weft's, weft prints one warning as soon as
 * it runs.
 */
void wf_sandbox_check(const struct sock_fprog *filter);

#endif

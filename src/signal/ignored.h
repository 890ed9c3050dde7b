/* SPDX-License-Identifier: MIT */
/* What system() ignores while its command runs. */
#ifndef WEFT_SIGNAL_IGNORED_H
#define WEFT_SIGNAL_IGNORED_H

#include <stdint.h>

/*
 * SIGINT and SIGQUIT are ignored until the last who has begun has ended.
 * Returns those of the two that were not ignored before: bit n - 1 for signal
 * n. The runtime has started, in_runtime 0.
 */
uint64_t wf_ignored_begin(void);
void wf_ignored_end(void);

void wf_ignored_fork_child(void);

#endif

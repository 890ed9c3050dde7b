/* SPDX-License-Identifier: MIT */
/*
 * Ignores SIGINT and SIGQUIT while system() runs a command. Calls may overlap:
 *
 *     uint64_t heeded = wf_ignored_begin();
 *
 *     ...	run the command
 *     wf_ignored_end();
 */
#ifndef WEFT_SIGNAL_IGNORED_H
#define WEFT_SIGNAL_IGNORED_H

#include <stdint.h>

/*
 * Ignores SIGINT and SIGQUIT until each call has its wf_ignored_end. Returns
 * those of the two that were not ignored before: bit n - 1 for signal n. The
 * runtime has started; the caller has in_runtime 0.
 */
uint64_t wf_ignored_begin(void);
void wf_ignored_end(void);

void wf_ignored_fork_child(void);

#endif

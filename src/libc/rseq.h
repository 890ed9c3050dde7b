/* SPDX-License-Identifier: MIT */
/*
 * The area in which the kernel tells libc's threads their CPU (rseq(2)).
 *
 *     wf_rseq_unregister();          at start, with one thread
 */
#ifndef WEFT_LIBC_RSEQ_H
#define WEFT_LIBC_RSEQ_H

#include <stdbool.h>

/*
 * Ends the registration that libc has made for the calling kernel thread. A
 * thread that changes its kernel thread would read a wrong CPU there. Returns
 * false, and changes nothing, if the kernel refuses or if libc has registered
 * nothing. Call it while the process has one thread. Never blocks.
 */
bool wf_rseq_unregister(void);

#endif

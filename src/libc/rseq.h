/* SPDX-License-Identifier: MIT */
/* The area by which the kernel tells libc's threads their CPU (rseq(2)). */
#ifndef WEFT_LIBC_RSEQ_H
#define WEFT_LIBC_RSEQ_H

#include <stdbool.h>

/*
 * Takes back what libc has registered for the calling kernel thread: a thread
 * that changes its kernel thread would be told a wrong CPU. False: the kernel
 * refuses it, or libc has registered nothing; the area is as it was then.
 * Before the first other thread; blocks nowhere.
 */
bool wf_rseq_unregister(void);

#endif

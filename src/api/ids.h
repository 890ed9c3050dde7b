/* SPDX-License-Identifier: MIT */
/*
 * System calls about the calling thread's id and its exit, for syscall() and
 * gettid().
 *
 *     id = wf_ids_gettid();
 */
#ifndef WEFT_API_IDS_H
#define WEFT_API_IDS_H

/* The id of the calling thread: weft's, or the kernel's for other callers. */
long wf_ids_gettid(void);

/*
 * wf_ids_gettid with six arguments that the kernel ignores: seccomp filters and
 * tracers see them.
 */
long wf_ids_gettid_by(const long *args);

/*
 * Does what set_tid_address(2) does; for a thread of weft only returns its id.
 */
long wf_ids_set_tid_address(long address);

/* SYS_exit: ends the calling thread. Returns if weft did not make that. */
void wf_ids_exit(int status);

#endif

/* SPDX-License-Identifier: MIT */
/* What syscall() does for the numbers of these names, gettid() too. */
#ifndef WEFT_API_IDS_H
#define WEFT_API_IDS_H

long wf_ids_gettid(void);

/* With arguments that the call ignores, but filters and tracers see. */
long wf_ids_gettid_by(const long *args);

long wf_ids_set_tid_address(long address);

/* Returns if the caller is no thread of weft's. */
void wf_ids_exit(int status);

#endif

/* What syscall() does for the numbers of these names, gettid() too. */
#ifndef WEFT_API_IDS_H
#define WEFT_API_IDS_H

long wf_ids_gettid(void);
long wf_ids_set_tid_address(long address);

#endif

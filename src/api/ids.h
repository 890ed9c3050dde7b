/* Shared by gettid() and syscall(SYS_gettid). */
#ifndef WEFT_API_IDS_H
#define WEFT_API_IDS_H

long wf_ids_gettid(void);

#endif

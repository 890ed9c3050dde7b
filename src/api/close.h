/* Closing and replacing descriptors by syscall(). */
#ifndef WEFT_API_CLOSE_H
#define WEFT_API_CLOSE_H

/* SYS_close, SYS_dup2, SYS_dup3 and SYS_close_range; as the kernel returns. */
long wf_close_syscall(long nr, const long *args);

#endif

/* Closing and replacing descriptors, by syscall() and by libc itself. */
#ifndef WEFT_API_CLOSE_H
#define WEFT_API_CLOSE_H

/* SYS_close, SYS_dup2, SYS_dup3, SYS_close_range, SYS_setsockopt; as the kernel
 * returns. */
long wf_close_syscall(long nr, const long *args);

/*
 * libc is about to close fd, which may be none, and has closed it: what waits
 * for its file goes on waiting for that. Always both; errno stays.
 */
void wf_close_begin(int fd);
void wf_close_end(int fd);

#endif

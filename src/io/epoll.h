/* Waits for epoll sets, and those who close such a set; wait: io/io.h. */
#ifndef WEFT_IO_EPOLL_H
#define WEFT_IO_EPOLL_H

/*
 * Before the numbers are closed or replaced, by whoever is about to: waits for
 * the sets that they name go on. in_runtime 0; may yield.
 */
void wf_epoll_keep(unsigned int first, unsigned int last);

void wf_epoll_fork_child(void);

#endif

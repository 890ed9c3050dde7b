/* The waits that reading, writing and polling share. */
#ifndef WEFT_IO_WAIT_H
#define WEFT_IO_WAIT_H

#include "io/request.h"

/*
 * Runs r as SA_RESTART has it: again, unless the socket has a time limit
 * (signal(7)). A limit that has passed is -EAGAIN.
 */
int wf_io_run(struct wf_request *r, int64_t deadline_ns);

/* Waits until one of the events (POLLIN, ...) of fd. 0, -EINTR, -ECANCELED. */
int wf_io_wait_ready(int fd, uint32_t events);

#endif

/* SPDX-License-Identifier: MIT */
/* Receives that wait, those for all that was asked for (MSG_WAITALL) too. */
#ifndef WEFT_IO_RECEIVE_ALL_H
#define WEFT_IO_RECEIVE_ALL_H

#include <stdbool.h>
#include <stddef.h>

#include "io/request.h"

/* Errors and urgent data are there or not. */
bool wf_receive_may_wait(int fd, int flags);

/* One that waits before it receives. */
struct wf_request wf_receive_later(int fd, void *buf, size_t bytes, int flags);

/*
 * What is there, without waiting; then what is missing, if it can be waited for
 * by the file. *ret_is_over: there is no more to do.
 */
long wf_receive_all(int fd, void *buf, size_t bytes, int flags,
		    bool *ret_is_over);

/*
 * Receives the rest after n bytes of a byte stream; generation is that of fd
 * when the call began. Returns the number of all bytes, or -Exxx.
 */
long wf_receive_rest(int fd, void *buf, size_t bytes, int flags, long n,
		     uint32_t generation);

#endif

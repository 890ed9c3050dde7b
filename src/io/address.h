/* SPDX-License-Identifier: MIT */
/*
 * Waits for sockets whose address another process may want as soon as this one
 * has ended (wf_descriptor_has_address).
 */
#ifndef WEFT_IO_ADDRESS_H
#define WEFT_IO_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "io/request.h"

/*
 * r is a receive or an accept on one. As wf_io_run; without rings it is that.
 */
int wf_address_run(struct wf_request *r, int64_t deadline_ns);

/* The accept that does not wait. -EAGAIN: nobody has come, or it cannot be. */
int wf_address_try_accept(const struct wf_request *r);

/*
 * One wait of poll's for such a socket alone, until there is something to read
 * or to accept; as wf_request_run_any. -E2BIG: it has no epoll proxy.
 * is_in_doubt: several waits before it were for nothing.
 */
int wf_address_poll(int fd, int64_t deadline_ns, uint32_t nr_handlers,
		    bool is_in_doubt);

#endif

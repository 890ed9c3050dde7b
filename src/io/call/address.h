/* SPDX-License-Identifier: MIT */
/*
 * Receives and accepts on sockets with an address: listening sockets, and
 * datagram sockets without a peer (wf_descriptor_has_address). Such a wait does
 * not keep the socket open in the kernel after the process has ended. So the
 * next process can bind the address at once.
 *
 *     if (wf_descriptor_has_address(fd))
 *             n = wf_address_run(&r, deadline_ns);
 */
#ifndef WEFT_IO_CALL_ADDRESS_H
#define WEFT_IO_CALL_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "io/backend/request.h"

/*
 * Runs r, a receive or an accept on such a socket. As wf_io_run, which it calls
 * if there is no ring or r avoids rings.
 */
int wf_address_run(struct wf_request *r, int64_t deadline_ns);

/*
 * Accepts without waiting, by a ring. Returns the new descriptor or -Exxx;
 * -EAGAIN also if there is no ring. The caller has in_runtime 0.
 */
int wf_address_try_accept(const struct wf_request *r);

/*
 * Waits once, for poll, until such a socket has something to read or to accept.
 * The call polls no other descriptor. As wf_request_run_any; -E2BIG: the socket
 * has no epoll proxy. is_in_doubt: several waits of the call before this one
 * were for nothing.
 */
int wf_address_poll(int fd, int64_t deadline_ns, uint32_t nr_handlers,
		    bool is_in_doubt);

#endif

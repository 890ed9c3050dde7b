/*
 * Waits for sockets whose address another process may want as soon as this one
 * has ended (wf_descriptor_has_address).
 */
#ifndef WEFT_IO_ADDRESS_H
#define WEFT_IO_ADDRESS_H

#include <stdint.h>

#include "io/request.h"

/*
 * r is a receive or an accept on one. As wf_io_run; without rings it is that.
 */
int wf_address_run(struct wf_request *r, int64_t deadline_ns);

/* The accept that does not wait. -EAGAIN: nobody has come, or it cannot be. */
int wf_address_try_accept(const struct wf_request *r);

#endif

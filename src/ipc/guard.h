/* SPDX-License-Identifier: MIT */
/*
 * Protects against a queue's memory vanishing when a process shrinks its named
 * file.
 *
 *     wf_guard_begin(c, bytes);       before the queue is accessed
 *     ...                             EPROTO, not SIGBUS
 *     wf_guard_end(c);                before it is unmapped
 */
#ifndef WEFT_IPC_GUARD_H
#define WEFT_IPC_GUARD_H

#include "ipc/channel.h"

/*
 * Begins to protect c's memory of `bytes`. c->is_cut may become true from now
 * on. Not in a signal handler.
 */
void wf_guard_begin(struct weft_channel *c, uint64_t bytes);
void wf_guard_end(struct weft_channel *c);

#endif

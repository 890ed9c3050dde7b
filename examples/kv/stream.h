/* SPDX-License-Identifier: MIT */
/* Whole messages over sockets. */
#ifndef KV_STREAM_H
#define KV_STREAM_H

#include <stddef.h>

/* A listening or connected socket for "unix:PATH" or "tcp:PORT", or -1. */
int kv_stream_listen(const char *address);
int kv_stream_connect(const char *address);

/*
 * Returns 0, or -1: the peer has closed the connection, or its message is
 * larger than capacity.
 */
int kv_stream_send(int fd, const void *message, size_t size);
int kv_stream_receive(int fd, void *message, size_t capacity, size_t *ret_size);

#endif

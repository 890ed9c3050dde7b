/* SPDX-License-Identifier: MIT */
/* The messages between client and server: one request, one reply. */
#ifndef KV_PROTOCOL_H
#define KV_PROTOCOL_H

#include <stdint.h>
#include <string.h>

#include "kv.h"

enum kv_op { KV_GET = 0, KV_SET = 1, KV_DELETE = 2 };

struct kv_request {
	uint32_t client; /* on channels: the client's number, for the reply */
	uint8_t op;
	uint8_t key_size;
	uint16_t value_size;
	char data[KV_KEY_MAX + KV_VALUE_MAX]; /* key, value */
};
#define KV_REQUEST_HEAD offsetof(struct kv_request, data)

struct kv_reply {
	uint32_t error; /* 0 or a number of errno.h */
	uint32_t size;	/* of the value */
	char data[KV_VALUE_MAX];
};
#define KV_REPLY_HEAD offsetof(struct kv_reply, data)

/* Over streams, each of them follows its size. */
typedef uint32_t kv_frame;

/*
 * The message that a client gets over the control socket, with two descriptors:
 * of the channel for its requests, and of the channel for its replies.
 */
struct kv_welcome {
	uint32_t error;
	uint32_t client;
};

static inline size_t kv_request_size(const struct kv_request *r)
{
	return KV_REQUEST_HEAD + r->key_size + r->value_size;
}

static inline size_t kv_reply_size(const struct kv_reply *r)
{
	return KV_REPLY_HEAD + r->size;
}

/* Checks a message of `size` bytes from a process that may write anything. */
static inline int kv_request_is_whole(const struct kv_request *r, size_t size)
{
	return size >= KV_REQUEST_HEAD && r->value_size <= KV_VALUE_MAX &&
	       size == kv_request_size(r) && r->op <= KV_DELETE;
}

static inline int kv_reply_is_whole(const struct kv_reply *r, size_t size)
{
	return size >= KV_REPLY_HEAD && r->size <= KV_VALUE_MAX &&
	       size == kv_reply_size(r);
}

#endif

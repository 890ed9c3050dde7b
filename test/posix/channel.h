/* SPDX-License-Identifier: MIT */
/* Short forms for tests of channels; ends the case if a call fails. */
#ifndef CHANNEL_H
#define CHANNEL_H

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft/channel.h>

#include "child.h"
#include "threading.h"

static inline int channel_make(uint32_t size, uint32_t messages, uint32_t flags)
{
	struct weft_channel_attr attr = { .message_size = size,
					  .messages = messages,
					  .flags = flags };
	int fd;

	CHECK_EQ(weft_channel_create(&attr, &fd), 0);
	return fd;
}

static inline struct weft_channel *channel_end(int fd, int end)
{
	struct weft_channel *c;

	CHECK_EQ(weft_channel_open(fd, end, &c), 0);
	return c;
}

static inline struct weft_channel *channel_sender(int fd)
{
	return channel_end(fd, WEFT_CHANNEL_SENDER);
}

static inline struct weft_channel *channel_receiver(int fd)
{
	return channel_end(fd, WEFT_CHANNEL_RECEIVER);
}

static inline void channel_put(struct weft_channel *c, long value)
{
	CHECK_EQ(weft_channel_send(c, &value, sizeof(value)), 0);
}

static inline long channel_get(struct weft_channel *c)
{
	long value;
	size_t size;

	CHECK_EQ(weft_channel_receive(c, &value, sizeof(value), &size), 0);
	CHECK_EQ(size, sizeof(value));
	return value;
}

/* Returns the error with which a receive fails. */
static inline int channel_get_error(struct weft_channel *c)
{
	long value;
	size_t size;

	return weft_channel_receive(c, &value, sizeof(value), &size);
}

#endif

/* SPDX-License-Identifier: MIT */
/* The client library: one request at a time over one of three transports. */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <weft/channel.h>

#include "protocol.h"
#include "stream.h"

struct kv {
	int fd; /* of the stream, or the control socket of channels */
	uint32_t client;
	struct weft_channel *out, *in; /* NULL: a stream */
	struct kv_request request;
	struct kv_reply reply;
};

/* Receives the welcome and its two descriptors; they are -1 if it has none. */
static int be_welcome(int fd, struct kv_welcome *ret_welcome, int ret_fd[2])
{
	char control[CMSG_SPACE(2 * sizeof(int))];
	struct iovec part = { ret_welcome, sizeof(*ret_welcome) };
	struct msghdr m = { .msg_iov = &part,
			    .msg_iovlen = 1,
			    .msg_control = control,
			    .msg_controllen = sizeof(control) };
	struct cmsghdr *c;

	ret_fd[0] = ret_fd[1] = -1;
	if (recvmsg(fd, &m, MSG_CMSG_CLOEXEC) != sizeof(*ret_welcome))
		return EPROTO;
	c = CMSG_FIRSTHDR(&m);
	if (c != NULL && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(2 * sizeof(int)))
		memcpy(ret_fd, CMSG_DATA(c), 2 * sizeof(int));
	return (int)ret_welcome->error;
}

static int open_channels(struct kv *kv)
{
	struct kv_welcome welcome;
	int fd[2], rc;

	rc = be_welcome(kv->fd, &welcome, fd);
	if (rc == 0)
		rc = weft_channel_open(fd[0], WEFT_CHANNEL_SENDER, &kv->out);
	if (rc == 0)
		rc = weft_channel_open(fd[1], WEFT_CHANNEL_RECEIVER, &kv->in);
	if (rc == 0)
		kv->client = welcome.client;
	for (int i = 0; i < 2; i++) {
		if (fd[i] >= 0)
			close(fd[i]);
	}
	return rc;
}

int kv_open(const char *address, struct kv **ret_kv)
{
	int is_channel = strncmp(address, "channel:", 8) == 0, rc = 0;
	char control[200] = "unix:";
	struct kv *kv;

	if (is_channel) {
		if (strlen(address) >= sizeof(control))
			return EINVAL;
		strcat(control, address + 8);
	}
	kv = calloc(1, sizeof(*kv));
	if (kv == NULL)
		return ENOMEM;
	kv->fd = kv_stream_connect(is_channel ? control : address);
	if (kv->fd < 0)
		rc = errno;
	else if (is_channel)
		rc = open_channels(kv);
	if (rc != 0) {
		kv_close(kv);
		return rc;
	}
	*ret_kv = kv;
	return 0;
}

void kv_close(struct kv *kv)
{
	if (kv->out != NULL)
		weft_channel_close(kv->out);
	if (kv->in != NULL)
		weft_channel_close(kv->in);
	if (kv->fd >= 0)
		close(kv->fd);
	free(kv);
}

static int exchange_channel(struct kv *kv, size_t size, size_t *ret_size)
{
	int rc = weft_channel_send(kv->out, &kv->request, size);

	return rc != 0 ? rc :
			 weft_channel_receive(kv->in, &kv->reply,
					      sizeof(kv->reply), ret_size);
}

static int exchange_stream(struct kv *kv, size_t size, size_t *ret_size)
{
	if (kv_stream_send(kv->fd, &kv->request, size) != 0 ||
	    kv_stream_receive(kv->fd, &kv->reply, sizeof(kv->reply),
			      ret_size) != 0)
		return EPIPE;
	return 0;
}

/* One request, one reply. */
static int ask(struct kv *kv, enum kv_op op, const void *key, size_t key_size,
	       const void *value, size_t value_size)
{
	struct kv_request *r = &kv->request;
	size_t size = 0;
	int rc;

	if (key_size > KV_KEY_MAX || value_size > KV_VALUE_MAX)
		return EMSGSIZE;
	r->client = kv->client;
	r->op = (uint8_t)op;
	r->key_size = (uint8_t)key_size;
	r->value_size = (uint16_t)value_size;
	memcpy(r->data, key, key_size);
	if (value_size != 0)
		memcpy(r->data + key_size, value, value_size);
	rc = kv->in != NULL ? exchange_channel(kv, kv_request_size(r), &size) :
			      exchange_stream(kv, kv_request_size(r), &size);
	if (rc == 0 && !kv_reply_is_whole(&kv->reply, size))
		rc = EPROTO;
	return rc != 0 ? rc : (int)kv->reply.error;
}

int kv_get(struct kv *kv, const void *key, size_t key_size, void *value,
	   size_t capacity, size_t *ret_size)
{
	int rc = ask(kv, KV_GET, key, key_size, NULL, 0);

	if (rc != 0)
		return rc;
	*ret_size = kv->reply.size;
	if (kv->reply.size > capacity)
		return EMSGSIZE;
	memcpy(value, kv->reply.data, kv->reply.size);
	return 0;
}

int kv_set(struct kv *kv, const void *key, size_t key_size, const void *value,
	   size_t size)
{
	return ask(kv, KV_SET, key, key_size, value, size);
}

int kv_delete(struct kv *kv, const void *key, size_t key_size)
{
	return ask(kv, KV_DELETE, key, key_size, NULL, 0);
}

/* SPDX-License-Identifier: MIT */
/*
 * The server: one store, served at one address.
 *
 *     usage: kv_server channel:PATH | unix:PATH | tcp:PORT
 *
 * Prints "ready" when clients may connect. Over sockets each client has a
 * thread. Over channels one thread answers all: requests come by one channel
 * with many senders, and each client has a channel for replies. The socket at
 * PATH serves to hand channels out and to learn when a client has gone.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <weft/channel.h>

#include "protocol.h"
#include "store.h"
#include "stream.h"

/*
 * The server holds one sender's end, so that the channel always has a sender.
 */
enum { CLIENTS_MAX = WEFT_CHANNEL_SENDERS_MAX - 1, REPLIES = 3 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Protected by the lock. */
static struct kv_store *store;
static struct weft_channel *reply_to[CLIENTS_MAX]; /* NULL: no client */

static int requests_fd;
static struct weft_channel *requests;

static void die(const char *what, int error)
{
	fprintf(stderr, "kv_server: %s: %s\n", what, strerror(error));
	exit(1);
}

static void start(void *(*run)(void *), void *arg)
{
	pthread_t thread;
	int rc = pthread_create(&thread, NULL, run, arg);

	if (rc != 0)
		die("pthread_create", rc);
	pthread_detach(thread);
}

/*
 * Streams.
 */

static void *serve_stream(void *arg)
{
	int fd = (int)(intptr_t)arg;
	struct kv_request request;
	struct kv_reply reply;
	size_t size;

	while (kv_stream_receive(fd, &request, sizeof(request), &size) == 0 &&
	       kv_request_is_whole(&request, size)) {
		pthread_mutex_lock(&lock);
		kv_store_answer(store, &request, &reply);
		pthread_mutex_unlock(&lock);
		if (kv_stream_send(fd, &reply, kv_reply_size(&reply)) != 0)
			break;
	}
	close(fd);
	return NULL;
}

/*
 * Channels.
 */

/* The request is a copy, so that its sender cannot change it any more. */
static void answer(const struct kv_request *request)
{
	struct kv_reply reply;

	pthread_mutex_lock(&lock);
	if (request->client < CLIENTS_MAX &&
	    reply_to[request->client] != NULL) {
		kv_store_answer(store, request, &reply);
		/* A client that has not taken its last replies gets none. */
		weft_channel_try_send(reply_to[request->client], &reply,
				      kv_reply_size(&reply));
	}
	pthread_mutex_unlock(&lock);
}

static void *serve_channel(void *unused)
{
	struct kv_request request;
	size_t size;

	(void)unused;
	for (;;) {
		int rc = weft_channel_receive(requests, &request,
					      sizeof(request), &size);

		if (rc == EOWNERDEAD)
			continue;
		if (rc != 0)
			die("weft_channel_receive", rc);
		if (kv_request_is_whole(&request, size))
			answer(&request);
	}
	return NULL;
}

/* A number and the channel for replies to it. */
static int admit(struct kv_welcome *ret_welcome, int *ret_fd)
{
	struct weft_channel_attr attr = {
		.message_size = sizeof(struct kv_reply), .messages = REPLIES
	};
	struct weft_channel *out;
	uint32_t i;
	int rc = weft_channel_create(&attr, ret_fd);

	if (rc != 0)
		return rc;
	rc = weft_channel_open(*ret_fd, WEFT_CHANNEL_SENDER, &out);
	if (rc != 0) {
		close(*ret_fd);
		return rc;
	}
	pthread_mutex_lock(&lock);
	for (i = 0; i < CLIENTS_MAX && reply_to[i] != NULL; i++)
		;
	if (i < CLIENTS_MAX)
		reply_to[i] = out;
	pthread_mutex_unlock(&lock);
	if (i == CLIENTS_MAX) {
		weft_channel_close(out);
		close(*ret_fd);
		return EBUSY;
	}
	ret_welcome->client = i;
	return 0;
}

static void dismiss(uint32_t client)
{
	pthread_mutex_lock(&lock);
	weft_channel_close(reply_to[client]);
	reply_to[client] = NULL;
	pthread_mutex_unlock(&lock);
}

static void send_welcome(int fd, struct kv_welcome *welcome, int reply_fd)
{
	int fds[2] = { requests_fd, reply_fd };
	char control[CMSG_SPACE(sizeof(fds))] = { 0 };
	struct iovec part = { welcome, sizeof(*welcome) };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };

	if (welcome->error == 0) {
		struct cmsghdr *c;

		m.msg_control = control;
		m.msg_controllen = sizeof(control);
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(fds));
		memcpy(CMSG_DATA(c), fds, sizeof(fds));
	}
	sendmsg(fd, &m, MSG_NOSIGNAL);
}

static void *attend(void *arg)
{
	int fd = (int)(intptr_t)arg, reply_fd = -1;
	struct kv_welcome welcome = { 0 };
	char byte;

	welcome.error = (uint32_t)admit(&welcome, &reply_fd);
	send_welcome(fd, &welcome, reply_fd);
	if (welcome.error == 0) {
		close(reply_fd);
		while (read(fd, &byte, 1) > 0)
			;
		dismiss(welcome.client);
	}
	close(fd);
	return NULL;
}

static void begin_channels(void)
{
	struct weft_channel_attr attr = {
		.message_size = sizeof(struct kv_request),
		.messages = 2 * WEFT_CHANNEL_SENDERS_MAX,
		.flags = WEFT_CHANNEL_MANY,
	};
	struct weft_channel *own;
	int rc = weft_channel_create(&attr, &requests_fd);

	if (rc == 0)
		rc = weft_channel_open(requests_fd, WEFT_CHANNEL_RECEIVER,
				       &requests);
	if (rc == 0)
		rc = weft_channel_open(requests_fd, WEFT_CHANNEL_SENDER, &own);
	if (rc != 0)
		die("channel", rc);
	start(serve_channel, NULL);
}

int main(int argc, char **argv)
{
	char control[200] = "unix:";
	int is_channel, fd;

	if (argc != 2) {
		fputs("usage: kv_server channel:PATH | unix:PATH | tcp:PORT\n",
		      stderr);
		return 2;
	}
	is_channel = strncmp(argv[1], "channel:", 8) == 0;
	if (is_channel)
		strncat(control, argv[1] + 8, sizeof(control) - 6);
	store = kv_store_new();
	if (store == NULL)
		die("store", ENOMEM);
	fd = kv_stream_listen(is_channel ? control : argv[1]);
	if (fd < 0)
		die(argv[1], errno);
	if (is_channel)
		begin_channels();
	puts("ready");
	fflush(stdout);
	for (;;) {
		int client = accept(fd, NULL, NULL);

		if (client >= 0)
			start(is_channel ? attend : serve_stream,
			      (void *)(intptr_t)client);
	}
}

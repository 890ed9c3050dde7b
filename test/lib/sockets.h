/* SPDX-License-Identifier: MIT */
/*
 * A pair of connected sockets, a thread that reads from a descriptor, and a
 * thread that connects to a server of this machine.
 *
 *     make_pair(SOCK_STREAM);
 *     reader = reader_start(pair[0]);
 *     let_it_wait(&is_ready);
 *     CHECK_EQ(write(pair[1], "r", 1), 1);
 *     CHECK_EQ(result_of(reader), 'r');
 */
#ifndef SOCKETS_H
#define SOCKETS_H

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "waiting.h"

static int pair[2];

static inline void make_pair(int type)
{
	CHECK_EQ(socketpair(AF_UNIX, type, 0, pair), 0);
}

static struct sockaddr_in address;
static int listener;

static inline int inet_socket(int type)
{
	int fd = socket(AF_INET, type, 0);

	CHECK(fd >= 0);
	return fd;
}

/* Makes a bound socket; its name goes to `address`. */
static inline int loopback_socket(int type)
{
	socklen_t bytes = sizeof(address);
	int fd = inet_socket(type);

	address = (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	CHECK_EQ(bind(fd, (struct sockaddr *)&address, bytes), 0);
	CHECK_EQ(getsockname(fd, (struct sockaddr *)&address, &bytes), 0);
	return fd;
}

static inline void connect_to_it(int fd)
{
	CHECK_EQ(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
}

/* Makes a connected pair; pair[1] is the client's end. */
static inline void make_tcp_pair(void)
{
	listener = loopback_socket(SOCK_STREAM);
	CHECK_EQ(listen(listener, 1), 0);
	pair[1] = inet_socket(SOCK_STREAM);
	connect_to_it(pair[1]);
	pair[0] = accept(listener, NULL, NULL);
	CHECK(pair[0] >= 0);
}

static inline void *read_one(void *arg)
{
	char c = 0;
	ssize_t n;

	is_ready = 1;
	n = read((int)(intptr_t)arg, &c, 1);
	return outcome(n > 0 ? c : n);
}

/* The thread returns the byte, 0 at the end, or -errno. */
static inline pthread_t reader_start(int fd)
{
	return thread_start(read_one, (void *)(intptr_t)fd);
}

/* Sends a byte and waits for the server to close. */
static inline void call(const struct sockaddr_in *to, char c)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	CHECK_EQ(connect(fd, (const struct sockaddr *)to, sizeof(*to)), 0);
	CHECK_EQ(write(fd, &c, 1), 1);
	CHECK_EQ(read(fd, &c, 1), 0);
	CHECK_EQ(close(fd), 0);
}

#endif

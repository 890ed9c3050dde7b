/*
 * A pair of connected sockets, one who reads from a descriptor, one who calls a
 * server of this machine.
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

static inline void *read_one(void *arg)
{
	char c = 0;
	ssize_t n;

	is_ready = 1;
	n = read((int)(intptr_t)arg, &c, 1);
	return outcome(n > 0 ? c : n);
}

/* Its result: the byte, 0 at the end, -errno. */
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

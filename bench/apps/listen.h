/* SPDX-License-Identifier: MIT */
/*
 * Shared by the echo servers: makes a listening socket of this machine and
 * prints its port to standard output.
 *
 *     int fd = echo_listen();
 *     int connection = echo_accept(fd);
 */
#ifndef BENCH_APPS_LISTEN_H
#define BENCH_APPS_LISTEN_H

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

enum { ECHO_BACKLOG = 4096, ECHO_BYTES = 1024 };

static inline void echo_die(const char *what)
{
	perror(what);
	exit(1);
}

static inline int echo_listen(void)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_addr = { htonl(INADDR_LOOPBACK) },
	};
	socklen_t bytes = sizeof(addr);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	signal(SIGPIPE, SIG_IGN);
	if (fd < 0 || bind(fd, (struct sockaddr *)&addr, bytes) < 0 ||
	    listen(fd, ECHO_BACKLOG) < 0 ||
	    getsockname(fd, (struct sockaddr *)&addr, &bytes) < 0)
		echo_die("listen");
	printf("port %d\n", ntohs(addr.sin_port));
	fflush(stdout);
	return fd;
}

static inline void echo_set_up(int connection)
{
	int on = 1;

	setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

static inline int echo_accept(int fd)
{
	int connection = accept(fd, NULL, NULL);

	if (connection < 0)
		echo_die("accept");
	echo_set_up(connection);
	return connection;
}

#endif

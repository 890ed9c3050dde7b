/* SPDX-License-Identifier: MIT */
/*
 * A server is killed while its threads wait for clients, by each call that can
 * wait for them. A new server that starts at once must get the same address. A
 * ring's request kept the socket for some milliseconds after waitpid had
 * returned.
 */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "rest.h"

enum { NR_ROUNDS = 3, NR_THREADS = 4 };

static union {
	struct sockaddr any;
	struct sockaddr_in in;
	struct sockaddr_un un;
} address;
static socklen_t address_bytes;
static int server;

static void by_accept(void)
{
	int fd = accept(server, NULL, NULL);

	CHECK(fd >= 0);
	close(fd);
}

static void by_poll(void)
{
	struct pollfd fds[] = { { server, POLLIN, 0 }, { -1, 0, 0 } };

	CHECK_EQ(poll(fds, 2, -1), 1);
}

static void by_select(void)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(server, &set);
	CHECK_EQ(select(server + 1, &set, NULL, NULL, NULL), 1);
}

static void by_recv(void)
{
	char byte;

	CHECK_EQ(recv(server, &byte, 1, 0), 1);
}

static void by_recvfrom(void)
{
	struct sockaddr_storage from;
	socklen_t bytes = sizeof(from);
	char byte;

	CHECK_EQ(recvfrom(server, &byte, 1, 0, (struct sockaddr *)&from,
			  &bytes),
		 1);
}

static void by_recvmsg(void)
{
	char byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	CHECK_EQ(recvmsg(server, &msg, 0), 1);
}

static void by_read(void)
{
	char byte;

	CHECK_EQ(read(server, &byte, 1), 1);
}

static const struct way {
	const char *name;
	void (*wait)(void);
	int family, type;
} ways[] = {
	{ "accept", by_accept, AF_INET, SOCK_STREAM },
	{ "accept", by_accept, AF_UNIX, SOCK_STREAM },
	{ "accept", by_accept, AF_UNIX, SOCK_SEQPACKET },
	{ "poll", by_poll, AF_INET, SOCK_STREAM },
	{ "select", by_select, AF_INET, SOCK_STREAM },
	{ "poll", by_poll, AF_INET, SOCK_DGRAM },
	{ "recv", by_recv, AF_INET, SOCK_DGRAM },
	{ "recvfrom", by_recvfrom, AF_INET, SOCK_DGRAM },
	{ "recvmsg", by_recvmsg, AF_UNIX, SOCK_DGRAM },
	{ "read", by_read, AF_INET, SOCK_DGRAM },
};

static const struct way *way;

/* Chooses a new address; a Unix socket's needs no file. */
static void choose_address(void)
{
	memset(&address, 0, sizeof(address));
	if (way->family == AF_INET) {
		address.in.sin_family = AF_INET;
		address.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		address_bytes = sizeof(address.in);
		return;
	}
	address.un.sun_family = AF_UNIX;
	address_bytes = (socklen_t)sizeof(sa_family_t);
}

static int try_to_serve(void)
{
	server = socket(way->family, way->type, 0);
	CHECK(server >= 0);
	if (bind(server, &address.any, address_bytes) < 0) {
		CHECK_EQ(errno, EADDRINUSE);
		return 0;
	}
	return way->type == SOCK_DGRAM || listen(server, 10) == 0;
}

static void *serve(void *arg)
{
	for (;;)
		way->wait();
	return arg;
}

static void run_until_killed(void)
{
	pthread_t thread;

	for (int i = 0; i < NR_THREADS; i++)
		pthread_create(&thread, NULL, serve, NULL);
	for (;;)
		pause();
}

static int round_with(int sig)
{
	pid_t pid = fork();
	int status, nr_refused = 0;

	if (pid == 0)
		run_until_killed();
	CHECK_EQ(close(server), 0);
	/*
	 * The test does not depend on it, but a waiting thread is the harder
	 * case.
	 */
	await_rest_of(pid);
	CHECK_EQ(kill(pid, sig), 0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFSIGNALED(status));
	while (!try_to_serve()) {
		nr_refused = 1;
		close(server);
		usleep(1000);
	}
	return nr_refused;
}

int main(void)
{
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		int nr_refused = 0;

		way = &ways[i];
		choose_address();
		CHECK(try_to_serve());
		address_bytes = sizeof(address);
		CHECK_EQ(getsockname(server, &address.any, &address_bytes), 0);
		for (int round = 0; round < NR_ROUNDS; round++)
			nr_refused +=
				round_with(round == 0 ? SIGTERM : SIGKILL);
		close(server);
		printf("%s, family %d, type %d: %d times in use\n", way->name,
		       way->family, way->type, nr_refused);
	}
	return 0;
}

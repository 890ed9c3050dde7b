/* SPDX-License-Identifier: MIT */
/*
 * Threads read sockets and are interrupted and cancelled, the sockets are shut
 * down, and their numbers are used again and again. Each message names its
 * connection: no reader may get another connection's message, and none is lost.
 */
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "stress.h"

#define NR_PAIRS 24

static long nr_rounds;
static _Atomic long nr_messages;

struct message {
	long who, number;
};

struct connection {
	long who;
	int ends[2];
	_Atomic long nr_read;
};

static void on_signal(int sig)
{
}

/* Reads in one of several ways; the result is the same. */
static ssize_t read_somehow(int fd, struct message *m, long how)
{
	struct timeval limit = { 5, 0 };
	struct pollfd p = { fd, POLLIN, 0 };

	switch (how) {
	case 0:
		return read(fd, m, sizeof(*m));
	case 1:
		if (poll(&p, 1, -1) < 0)
			return -1;
		return recv(fd, m, sizeof(*m), 0);
	case 2:
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
		return recv(fd, m, sizeof(*m), 0);
	default:
		return recv(fd, m, sizeof(*m), 0);
	}
}

static void *read_all(void *arg)
{
	struct connection *c = arg;
	uint64_t random = random_start(c->who);

	for (;;) {
		struct message m = { -1, -1 };
		ssize_t n =
			read_somehow(c->ends[0], &m, random_below(&random, 4));

		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n == 0)
			return NULL;
		CHECK_EQ(n, sizeof(m));
		CHECK_EQ(m.who, c->who);
		CHECK_EQ(m.number, c->nr_read);
		c->nr_read++;
		nr_messages++;
	}
}

static void *wait_to_be_cancelled(void *arg)
{
	const struct connection *c = arg;
	char byte;

	/* Waits in the direction in which no data is sent. */
	recv(c->ends[1], &byte, 1, 0);
	return NULL;
}

static void one_connection(struct connection *c, uint64_t *random)
{
	long nr = random_below(random, 30);
	pthread_t reader, other = 0;
	const bool has_other = random_below(random, 3) == 0;

	CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, c->ends), 0);
	reader = thread_start(read_all, c);
	if (has_other)
		other = thread_start(wait_to_be_cancelled, c);
	for (long i = 0; i < nr; i++) {
		struct message m = { c->who, i };

		CHECK_EQ(send(c->ends[1], &m, sizeof(m), 0), sizeof(m));
		if (random_below(random, 4) == 0)
			CHECK_EQ(pthread_kill(reader, SIGUSR1), 0);
		stress_disturb(random);
	}
	if (has_other) {
		CHECK_EQ(pthread_cancel(other), 0);
		CHECK(thread_join(other) == PTHREAD_CANCELED);
	}
	while (c->nr_read < nr)
		sched_yield();
	CHECK_EQ(shutdown(c->ends[0], SHUT_RDWR), 0);
	thread_join(reader);
	CHECK_EQ(close(c->ends[0]), 0);
	CHECK_EQ(close(c->ends[1]), 0);
}

static void *make_connections(void *arg)
{
	uint64_t random = random_start(1000 + (intptr_t)arg);

	for (long i = 0; i < nr_rounds; i++) {
		struct connection c = {
			.who = ((intptr_t)arg + 1) * 1000000 + i,
		};

		one_connection(&c, &random);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_signal };
	pthread_t threads[NR_PAIRS];

	stress_begin(argc, argv);
	nr_rounds = stress_scale(60);
	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	threads_start_numbered(threads, NR_PAIRS, make_connections);
	threads_join(threads, NR_PAIRS);
	printf("%ld messages\n", (long)nr_messages);
	return stress_end();
}

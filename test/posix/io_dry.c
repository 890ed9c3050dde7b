/* SPDX-License-Identifier: MIT */
/*
 * Waits as servers make them: a non-blocking receive finds nothing, poll waits,
 * then the receive runs again.
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "sockets.h"

enum { NR_ROUNDS = 100, LIMIT_MS = 5000 };

static void find_nothing(int fd)
{
	char c;

	CHECK_ERRNO(recv(fd, &c, 1, MSG_DONTWAIT), EAGAIN);
}

/* Receives one byte of pair[0]. *nr_waits counts the polls that had to wait. */
static char receive_by_poll(int *nr_waits)
{
	struct pollfd fd = { pair[0], POLLIN | POLLPRI, 9 };
	char c;

	while (recv(pair[0], &c, 1, MSG_DONTWAIT) != 1) {
		CHECK_EQ(errno, EAGAIN);
		CHECK_EQ(poll(&fd, 1, LIMIT_MS), 1);
		CHECK_EQ(fd.revents, POLLIN);
		++*nr_waits;
	}
	return c;
}

static void *echo_by_poll(void *arg)
{
	int nr_waits = 0;

	for (int i = 0; i < NR_ROUNDS; i++) {
		char c = receive_by_poll(&nr_waits);

		CHECK_EQ(c, (char)i);
		CHECK_EQ(send(pair[0], &c, 1, 0), 1);
	}
	/* The peer asks for each answer, so most questions arrive late. */
	CHECK(nr_waits > 0);
	return arg;
}

static void ask_all(void)
{
	pthread_t thread = thread_start(echo_by_poll, NULL);

	for (int i = 0; i < NR_ROUNDS; i++) {
		char c = (char)i;

		CHECK_EQ(write(pair[1], &c, 1), 1);
		CHECK_EQ(read(pair[1], &c, 1), 1);
		CHECK_EQ(c, (char)i);
	}
	thread_join(thread);
}

TEST(echo_of_a_local_stream)
{
	make_pair(SOCK_STREAM);
	ask_all();
}

TEST(echo_of_datagrams)
{
	make_pair(SOCK_DGRAM);
	ask_all();
}

TEST(echo_by_tcp)
{
	make_tcp_pair();
	ask_all();
}

TEST(time_is_over)
{
	struct pollfd fd = { .events = POLLIN, .revents = 9 };
	int64_t start = now_ns();

	have_threads();
	make_pair(SOCK_STREAM);
	fd.fd = pair[0];
	find_nothing(pair[0]);
	CHECK_EQ(poll(&fd, 1, 0), 0);
	CHECK_EQ(poll(&fd, 1, 30), 0);
	CHECK_EQ(fd.revents, 0);
	CHECK(now_ns() - start >= 30 * NS_PER_MS);
}

/* The poll is not for the empty descriptor, or not for it alone. */
TEST(others_are_polled)
{
	struct pollfd fds[2];
	int dry;

	have_threads();
	make_pair(SOCK_STREAM);
	dry = pair[0];
	make_pair(SOCK_STREAM);
	CHECK_EQ(write(pair[1], "o", 1), 1);
	fds[0] = (struct pollfd){ dry, POLLIN, 9 };
	fds[1] = (struct pollfd){ pair[0], POLLIN, 9 };
	find_nothing(dry);
	CHECK_EQ(poll(fds, 2, LIMIT_MS), 1);
	CHECK_EQ(fds[0].revents, 0);
	CHECK_EQ(fds[1].revents, POLLIN);
	find_nothing(dry);
	CHECK_EQ(poll(&fds[1], 1, LIMIT_MS), 1);
	fds[0].events = POLLIN | POLLOUT;
	find_nothing(dry);
	CHECK_EQ(poll(fds, 1, LIMIT_MS), 1);
	CHECK_EQ(fds[0].revents, POLLOUT);
	fds[0].fd = 9999;
	find_nothing(dry);
	CHECK_EQ(poll(fds, 1, LIMIT_MS), 1);
	CHECK_EQ(fds[0].revents, POLLNVAL);
}

static _Atomic int nr_handled;

static void count_signal(int sig)
{
	nr_handled++;
}

/* A ready descriptor is reported before the mask lets a signal in. */
TEST(ready_to_be_written_beside_a_signal)
{
	const struct timespec limit = { 0, 900 * NS_PER_MS };
	struct pollfd fd = { .events = POLLWRNORM };
	sigset_t closed, open;

	have_threads();
	signal(SIGUSR1, count_signal);
	sigemptyset(&open);
	sigemptyset(&closed);
	sigaddset(&closed, SIGUSR1);
	CHECK_EQ(pthread_sigmask(SIG_BLOCK, &closed, NULL), 0);
	CHECK_EQ(pthread_kill(pthread_self(), SIGUSR1), 0);
	make_pair(SOCK_STREAM);
	fd.fd = pair[0];
	find_nothing(pair[0]);
	CHECK_EQ(ppoll(&fd, 1, &limit, &open), 1);
	CHECK_EQ(fd.revents, POLLWRNORM);
	CHECK_EQ(nr_handled, 0);
}

static int (*end_stream)(void);

static int shut_stream(void)
{
	return shutdown(pair[1], SHUT_WR);
}

static int close_stream(void)
{
	return close(pair[1]);
}

static void *end_later(void *arg)
{
	await_rest();
	CHECK_EQ(end_stream(), 0);
	return arg;
}

static int revents_at_end(int (*end)(void))
{
	struct pollfd fd = { pair[0], POLLIN | POLLRDHUP, 9 };
	pthread_t thread;

	end_stream = end;
	thread = thread_start(end_later, NULL);
	find_nothing(pair[0]);
	CHECK_EQ(poll(&fd, 1, LIMIT_MS), 1);
	thread_join(thread);
	return fd.revents;
}

TEST(stream_ends)
{
	make_pair(SOCK_STREAM);
	CHECK_EQ(revents_at_end(shut_stream), POLLIN | POLLRDHUP);
	make_pair(SOCK_STREAM);
	CHECK_EQ(revents_at_end(close_stream), POLLIN | POLLRDHUP | POLLHUP);
	make_tcp_pair();
	CHECK_EQ(revents_at_end(close_stream), POLLIN | POLLRDHUP);
}

static void *send_urgent(void *arg)
{
	await_rest();
	CHECK_EQ(send(pair[1], "u", 1, MSG_OOB), 1);
	return arg;
}

/* poll may report POLLIN without data, but must report POLLPRI in the end. */
TEST(urgent_data)
{
	struct pollfd fd = { .events = POLLIN | POLLPRI };
	pthread_t thread;
	char c = 0;

	make_tcp_pair();
	fd.fd = pair[0];
	thread = thread_start(send_urgent, NULL);
	do {
		find_nothing(pair[0]);
		CHECK_EQ(poll(&fd, 1, LIMIT_MS), 1);
	} while ((fd.revents & POLLPRI) == 0);
	CHECK_EQ(recv(pair[0], &c, 1, MSG_OOB), 1);
	CHECK_EQ(c, 'u');
	thread_join(thread);
}

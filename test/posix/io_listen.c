/* SPDX-License-Identifier: MIT */
/*
 * Many threads wait on one socket for connections or messages. Each connection
 * and each message wakes one thread, which takes it. A shutdown of the socket
 * wakes all; a close of its number ends no wait.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/select.h>

#include "sockets.h"

enum { NR_CROWD = 12, NR_ROUNDS = 200 };

static pthread_barrier_t all_have_one;

static void make_listener(void)
{
	listener = loopback_socket(SOCK_STREAM);
	CHECK_EQ(listen(listener, 100), 0);
}

static void knock(void)
{
	int fd = inet_socket(SOCK_STREAM);

	connect_to_it(fd);
	CHECK_EQ(close(fd), 0);
}

static void send_byte(char byte)
{
	int fd = inet_socket(SOCK_DGRAM);

	connect_to_it(fd);
	CHECK_EQ(send(fd, &byte, 1, 0), 1);
	CHECK_EQ(close(fd), 0);
}

/* --- a connection wakes one thread --------------------------------------- */

static void *accept_and_meet(void *arg)
{
	for (int i = 0; i < NR_ROUNDS; i++) {
		int fd = accept(listener, NULL, NULL);

		CHECK(fd >= 0);
		pthread_barrier_wait(&all_have_one);
		CHECK_EQ(close(fd), 0);
	}
	return arg;
}

static void *receive_and_meet(void *arg)
{
	char byte;

	for (int i = 0; i < NR_ROUNDS; i++) {
		CHECK_EQ(recv(listener, &byte, 1, 0), 1);
		pthread_barrier_wait(&all_have_one);
	}
	return arg;
}

/* No thread takes a second connection before each has one. */
static void meet(void *(*take)(void *), void (*send_one)(int))
{
	pthread_t threads[NR_CROWD];

	CHECK_EQ(pthread_barrier_init(&all_have_one, NULL, NR_CROWD + 1), 0);
	threads_start(threads, NR_CROWD, take, NULL);
	for (int round = 0; round < NR_ROUNDS; round++) {
		for (int i = 0; i < NR_CROWD; i++)
			send_one(i);
		pthread_barrier_wait(&all_have_one);
	}
	threads_join(threads, NR_CROWD);
}

static void call_once(int i)
{
	(void)i;
	knock();
}

static void send_once(int i)
{
	send_byte((char)i);
}

TEST(each_connection_wakes_one)
{
	make_listener();
	meet(accept_and_meet, call_once);
}

TEST(each_message_wakes_one)
{
	listener = loopback_socket(SOCK_DGRAM);
	meet(receive_and_meet, send_once);
}

/* --- a thread that leaves takes nothing ----------------------------------- */

static _Atomic int nr_taken, nr_interrupted;

/* Accepts the connections that no thread has accepted. */
static void drain(void)
{
	struct pollfd now = { listener, POLLIN, 0 };

	while (poll(&now, 1, 0) == 1)
		CHECK_EQ(close(accept(listener, NULL, NULL)), 0);
}

static void *accept_or_leave(void *arg)
{
	int fd = accept(listener, NULL, NULL);

	if (fd >= 0) {
		CHECK_EQ(close(fd), 0);
		nr_taken++;
	} else {
		CHECK_EQ(errno, EINTR);
		nr_interrupted++;
	}
	return arg;
}

/* Half of the threads are interrupted while as many connections arrive. */
TEST(interrupted_threads_lose_no_connection)
{
	pthread_t threads[NR_CROWD];

	handle(SIGUSR1, on_signal, 0);
	make_listener();
	for (int round = 0; round < NR_ROUNDS; round++) {
		nr_taken = nr_interrupted = 0;
		threads_start(threads, NR_CROWD, accept_or_leave, NULL);
		if (round % 2 == 0)
			await_rest();
		for (int i = 0; i < NR_CROWD / 2; i++) {
			knock();
			pthread_kill(threads[i], SIGUSR1);
		}
		await_count(&nr_taken, NR_CROWD / 2);
		/* A handler may have run before the accept began. */
		for (int i = 0; i < NR_CROWD / 2; i++)
			knock();
		while (nr_taken + nr_interrupted < NR_CROWD)
			usleep(100);
		threads_join(threads, NR_CROWD);
		drain();
	}
}

/* --- sockets that are shut down ------------------------------------------ */

static void *accept_one(void *arg)
{
	int fd = listener;

	is_ready = 1;
	return outcome(accept(fd, NULL, NULL));
}

static void *receive_one(void *arg)
{
	int fd = listener;
	char byte = 0;
	ssize_t n;

	is_ready = 1;
	n = recv(fd, &byte, 1, 0);
	return outcome(n > 0 ? byte : n);
}

TEST(shutdown_ends_all_receives)
{
	pthread_t threads[NR_CROWD];

	for (int round = 0; round < 20; round++) {
		listener = loopback_socket(SOCK_DGRAM);
		threads_start(threads, NR_CROWD, receive_one, NULL);
		let_it_wait(&is_ready);
		/*
		 * A UDP socket without a peer returns ENOTCONN, but the readers
		 * end.
		 */
		shutdown(listener, SHUT_RDWR);
		for (int i = 0; i < NR_CROWD; i++)
			CHECK_EQ(result_of(threads[i]), 0);
		CHECK_EQ(close(listener), 0);
	}
}

/* shutdown and close follow at once, so all threads have to accept before. */
static _Atomic int nr_before;

static void *accept_until_closed(void *arg)
{
	int fd = listener;
	long rc;

	nr_before++;
	rc = accept(fd, NULL, NULL);
	return (void *)(intptr_t)(rc < 0 && errno == EINVAL);
}

TEST(shutdown_then_close_ends_all_accepts)
{
	pthread_t threads[NR_CROWD];

	for (int round = 0; round < 20; round++) {
		make_listener();
		nr_before = 0;
		threads_start(threads, NR_CROWD, accept_until_closed, NULL);
		await_count(&nr_before, NR_CROWD);
		await_rest();
		CHECK_EQ(shutdown(listener, SHUT_RDWR), 0);
		CHECK_EQ(close(listener), 0);
		for (int i = 0; i < NR_CROWD; i++)
			CHECK_EQ(result_of(threads[i]), 1);
	}
}

/* --- sockets that are closed --------------------------------------------- */

/* A wait is on the file; a later wait on the same number is on the new file. */
static void reuse(int type, void *(*wait)(void *))
{
	struct sockaddr_in old;
	pthread_t first, second;
	int number;

	listener = loopback_socket(type);
	if (type == SOCK_STREAM)
		CHECK_EQ(listen(listener, 1), 0);
	old = address;
	number = listener;
	is_ready = 0;
	first = thread_start(wait, NULL);
	let_it_wait(&is_ready);
	CHECK_EQ(close(listener), 0);
	listener = loopback_socket(type);
	CHECK_EQ(listener, number);
	if (type == SOCK_STREAM)
		CHECK_EQ(listen(listener, 1), 0);
	is_ready = 0;
	second = thread_start(wait, NULL);
	let_it_wait(&is_ready);
	if (type == SOCK_STREAM)
		knock();
	else
		send_byte('n');
	CHECK(result_of(second) > 0);
	address = old;
	if (type == SOCK_STREAM)
		knock();
	else
		send_byte('o');
	CHECK(result_of(first) > 0);
	CHECK_EQ(close(listener), 0);
}

TEST(accepts_of_a_number_that_is_used_again)
{
	for (int round = 0; round < 10; round++)
		reuse(SOCK_STREAM, accept_one);
}

TEST(receives_of_a_number_that_is_used_again)
{
	for (int round = 0; round < 10; round++)
		reuse(SOCK_DGRAM, receive_one);
}

/* --- waits that end in other ways ---------------------------------------- */

TEST(handler_ends_an_accept)
{
	make_listener();
	CHECK_EQ(after_handler(accept_one, 0, knock), -EINTR);
}

TEST(handler_with_restart_does_not)
{
	make_listener();
	CHECK(after_handler(accept_one, SA_RESTART, knock) > 0);
}

TEST(accept_is_cancelled)
{
	make_listener();
	is_cancelled_in(accept_one, NULL);
}

TEST(accept_has_a_limit)
{
	struct timeval limit = { 0, 20000 };

	make_listener();
	CHECK_EQ(setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &limit,
			    sizeof(limit)),
		 0);
	CHECK_EQ(result_of(thread_start(accept_one, NULL)), -EAGAIN);
}

TEST(receive_is_cancelled)
{
	listener = loopback_socket(SOCK_DGRAM);
	is_cancelled_in(receive_one, NULL);
}

/* --- poll ----------------------------------------------------------------- */

static struct pollfd polled;

static void *poll_one(void *arg)
{
	polled = (struct pollfd){ listener, POLLIN, 0 };
	is_ready = 1;
	return outcome(poll(&polled, 1, -1));
}

static void *select_one(void *arg)
{
	int nr = listener + 1;
	fd_set reads;

	FD_ZERO(&reads);
	FD_SET(listener, &reads);
	is_ready = 1;
	return outcome(select(nr, &reads, NULL, NULL, NULL));
}

static void send_one(void)
{
	send_byte('p');
}

/* A connection wakes several pollers, and one of them accepts it. */
static void *poll_and_accept(void *arg)
{
	for (;;) {
		struct pollfd now = { listener, POLLIN, 0 };
		int fd;

		CHECK_EQ(poll(&now, 1, -1), 1);
		fd = accept(listener, NULL, NULL);
		if (fd < 0 && errno != EAGAIN)
			return arg;
		if (fd >= 0) {
			CHECK_EQ(close(fd), 0);
			nr_taken++;
		}
	}
}

enum { GO = 'g' }; /* the message that ends a receiver */

static void *receive_until_told(void *arg)
{
	char byte;

	while (recv(listener, &byte, 1, 0) == 1 && byte != GO)
		nr_taken++;
	return arg;
}

static void *poll_and_receive(void *arg)
{
	char byte = 0;

	while (byte != GO) {
		struct pollfd now = { listener, POLLIN, 0 };

		CHECK_EQ(poll(&now, 1, -1), 1);
		if (recv(listener, &byte, 1, MSG_DONTWAIT) == 1 && byte != GO)
			nr_taken++;
	}
	return arg;
}

static void give_all(void (*give)(void))
{
	for (int i = 1; i <= NR_ROUNDS; i++) {
		give();
		if (i % 8 == 0)
			await_count(&nr_taken, i);
	}
}

TEST(connections_for_pollers)
{
	pthread_t threads[NR_CROWD];

	make_listener();
	CHECK_EQ(fcntl(listener, F_SETFL, O_NONBLOCK), 0);
	threads_start(threads, NR_CROWD, poll_and_accept, NULL);
	give_all(knock);
	CHECK_EQ(shutdown(listener, SHUT_RDWR), 0);
	threads_join(threads, NR_CROWD);
	CHECK_EQ(nr_taken, NR_ROUNDS);
}

TEST(messages_for_polling_receivers)
{
	pthread_t threads[2 * NR_CROWD];

	listener = loopback_socket(SOCK_DGRAM);
	threads_start(threads, NR_CROWD, poll_and_receive, NULL);
	threads_start(threads + NR_CROWD, NR_CROWD, receive_until_told, NULL);
	give_all(send_one);
	for (int i = 0; i < 2 * NR_CROWD; i++)
		send_byte(GO);
	threads_join(threads, 2 * NR_CROWD);
	CHECK_EQ(nr_taken, NR_ROUNDS);
}

TEST(handlers_and_cancellation_end_polls_of_a_listener)
{
	make_listener();
	CHECK_EQ(after_handler(poll_one, SA_RESTART, knock), -EINTR);
	drain();
	CHECK_EQ(after_handler(select_one, SA_RESTART, knock), -EINTR);
	drain();
	is_cancelled_in(poll_one, NULL);
	is_cancelled_in(select_one, NULL);
	polled = (struct pollfd){ listener, POLLIN, 0 };
	CHECK_EQ(poll(&polled, 1, 20), 0);
}

/* Returns whether the wait began before the close. */
static bool poll_and_close(void)
{
	int client = inet_socket(SOCK_STREAM);
	pthread_t thread;
	bool is_in_time;

	make_listener();
	is_ready = 0;
	thread = thread_start(poll_one, NULL);
	let_it_wait(&is_ready);
	CHECK_EQ(close(listener), 0);
	is_in_time = connect(client, (struct sockaddr *)&address,
			     sizeof(address)) == 0;
	CHECK_EQ(result_of(thread), 1);
	CHECK_EQ(polled.revents, POLLNVAL);
	CHECK_EQ(close(client), 0);
	return is_in_time;
}

/* The wait is on the file; the number is checked after it. */
TEST(poll_of_a_listener_that_is_closed)
{
	enum { MOST = 20 };
	bool is_done = false;

	for (int i = 0; i < MOST && !is_done; i++)
		is_done = poll_and_close();
	CHECK(is_done);
}

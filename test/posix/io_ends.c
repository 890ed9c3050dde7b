/* SPDX-License-Identifier: MIT */
/*
 * Events that end a call on a socket which has moved some bytes. The next call
 * returns the error of a reset connection. A shutdown ends a waiting send. A
 * receive of all bytes waits up to urgent data, and obeys a low-water mark.
 */
#include <errno.h>
#include <linux/sockios.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>

#include "check.h"
#include "sockets.h"
#include "threading.h"

enum { MANY = 4 << 20, PART = 40, ALL = 100 };

static char data[MANY];

static void reset(int fd)
{
	struct linger none = { 1, 0 };

	CHECK_EQ(setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none)), 0);
	CHECK_EQ(close(fd), 0);
}

static void *receive_all(void *arg)
{
	is_ready = 1;
	return (void *)recv(pair[0], data, ALL, MSG_WAITALL);
}

static void *send_many(void *arg)
{
	ssize_t n;

	is_ready = 1;
	n = send(pair[0], data, MANY, MSG_NOSIGNAL);
	return (void *)(n < 0 ? -errno : n);
}

TEST(reset_after_unread_data)
{
	pthread_t receiver;

	make_tcp_pair();
	CHECK_EQ(write(pair[1], data, PART), PART);
	receiver = thread_start(receive_all, NULL);
	let_it_wait(&is_ready);
	reset(pair[1]);
	CHECK_EQ((long)thread_join(receiver), PART);
	CHECK_ERRNO(recv(pair[0], data, ALL, 0), ECONNRESET);
}

/* Starts a receiver and sends a part of the bytes while it waits. */
static pthread_t receive_part(void *(*receive)(void *))
{
	pthread_t receiver;

	make_tcp_pair();
	receiver = thread_start(receive, NULL);
	let_it_wait(&is_ready);
	CHECK_EQ(write(pair[1], data, PART), PART);
	await_rest();
	return receiver;
}

TEST(reset_after_received_data)
{
	pthread_t receiver = receive_part(receive_all);

	reset(pair[1]);
	CHECK_EQ((long)thread_join(receiver), PART);
	CHECK_ERRNO(recv(pair[0], data, ALL, 0), ECONNRESET);
}

TEST(reset_after_a_partial_send)
{
	pthread_t sender;
	long n;

	make_tcp_pair();
	sender = thread_start(send_many, NULL);
	let_it_wait(&is_ready);
	reset(pair[1]);
	n = (long)thread_join(sender);
	CHECK(n > 0 && n < MANY);
	CHECK_ERRNO(send(pair[0], data, 1, 0), ECONNRESET);
}

/* Fills the socket's queue, so the next send waits. */
static void fill(int type)
{
	size_t bytes = type == SOCK_STREAM ? sizeof(data) : 1000;

	while (send(pair[0], data, bytes, MSG_DONTWAIT) > 0)
		continue;
	CHECK_EQ(errno, EAGAIN);
}

static void *send_one(void *arg)
{
	is_ready = 1;
	return (void *)(send(pair[0], data, 1000, MSG_NOSIGNAL) < 0 ? -errno :
								      0L);
}

static void shut_down(int type, int end, int how)
{
	pthread_t sender;

	make_pair(type);
	fill(type);
	is_ready = 0;
	sender = thread_start(send_one, NULL);
	let_it_wait(&is_ready);
	CHECK_EQ(shutdown(pair[end], how), 0);
	CHECK_EQ((long)thread_join(sender), -EPIPE);
	CHECK_EQ(close(pair[0]), 0);
	CHECK_EQ(close(pair[1]), 0);
}

TEST(shutdowns_end_senders)
{
	static const int types[] = { SOCK_STREAM, SOCK_SEQPACKET };

	for (int i = 0; i < 2; i++) {
		shut_down(types[i], 0, SHUT_WR);
		shut_down(types[i], 1, SHUT_RD);
		shut_down(types[i], 0, SHUT_RDWR);
	}
	shut_down(SOCK_DGRAM, 0, SHUT_WR);
}

TEST(shutdown_after_a_partial_send)
{
	pthread_t sender;
	long n;

	make_pair(SOCK_STREAM);
	sender = thread_start(send_many, NULL);
	let_it_wait(&is_ready);
	CHECK_EQ(shutdown(pair[0], SHUT_WR), 0);
	n = (long)thread_join(sender);
	CHECK(n > 0 && n < MANY);
	CHECK_ERRNO(send(pair[0], data, 1, MSG_NOSIGNAL), EPIPE);
}

/* The peer closes with unread data, which is another error than an end. */
TEST(peer_that_has_not_read)
{
	pthread_t sender;

	make_pair(SOCK_STREAM);
	fill(SOCK_STREAM);
	CHECK_EQ(write(pair[1], data, 1), 1);
	sender = thread_start(send_one, NULL);
	let_it_wait(&is_ready);
	CHECK_EQ(close(pair[1]), 0);
	CHECK_EQ((long)thread_join(sender), -ECONNRESET);
}

static void *receive_some(void *arg)
{
	is_ready = 1;
	return (void *)recv(pair[0], data, ALL, 0);
}

TEST(low_water_mark)
{
	const int mark = 2 * PART;
	pthread_t receiver;

	make_pair(SOCK_STREAM);
	CHECK_EQ(setsockopt(pair[0], SOL_SOCKET, SO_RCVLOWAT, &mark,
			    sizeof(mark)),
		 0);
	CHECK_EQ(write(pair[1], data, PART), PART);
	receiver = thread_start(receive_some, NULL);
	let_it_wait(&is_ready);
	CHECK_EQ(write(pair[1], data, PART), PART);
	CHECK_EQ((long)thread_join(receiver), mark);
}

static void *drop_all(void *arg)
{
	is_ready = 1;
	return (void *)recv(pair[0], data, ALL, MSG_TRUNC | MSG_WAITALL);
}

TEST(drop_in_parts)
{
	pthread_t receiver = receive_part(drop_all);

	CHECK_EQ(write(pair[1], data, ALL), ALL);
	CHECK_EQ((long)thread_join(receiver), ALL);
	CHECK_EQ(recv(pair[0], data, ALL, MSG_DONTWAIT), PART);
}

/* Returns when all bytes that the TCP socket has sent are acknowledged. */
static void await_arrival(int fd)
{
	int nr;

	do {
		sleep_ms(1);
		CHECK_EQ(ioctl(fd, SIOCOUTQ, &nr), 0);
	} while (nr > 0);
}

TEST(urgent_data_ends_a_receive_of_all)
{
	char byte = 0;

	make_tcp_pair();
	CHECK_EQ(send(pair[1], "abc", 3, 0), 3);
	CHECK_EQ(send(pair[1], "!", 1, MSG_OOB), 1);
	CHECK_EQ(send(pair[1], "def", 3, 0), 3);
	await_arrival(pair[1]);
	CHECK_EQ((long)thread_join(thread_start(receive_all, NULL)), 3);
	CHECK_EQ(recv(pair[0], &byte, 1, MSG_OOB), 1);
	CHECK_EQ(byte, '!');
}

static void *sleep_by_clocks(void *arg)
{
	static const clockid_t clocks[] = { CLOCK_BOOTTIME, CLOCK_TAI };
	const struct timespec ms = { 0, NS_PER_MS };

	for (int i = 0; i < 100; i++)
		CHECK_EQ(clock_nanosleep(clocks[i % 2], 0, &ms, NULL), 0);
	return arg;
}

/*
 * Preemption signals, for which the program has no handler, must not end these
 * sleeps.
 */
TEST(sleeps_by_rare_clocks)
{
	pthread_t sleepers[4];

	threads_start(sleepers, 4, sleep_by_clocks, NULL);
	threads_join(sleepers, 4);
}

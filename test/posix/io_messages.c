/* SPDX-License-Identifier: MIT */
/* Several messages by one call: recvmmsg and sendmmsg. */
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "sockets.h"

enum { NR = 8, BYTES = 4096 };

static _Atomic int nr_done;

struct messages {
	struct mmsghdr headers[NR];
	struct iovec parts[NR];
	char bytes[NR][BYTES];
};

/* Returns buffers, each filled with its number. */
static struct messages *messages(void)
{
	static __thread struct messages m;

	memset(&m, 0, sizeof(m));
	for (int i = 0; i < NR; i++) {
		memset(m.bytes[i], '0' + i, BYTES);
		m.parts[i] = (struct iovec){ m.bytes[i], BYTES };
		m.headers[i].msg_hdr.msg_iov = &m.parts[i];
		m.headers[i].msg_hdr.msg_iovlen = 1;
	}
	return &m;
}

static void post(int nr)
{
	char c = 'a';

	for (int i = 0; i < nr; i++, c++)
		CHECK_EQ(send(pair[1], &c, 1, 0), 1);
}

static void *receive(void *flags)
{
	struct messages *m = messages();
	int n;

	is_ready = 1;
	n = recvmmsg(pair[0], m->headers, NR, (int)(intptr_t)flags, NULL);
	for (int i = 0; i < n; i++)
		CHECK_EQ(m->headers[i].msg_len, 1);
	return outcome(n);
}

TEST(all_are_waited_for)
{
	pthread_t thread;

	make_pair(SOCK_DGRAM);
	post(3);
	thread = thread_start(receive, NULL);
	let_it_wait(&is_ready);
	post(2);
	others_go_on();
	CHECK_EQ(pthread_tryjoin_np(thread, NULL), EBUSY);
	post(3);
	CHECK_EQ(result_of(thread), NR);
}

TEST(one_is_waited_for)
{
	void *flags = (void *)(intptr_t)MSG_WAITFORONE;
	pthread_t thread;

	make_pair(SOCK_DGRAM);
	post(3);
	CHECK_EQ(result_of(thread_start(receive, flags)), 3);
	is_ready = 0;
	thread = thread_start(receive, flags);
	let_it_wait(&is_ready);
	others_go_on();
	CHECK_EQ(pthread_tryjoin_np(thread, NULL), EBUSY);
	post(1);
	CHECK_EQ(result_of(thread), 1);
}

static void post_one(void)
{
	post(1);
}

TEST(events_that_end_a_receive)
{
	struct timeval limit = { 0, 20000 };

	make_pair(SOCK_DGRAM);
	CHECK_EQ(after_handler(receive, 0, post_one), -EINTR);
	CHECK_EQ(recv(pair[0], pair, 0, MSG_DONTWAIT), 0);
	is_cancelled_in(receive, NULL);
	CHECK_EQ(setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &limit,
			    sizeof(limit)),
		 0);
	CHECK_EQ(result_of(thread_start(receive, NULL)), -EAGAIN);
	post(2);
	CHECK_EQ(result_of(thread_start(receive, NULL)), 2);
}

TEST(limits_of_time)
{
	struct timespec soon = { 0, NS_PER_MS }, none = { 0, -1 };
	struct timespec late = { 3600, 0 }, over = { 0, 0 };
	struct messages *m = messages();

	have_threads();
	make_pair(SOCK_DGRAM);
	CHECK_ERRNO(recvmmsg(pair[0], m->headers, NR, 0, &none), EINVAL);
	post(NR);
	CHECK_EQ(recvmmsg(pair[0], m->headers, NR, 0, &late), NR);
	CHECK(late.tv_sec == 3599);
	/* The time limit is checked after each message. */
	post(2);
	CHECK_EQ(recvmmsg(pair[0], m->headers, NR, 0, &over), 1);
	CHECK_EQ(recvmmsg(pair[0], m->headers, NR, MSG_DONTWAIT, NULL), 1);
	CHECK_ERRNO(recvmmsg(pair[0], m->headers, NR, MSG_DONTWAIT, NULL),
		    EAGAIN);
	CHECK_EQ(recvmmsg(pair[0], m->headers, 0, 0, NULL), 0);
	CHECK_ERRNO(recvmmsg(-1, m->headers, NR, 0, &soon), EBADF);
	CHECK_ERRNO(sendmmsg(-1, m->headers, NR, 0), EBADF);
}

static void *post_many(void *arg)
{
	for (int i = 0; i < 20; i++) {
		struct messages *m = messages();

		for (int done = 0; done < NR;) {
			int n = sendmmsg(pair[1], m->headers + done,
					 (unsigned int)(NR - done), 0);

			CHECK(n > 0);
			for (int j = done; j < done + n; j++)
				CHECK_EQ(m->headers[j].msg_len, BYTES);
			done += n;
		}
	}
	nr_done++;
	return arg;
}

/* Sends more than the socket takes, so the sender waits. */
static void all_arrive(int type)
{
	static char block[BYTES];
	pthread_t thread;

	make_pair(type);
	thread = thread_start(post_many, NULL);
	others_go_on();
	CHECK_EQ(nr_done, 0);
	for (int i = 0; i < 20 * NR; i++) {
		CHECK_EQ(recv(pair[0], block, BYTES, MSG_WAITALL), BYTES);
		CHECK_EQ(block[0], '0' + i % NR);
		CHECK_EQ(block[BYTES - 1], '0' + i % NR);
	}
	thread_join(thread);
}

TEST(datagrams_that_wait)
{
	all_arrive(SOCK_DGRAM);
}

TEST(packets_that_wait)
{
	all_arrive(SOCK_SEQPACKET);
}

TEST(streams_that_wait)
{
	all_arrive(SOCK_STREAM);
}

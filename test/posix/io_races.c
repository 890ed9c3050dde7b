/* SPDX-License-Identifier: MIT */
/*
 * Other threads close, replace or change a file or its number just when a call
 * begins, or between its first part and the rest.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "files.h"
#include "sockets.h"

static atomic_bool has_begun;

/* --- accept --------------------------------------------------------------- */

static int listener;

/* Returns the accepted connection, or -errno. */
static void *accept_one(void *arg)
{
	int fd;

	has_begun = true;
	fd = accept(listener, NULL, NULL);
	return (void *)(intptr_t)(fd < 0 ? -errno : fd);
}

static void replace_as_it_begins(int round)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	socklen_t bytes = sizeof(address);
	int client = socket(AF_UNIX, SOCK_STREAM, 0), ends[2];
	pthread_t thread;
	intptr_t got;

	listener = socket(AF_UNIX, SOCK_STREAM, 0);
	CHECK_EQ(bind(listener, (void *)&address, sizeof(sa_family_t)), 0);
	CHECK_EQ(getsockname(listener, (void *)&address, &bytes), 0);
	CHECK_EQ(listen(listener, 5), 0);
	CHECK_EQ(pipe(ends), 0);
	has_begun = false;
	thread = thread_start(accept_one, NULL);
	while (!has_begun)
		sched_yield();
	for (volatile int i = 0; i < round * 7 % 3000; i++)
		;
	CHECK_EQ(dup2(ends[0], listener), listener);
	connect(client, (void *)&address, bytes);
	got = (intptr_t)thread_join(thread);
	CHECK(got >= 0 || got == -ENOTSOCK);
	if (got >= 0)
		close((int)got);
	close(listener);
	close(client);
	close(ends[0]);
	close(ends[1]);
}

TEST(accept_as_its_number_goes)
{
	for (int i = 0; i < 500; i++)
		replace_as_it_begins(i);
}

/* --- transfers in several parts ------------------------------------------- */

enum { LONG = 200000 };

static char bytes[LONG];
static int writer_end;

static void *write_long(void *arg)
{
	return (void *)(intptr_t)write(writer_end, bytes, LONG);
}

static void replace_after_first_part(void)
{
	int ends[2], others[2];
	pthread_t thread;
	ssize_t n, all;

	CHECK_EQ(pipe(ends), 0);
	CHECK_EQ(pipe(others), 0);
	writer_end = ends[1];
	thread = thread_start(write_long, NULL);
	all = read(ends[0], bytes, 1);
	CHECK_EQ(dup2(others[1], ends[1]), ends[1]);
	while (all < LONG && (n = read(ends[0], bytes, LONG)) > 0)
		all += n;
	CHECK_EQ((intptr_t)thread_join(thread), LONG);
	CHECK_EQ(all, LONG);
	close(ends[0]);
	close(ends[1]);
	close(others[1]);
	CHECK_EQ(read(others[0], bytes, 1), 0);
	close(others[0]);
}

TEST(write_as_its_number_goes)
{
	for (int i = 0; i < 300; i++)
		replace_after_first_part();
}

/* --- pipes that are spliced ----------------------------------------------- */

static int from[2], to[2];

static void *read_some(void *arg)
{
	char data[10];

	is_ready = 1;
	return (void *)(intptr_t)read(from[0], data, sizeof(data));
}

static void *splice_three(void *arg)
{
	is_ready = 1;
	return (void *)(intptr_t)splice(from[0], NULL, to[1], NULL, 3, 0);
}

static void open_pipes(void)
{
	CHECK_EQ(pipe(from), 0);
	CHECK_EQ(pipe(to), 0);
	is_ready = 0;
}

TEST(read_of_a_pipe_that_is_spliced)
{
	pthread_t reader, splicer;

	open_pipes();
	reader = thread_start(read_some, NULL);
	let_it_wait(&is_ready);
	is_ready = 0;
	splicer = thread_start(splice_three, NULL);
	let_it_wait(&is_ready);
	/*
	 * The reader takes three bytes, the splice the rest, or the other way
	 * round.
	 */
	CHECK_EQ(write(from[1], "abcdef", 3), 3);
	await_rest();
	CHECK_EQ(write(from[1], "defghi", 6), 6);
	CHECK((intptr_t)thread_join(reader) >= 3);
	CHECK_EQ((intptr_t)thread_join(splicer), 3);
}

TEST(write_to_a_pipe_that_is_spliced)
{
	pthread_t writer;
	ssize_t n, all = 0;

	open_pipes();
	writer_end = from[1];
	writer = thread_start(write_long, NULL);
	/* The first part of the long write is in the pipe. */
	CHECK_EQ(read(from[0], bytes, 1), 1);
	CHECK_EQ(write(to[1], "abc", 3), 3);
	CHECK(splice(to[0], NULL, from[1], NULL, 3, SPLICE_F_NONBLOCK) == 3 ||
	      errno == EAGAIN);
	while (all < LONG - 1 && (n = read(from[0], bytes, LONG)) > 0)
		all += n;
	CHECK_EQ((intptr_t)thread_join(writer), LONG);
}

/* --- packets -------------------------------------------------------------- */

enum { NR_PACKETS = 200, NR_ROUNDS = 10 };

static int packets[NR_PACKETS][2];

static void *send_and_close(void *arg)
{
	for (int i = 0; i < NR_PACKETS; i++) {
		CHECK_EQ(write(packets[i][1], "last", 4), 4);
		close(packets[i][1]);
	}
	return arg;
}

static void receive_packets(void)
{
	pthread_t sender;
	char data[8];

	for (int i = 0; i < NR_PACKETS; i++)
		CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, packets[i]), 0);
	sender = thread_start(send_and_close, NULL);
	for (int i = 0; i < NR_PACKETS; i++) {
		CHECK_EQ(i % 2 == 0 ? read(packets[i][0], data, 8) :
				      recv(packets[i][0], data, 8, 0),
			 4);
		CHECK_EQ(recv(packets[i][0], data, 8, 0), 0);
		close(packets[i][0]);
	}
	thread_join(sender);
}

/* A reader sees the end only after the last packet. */
TEST(packet_before_the_end)
{
	for (int i = 0; i < NR_ROUNDS; i++)
		receive_packets();
}

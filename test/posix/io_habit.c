/* SPDX-License-Identifier: MIT */
/*
 * A reader whose reads have all had to wait finds a change at the next one:
 * another mode, a limit, data that is there, or another file with the same
 * number.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include "sockets.h"

enum { NR_WAITS = 100 };

static void *answer_all(void *arg)
{
	char c;

	for (int i = 0; i < NR_WAITS; i++) {
		CHECK_EQ(read(pair[0], &c, 1), 1);
		c++;
		CHECK_EQ(write(pair[0], &c, 1), 1);
	}
	return arg;
}

/*
 * Makes reads of pair[0] that all wait: each byte is written after the last
 * answer.
 */
static void make_habit(void)
{
	pthread_t thread = thread_start(answer_all, NULL);

	for (int i = 0; i < NR_WAITS; i++) {
		char c = (char)i, answer = 0;

		CHECK_EQ(write(pair[1], &c, 1), 1);
		CHECK_EQ(read(pair[1], &answer, 1), 1);
		CHECK_EQ(answer, (char)(c + 1));
	}
	thread_join(thread);
}

static long result_of_read(int fd)
{
	return result_of(reader_start(fd));
}

TEST(then_nonblocking)
{
	make_pair(SOCK_STREAM);
	make_habit();
	CHECK_EQ(fcntl(pair[0], F_SETFL, O_NONBLOCK), 0);
	CHECK_EQ(result_of_read(pair[0]), -EAGAIN);
	CHECK_EQ(fcntl(pair[0], F_SETFL, 0), 0);
	CHECK_EQ(write(pair[1], "b", 1), 1);
	CHECK_EQ(result_of_read(pair[0]), 'b');
}

/* Another descriptor of the same file sets O_NONBLOCK. */
TEST(then_nonblocking_elsewhere)
{
	int other;

	make_pair(SOCK_STREAM);
	other = dup(pair[0]);
	make_habit();
	CHECK_EQ(fcntl(other, F_SETFL, O_NONBLOCK), 0);
	CHECK_EQ(result_of_read(pair[0]), -EAGAIN);
}

static atomic_bool is_over;

static void *compute(void *arg)
{
	while (!is_over)
		;
	return arg;
}

/* Another thread computes meanwhile, so the VP is not idle. */
TEST(then_nonblocking_beside_others)
{
	pthread_t busy;
	int other;

	make_pair(SOCK_STREAM);
	other = dup(pair[0]);
	make_habit();
	busy = thread_start(compute, NULL);
	CHECK_EQ(fcntl(other, F_SETFL, O_NONBLOCK), 0);
	CHECK_EQ(result_of_read(pair[0]), -EAGAIN);
	CHECK_EQ(fcntl(other, F_SETFL, 0), 0);
	CHECK_EQ(write(pair[1], "b", 1), 1);
	CHECK_EQ(result_of_read(pair[0]), 'b');
	is_over = true;
	thread_join(busy);
}

/* Many readers at once, so no VP is idle meanwhile. */
TEST(then_many_nonblocking_elsewhere)
{
	enum { NR = 16 };
	pthread_t readers[NR];
	int fds[NR];

	for (int i = 0; i < NR; i++) {
		make_pair(SOCK_STREAM);
		make_habit();
		fds[i] = pair[0];
		CHECK_EQ(fcntl(dup(fds[i]), F_SETFL, O_NONBLOCK), 0);
	}
	for (int i = 0; i < NR; i++)
		readers[i] = reader_start(fds[i]);
	for (int i = 0; i < NR; i++)
		CHECK_EQ(result_of(readers[i]), -EAGAIN);
}

TEST(then_limited)
{
	const struct timeval limit = { .tv_usec = 20000 };

	make_pair(SOCK_STREAM);
	make_habit();
	CHECK_EQ(setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &limit,
			    sizeof(limit)),
		 0);
	CHECK_EQ(result_of_read(pair[0]), -EAGAIN);
}

static void *read_all(void *arg)
{
	char c;
	long nr = 0;

	while (read(pair[0], &c, 1) == 1) {
		CHECK_EQ(c, (char)nr);
		nr++;
	}
	return (void *)(nr + (long)arg);
}

TEST(then_ready)
{
	enum { NR_BYTES = 200 };

	make_pair(SOCK_STREAM);
	make_habit();
	for (int i = 0; i < NR_BYTES; i++) {
		char c = (char)i;

		CHECK_EQ(write(pair[1], &c, 1), 1);
	}
	CHECK_EQ(shutdown(pair[1], SHUT_WR), 0);
	CHECK_EQ((long)thread_join(thread_start(read_all, NULL)), NR_BYTES);
}

TEST(then_shut_down)
{
	pthread_t thread;

	make_pair(SOCK_STREAM);
	make_habit();
	is_ready = 0;
	thread = reader_start(pair[0]);
	let_it_wait(&is_ready);
	CHECK_EQ(shutdown(pair[0], SHUT_RDWR), 0);
	CHECK_EQ((long)thread_join(thread), 0);
}

static void fill(int fd, const char *text)
{
	CHECK_EQ(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

/* The number becomes a pipe's, a file's, and a packet socket's. */
TEST(then_another_file)
{
	int fds[2], fd;
	FILE *file = tmpfile();

	make_pair(SOCK_STREAM);
	make_habit();
	fd = pair[0];
	CHECK_EQ(pipe(fds), 0);
	fill(fds[1], "p");
	CHECK_EQ(dup2(fds[0], fd), fd);
	CHECK_EQ(result_of_read(fd), 'p');
	fill(fileno(file), "f");
	CHECK_EQ(lseek(fileno(file), 0, SEEK_SET), 0);
	CHECK_EQ(dup2(fileno(file), fd), fd);
	CHECK_EQ(result_of_read(fd), 'f');
	CHECK_EQ(result_of_read(fd), 0);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds), 0);
	CHECK_EQ(dup2(fds[0], fd), fd);
	fill(fds[1], "message");
	fill(fds[1], "next");
	CHECK_EQ(result_of_read(fd), 'm');
	CHECK_EQ(result_of_read(fd), 'n');
}

/* fclose closes it inside libc, where weft does not see it. */
TEST(then_another_file_by_stdio)
{
	int fds[2], fd;

	make_pair(SOCK_STREAM);
	make_habit();
	fd = pair[0];
	CHECK_EQ(fclose(fdopen(fd, "r+")), 0);
	CHECK_EQ(pipe(fds), 0);
	CHECK_EQ(fds[0], fd);
	CHECK_EQ(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	CHECK_EQ(result_of_read(fd), -EAGAIN);
	fill(fds[1], "p");
	CHECK_EQ(result_of_read(fd), 'p');
	CHECK_EQ(close(fds[1]), 0);
	CHECK_EQ(result_of_read(fd), 0);
}

TEST(parts_of_nothing)
{
	char bytes[8];
	struct iovec none = { bytes, 0 };
	struct iovec two[2] = { { bytes, 2 }, { bytes + 2, 2 } };

	make_pair(SOCK_STREAM);
	make_habit();
	CHECK_EQ(readv(pair[0], &none, 1), 0);
	CHECK_EQ(writev(pair[1], &none, 1), 0);
	fill(pair[1], "abcd");
	CHECK_EQ(readv(pair[0], two, 2), 4);
	CHECK_EQ(memcmp(bytes, "abcd", 4), 0);
	CHECK_EQ(shutdown(pair[1], SHUT_WR), 0);
	CHECK_EQ(readv(pair[0], two, 1), 0);
}

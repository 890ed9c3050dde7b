/* SPDX-License-Identifier: MIT */
/*
 * Reads and writes on pipes and sockets by threads: the bytes that arrive, and
 * the effects of the kernel's errors, limits and modes.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include "sockets.h"

/* --- many connections at once -------------------------------------------- */

enum { NR_LINKS = 300, NR_ROUNDS = 20 };
static int links[NR_LINKS][2];

/* Thread i passes the bytes of pipe i on to pipe i + 1. */
static void *pass_on(void *arg)
{
	intptr_t i = (intptr_t)arg;
	unsigned int number;

	for (int round = 0; round < NR_ROUNDS; round++) {
		CHECK_EQ(read(links[i][0], &number, sizeof(number)),
			 sizeof(number));
		number++;
		CHECK_EQ(write(links[(i + 1) % NR_LINKS][1], &number,
			       sizeof(number)),
			 sizeof(number));
	}
	return NULL;
}

TEST(ring_of_pipes)
{
	pthread_t threads[NR_LINKS];
	unsigned int number = 0;

	for (int i = 0; i < NR_LINKS; i++)
		CHECK_EQ(pipe(links[i]), 0);
	threads_start_numbered(threads, NR_LINKS, pass_on);
	CHECK_EQ(write(links[0][1], &number, sizeof(number)), sizeof(number));
	threads_join(threads, NR_LINKS);
	CHECK_EQ(read(links[0][0], &number, sizeof(number)), sizeof(number));
	CHECK_EQ(number, NR_LINKS * NR_ROUNDS);
}

static _Atomic long sum_read;

static void *read_numbers(void *arg)
{
	int number;

	while (read(pair[0], &number, sizeof(number)) == sizeof(number))
		sum_read += number;
	return arg;
}

static void *write_numbers(void *arg)
{
	for (int i = 1; i <= 500; i++)
		CHECK_EQ(write(pair[1], &i, sizeof(i)), sizeof(i));
	return arg;
}

/* Small writes to a pipe arrive whole, with several readers and writers. */
TEST(many_readers_and_writers_of_one_pipe)
{
	pthread_t readers[20], writers[20];

	CHECK_EQ(pipe(pair), 0);
	threads_start_numbered(readers, 20, read_numbers);
	threads_start_numbered(writers, 20, write_numbers);
	threads_join(writers, 20);
	close(pair[1]);
	threads_join(readers, 20);
	CHECK_EQ(sum_read, 20L * 500 * 501 / 2);
}

/* --- long transfers ------------------------------------------------------ */

enum { LONG_BYTES = 3 << 20 };

static unsigned char byte_at(size_t i)
{
	return (unsigned char)(i * 7 + i / 251);
}

static void *write_long(void *arg)
{
	unsigned char *data = malloc(LONG_BYTES);

	for (size_t i = 0; i < LONG_BYTES; i++)
		data[i] = byte_at(i);
	if (arg == NULL)
		CHECK_EQ(write(pair[1], data, LONG_BYTES), LONG_BYTES);
	else
		CHECK_EQ(send(pair[1], data, LONG_BYTES, 0), LONG_BYTES);
	free(data);
	CHECK_EQ(close(pair[1]), 0);
	return NULL;
}

static void read_long(void)
{
	unsigned char buf[70000];
	size_t at = 0;
	ssize_t n;

	while ((n = read(pair[0], buf, sizeof(buf))) > 0) {
		for (ssize_t i = 0; i < n; i++)
			CHECK_EQ(buf[i], byte_at(at + (size_t)i));
		at += (size_t)n;
	}
	CHECK_EQ(n, 0);
	CHECK_EQ(at, LONG_BYTES);
}

/* A blocking write returns when the pipe has taken all bytes. */
TEST(long_write_to_a_pipe)
{
	pthread_t thread;

	CHECK_EQ(pipe(pair), 0);
	thread = thread_start(write_long, NULL);
	read_long();
	thread_join(thread);
}

TEST(long_write_to_a_socket)
{
	pthread_t thread;

	make_pair(SOCK_STREAM);
	thread = thread_start(write_long, NULL);
	read_long();
	thread_join(thread);
}

TEST(long_send_to_a_socket)
{
	pthread_t thread;

	make_pair(SOCK_STREAM);
	thread = thread_start(write_long, (void *)1);
	read_long();
	thread_join(thread);
}

static void *write_parts(void *arg)
{
	static char parts[40][5000];
	struct iovec iov[40];
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 40 };

	for (int i = 0; i < 40; i++) {
		memset(parts[i], 'a' + i % 26, sizeof(parts[i]));
		iov[i] = (struct iovec){ parts[i], sizeof(parts[i]) };
	}
	CHECK_EQ(writev(pair[1], iov, 40), 40L * 5000);
	CHECK_EQ(sendmsg(pair[1], &msg, 0), 40L * 5000);
	return arg;
}

TEST(parts_arrive_in_order)
{
	pthread_t thread;
	char buf[5000];

	make_pair(SOCK_STREAM);
	thread = thread_start(write_parts, NULL);
	for (int i = 0; i < 80; i++) {
		CHECK_EQ(recv(pair[0], buf, sizeof(buf), MSG_WAITALL),
			 sizeof(buf));
		for (size_t k = 0; k < sizeof(buf); k++)
			CHECK_EQ(buf[k], 'a' + i % 40 % 26);
	}
	thread_join(thread);
}

/* No call moves more than the kernel's MAX_RW_COUNT. */
static const size_t most_at_once = 0x7ffff000;

static void *drain(void *ret_bytes)
{
	static char buf[1 << 20];
	size_t at = 0;
	ssize_t n;

	while ((n = read(pair[0], buf, sizeof(buf))) > 0)
		at += (size_t)n;
	CHECK_EQ(n, 0);
	*(size_t *)ret_bytes = at;
	return NULL;
}

/* Three parts of 1 GiB each: the last one does not fit completely. */
static struct iovec *too_much(void)
{
	static struct iovec iov[3];
	const size_t bytes = 3UL << 30;
	char *zeros = mmap(NULL, bytes, PROT_READ,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (zeros == MAP_FAILED)
		SKIP("no address space");
	for (size_t i = 0; i < 3; i++)
		iov[i] = (struct iovec){ zeros + i * (bytes / 3), bytes / 3 };
	return iov;
}

TEST(writes_take_no_more_than_the_kernel)
{
	struct iovec *iov = too_much();
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 3 };
	size_t drained = 0;
	pthread_t thread;

	make_pair(SOCK_STREAM);
	thread = thread_start(drain, &drained);
	CHECK_EQ(sendmsg(pair[1], &msg, 0), most_at_once);
	CHECK_EQ(close(pair[1]), 0);
	thread_join(thread);
	CHECK_EQ(drained, most_at_once);
}

static void *send_in_pieces(void *arg)
{
	for (int i = 0; i < 10; i++) {
		await_rest();
		CHECK_EQ(send(pair[1], "0123456789", 10, 0), 10);
	}
	return arg;
}

TEST(waitall_waits_for_all)
{
	pthread_t thread;
	char buf[100];

	make_pair(SOCK_STREAM);
	thread = thread_start(send_in_pieces, NULL);
	CHECK_EQ(recv(pair[0], buf, sizeof(buf), MSG_WAITALL), 100);
	CHECK(memcmp(buf + 90, "0123456789", 10) == 0);
	thread_join(thread);
}

static void *send_half(void *arg)
{
	let_it_wait(&is_ready);
	CHECK_EQ(send(pair[1], "01234", 5, 0), 5);
	CHECK_EQ(close(pair[1]), 0);
	return arg;
}

TEST(waitall_ends_with_the_stream)
{
	pthread_t thread;
	char buf[100];

	make_pair(SOCK_STREAM);
	thread = thread_start(send_half, NULL);
	is_ready = 1;
	CHECK_EQ(recv(pair[0], buf, sizeof(buf), MSG_WAITALL), 5);
	thread_join(thread);
}

/* --- limits and modes ---------------------------------------------------- */

TEST(receive_with_a_time_limit)
{
	struct timeval limit = { 0, 30000 };
	int64_t start = now_ns();
	char c;

	make_pair(SOCK_STREAM);
	have_threads();
	CHECK_EQ(setsockopt(pair[1], SOL_SOCKET, SO_RCVTIMEO, &limit,
			    sizeof(limit)),
		 0);
	CHECK_ERRNO(recv(pair[1], &c, 1, 0), EAGAIN);
	CHECK_ERRNO(read(pair[1], &c, 1), EAGAIN);
	CHECK(now_ns() - start >= 60 * NS_PER_MS);
}

TEST(send_with_a_time_limit)
{
	static char data[1 << 20];
	struct timeval limit = { 0, 30000 };
	ssize_t n;

	make_pair(SOCK_STREAM);
	have_threads();
	CHECK_EQ(setsockopt(pair[1], SOL_SOCKET, SO_SNDTIMEO, &limit,
			    sizeof(limit)),
		 0);
	n = send(pair[1], data, sizeof(data), 0);
	CHECK(n > 0 && n < (ssize_t)sizeof(data));
	CHECK_ERRNO(send(pair[1], data, sizeof(data), 0), EAGAIN);
}

TEST(descriptors_that_do_not_block)
{
	static char data[1 << 20];
	int fds[2];
	char c;

	have_threads();
	make_pair(SOCK_STREAM | SOCK_NONBLOCK);
	CHECK_EQ(pipe2(fds, O_NONBLOCK), 0);
	CHECK_ERRNO(read(pair[0], &c, 1), EAGAIN);
	CHECK_ERRNO(recv(pair[0], &c, 1, 0), EAGAIN);
	CHECK_ERRNO(recv(pair[0], &c, 1, MSG_WAITALL), EAGAIN);
	CHECK_ERRNO(read(fds[0], &c, 1), EAGAIN);
	CHECK(write(fds[1], data, sizeof(data)) < (ssize_t)sizeof(data));
	CHECK_ERRNO(write(fds[1], data, 1 << 16), EAGAIN);
	CHECK(send(pair[0], data, sizeof(data), 0) < (ssize_t)sizeof(data));
	CHECK_EQ(fcntl(pair[0], F_SETFL, 0), 0);
	CHECK_ERRNO(recv(pair[0], &c, 1, MSG_DONTWAIT), EAGAIN);
}

TEST(errors_are_the_kernels)
{
	char c;

	have_threads();
	CHECK_ERRNO(read(-1, &c, 1), EBADF);
	CHECK_ERRNO(write(9999, &c, 1), EBADF);
	CHECK_ERRNO(recv(-1, &c, 1, 0), EBADF);
	CHECK_ERRNO(recv(0, &c, 1, 0), ENOTSOCK);
	CHECK_EQ(pipe(pair), 0);
	CHECK_ERRNO(read(pair[1], &c, 1), EBADF);
	CHECK_ERRNO(write(pair[0], &c, 1), EBADF);
	CHECK_EQ(write(pair[1], "x", 1), 1);
	CHECK_ERRNO(read(pair[0], (void *)(uintptr_t)is_ready, 1), EFAULT);
}

TEST(broken_pipe)
{
	char c = 0;

	have_threads();
	signal(SIGPIPE, SIG_IGN);
	CHECK_EQ(pipe(pair), 0);
	close(pair[0]);
	CHECK_ERRNO(write(pair[1], &c, 1), EPIPE);
	make_pair(SOCK_STREAM);
	close(pair[0]);
	CHECK_ERRNO(send(pair[1], &c, 1, 0), EPIPE);
	CHECK_ERRNO(write(pair[1], &c, 1), EPIPE);
}

static _Atomic int nr_sigpipe;

static void on_sigpipe(int sig)
{
	nr_sigpipe++;
}

static void *close_later(void *arg)
{
	let_it_wait(&is_ready);
	CHECK_EQ(close(pair[0]), 0);
	return arg;
}

/* The reader closes its end while the writer waits. */
TEST(pipe_breaks_during_a_write)
{
	static char data[1 << 20];
	pthread_t thread;
	ssize_t n;

	signal(SIGPIPE, on_sigpipe);
	make_pair(SOCK_STREAM);
	thread = thread_start(close_later, NULL);
	is_ready = 1;
	n = send(pair[1], data, sizeof(data), 0);
	CHECK(n == -1 ? errno == EPIPE || errno == ECONNRESET :
			n < (ssize_t)sizeof(data));
	CHECK_ERRNO(send(pair[1], data, 1, 0), EPIPE);
	CHECK(nr_sigpipe >= 1);
	thread_join(thread);
}

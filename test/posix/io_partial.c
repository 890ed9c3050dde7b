/* SPDX-License-Identifier: MIT */
/*
 * Calls that have moved a part of their bytes and wait for the rest. Any
 * handler ends them with the count of that part, SA_RESTART or not. On a busy
 * machine a handler may come before the wait, so there are several attempts.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <time.h>

#include "sockets.h"

enum { LONG = 4000000 };

static char bytes[LONG];

/* --- the calls ------------------------------------------------------------ */

static void *write_all(void *arg)
{
	is_ready = 1;
	return outcome(write(pair[0], bytes, LONG));
}

static void *writev_all(void *arg)
{
	struct iovec parts[2] = { { bytes, 100 }, { bytes, LONG } };

	is_ready = 1;
	return outcome(writev(pair[0], parts, 2));
}

static void *send_file(void *arg)
{
	int fd = memfd_create("file", 0);
	ssize_t n;

	CHECK(fd >= 0);
	CHECK_EQ(ftruncate(fd, LONG), 0);
	is_ready = 1;
	n = sendfile(pair[0], fd, NULL, LONG);
	CHECK_EQ(close(fd), 0);
	return outcome(n);
}

static void *receive_all(void *arg)
{
	is_ready = 1;
	return outcome(recv(pair[0], bytes, LONG, MSG_WAITALL));
}

/* --- a handler ------------------------------------------------------------ */

static void make_pipe(void)
{
	int ends[2];

	CHECK_EQ(pipe(ends), 0);
	pair[0] = ends[1];
	pair[1] = ends[0];
}

static void make_sockets(void)
{
	make_pair(SOCK_STREAM);
}

static void close_pair(void)
{
	CHECK_EQ(close(pair[0]), 0);
	CHECK_EQ(close(pair[1]), 0);
}

/* Returns whether the call has ended by itself. */
static bool has_ended(pthread_t thread, long *ret_result)
{
	struct timespec until = deadline_ms(CLOCK_REALTIME, 1000);
	void *result;

	if (pthread_timedjoin_np(thread, &result, &until) != 0)
		return false;
	*ret_result = (long)result;
	return true;
}

/* When this returns, the call has moved a part of its bytes. */
static pthread_t start(void *(*call)(void *))
{
	pthread_t thread;

	is_ready = 0;
	nr_handled = 0;
	thread = thread_start(call, NULL);
	let_it_wait(&is_ready);
	return thread;
}

static void interrupt(pthread_t thread)
{
	CHECK_EQ(pthread_kill(thread, SIGUSR1), 0);
	await_count(&nr_handled, 1);
}

/* Reads what is there, without waiting. */
static void read_some(size_t nr_bytes)
{
	static char buffer[65536];
	int nr = 0;

	CHECK_EQ(ioctl(pair[1], FIONREAD, &nr), 0);
	if (nr > 0)
		CHECK(read(pair[1], buffer, nr_bytes) > 0);
	else
		usleep(100);
}

static void read_all(pthread_t thread)
{
	while (pthread_tryjoin_np(thread, NULL) != 0)
		read_some(65536);
}

static bool ends_write(void (*make)(void), void *(*call)(void *))
{
	pthread_t thread;
	long n = 0;
	bool is_done;

	make();
	thread = start(call);
	interrupt(thread);
	is_done = has_ended(thread, &n);
	if (!is_done)
		read_all(thread);
	close_pair();
	return is_done && n > 0 && n < LONG;
}

static void handlers_end_writes(void (*make)(void), void *(*call)(void *))
{
	for (int i = 0; i < 2; i++) {
		bool is_done = false;

		handle(SIGUSR1, on_signal, i == 0 ? 0 : SA_RESTART);
		for (int k = 0; k < 5 && !is_done; k++)
			is_done = ends_write(make, call);
		CHECK(is_done);
	}
}

TEST(write_to_pipe)
{
	handlers_end_writes(make_pipe, write_all);
}

TEST(write_to_socket)
{
	handlers_end_writes(make_sockets, write_all);
}

TEST(writev_to_socket)
{
	handlers_end_writes(make_sockets, writev_all);
}

TEST(sendfile_to_socket)
{
	handlers_end_writes(make_sockets, send_file);
}

static bool ends_receive(void)
{
	pthread_t thread;
	long n = 0;
	bool is_done;

	make_sockets();
	CHECK_EQ(write(pair[1], "ab", 2), 2);
	thread = start(receive_all);
	interrupt(thread);
	is_done = has_ended(thread, &n);
	CHECK_EQ(shutdown(pair[1], SHUT_WR), 0);
	if (!is_done)
		thread_join(thread);
	close_pair();
	return is_done && n == 2;
}

TEST(receive_of_all)
{
	bool is_done = false;

	handle(SIGUSR1, on_signal, SA_RESTART);
	for (int k = 0; k < 5 && !is_done; k++)
		is_done = ends_receive();
	CHECK(is_done);
}

/* A handler that runs before the first byte is moved ends nothing later. */
TEST(write_after_handler)
{
	enum { BYTES = 4 * 4096 };
	pthread_t thread;
	long n;

	handle(SIGUSR1, on_signal, SA_RESTART);
	make_pipe();
	CHECK_EQ(fcntl(pair[0], F_SETPIPE_SZ, BYTES), BYTES);
	CHECK_EQ(write(pair[0], bytes, BYTES), BYTES);
	thread = start(write_all);
	interrupt(thread);
	for (int i = 0; i < 10; i++)
		read_some(4096);
	CHECK(!has_ended(thread, &n));
	read_all(thread);
	close_pair();
}

/* --- a handler beside a reader -------------------------------------------- */

/*
 * The handler ends the write whenever it comes, even if the reader has just
 * made room.
 */
static bool ends_beside_reader(void (*make)(void), int after)
{
	pthread_t thread;
	long n = 0;
	bool is_done;

	make();
	thread = start(write_all);
	for (int i = 0; i < after; i++)
		read_some(4096);
	CHECK_EQ(pthread_kill(thread, SIGUSR1), 0);
	read_some(4096);
	await_count(&nr_handled, 1);
	is_done = has_ended(thread, &n);
	if (!is_done)
		read_all(thread);
	close_pair();
	return is_done && n > 0 && n < LONG;
}

static void handlers_end_beside_reader(void (*make)(void))
{
	int nr_late = 0;

	handle(SIGUSR1, on_signal, 0);
	for (int i = 0; i < 60 && nr_late < 5; i++)
		nr_late += !ends_beside_reader(make, i % 20);
	CHECK(nr_late < 5);
}

TEST(write_to_pipe_beside_reader)
{
	handlers_end_beside_reader(make_pipe);
}

TEST(write_to_socket_beside_reader)
{
	handlers_end_beside_reader(make_sockets);
}

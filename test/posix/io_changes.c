/* SPDX-License-Identifier: MIT */
/*
 * Changes while a thread waits for a descriptor. New flags and limits apply to
 * later calls only. Also the state of a connection, urgent data, and errors
 * that arrive for datagrams.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/time.h>

#include "sockets.h"

static void still_waits(pthread_t thread)
{
	others_go_on();
	await_rest();
	CHECK_EQ(pthread_tryjoin_np(thread, NULL), EBUSY);
}

/* --- flags and limits ----------------------------------------------------- */

/* A call that waits keeps waiting; the next one returns EAGAIN. */
static void set_nonblocking_during_a_read(int from, int to)
{
	pthread_t thread;
	char c;

	is_ready = 0;
	thread = reader_start(from);
	let_it_wait(&is_ready);
	CHECK_EQ(fcntl(from, F_SETFL, O_NONBLOCK), 0);
	still_waits(thread);
	CHECK_EQ(write(to, "w", 1), 1);
	CHECK_EQ(result_of(thread), 'w');
	CHECK_ERRNO(read(from, &c, 1), EAGAIN);
	CHECK_EQ(fcntl(from, F_SETFL, 0), 0);
	is_ready = 0;
	thread = reader_start(from);
	let_it_wait(&is_ready);
	still_waits(thread);
	CHECK_EQ(write(to, "a", 1), 1);
	CHECK_EQ(result_of(thread), 'a');
}

TEST(nonblocking_from_now_on)
{
	int fds[2];

	make_pair(SOCK_STREAM);
	set_nonblocking_during_a_read(pair[0], pair[1]);
	make_pair(SOCK_DGRAM);
	set_nonblocking_during_a_read(pair[0], pair[1]);
	make_tcp_pair();
	set_nonblocking_during_a_read(pair[0], pair[1]);
	CHECK_EQ(pipe(fds), 0);
	set_nonblocking_during_a_read(fds[0], fds[1]);
}

static void *accept_one(void *arg)
{
	is_ready = 1;
	return outcome(
		accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC));
}

TEST(flags_of_accepted_sockets)
{
	pthread_t thread;
	int fd;

	have_threads();
	listener = loopback_socket(SOCK_STREAM);
	CHECK_EQ(listen(listener, 1), 0);
	CHECK_ERRNO(accept4(listener, NULL, NULL, 1), EINVAL);
	CHECK_ERRNO(accept(inet_socket(SOCK_DGRAM), NULL, NULL), EOPNOTSUPP);
	CHECK_EQ(pipe(pair), 0);
	CHECK_ERRNO(accept(pair[0], NULL, NULL), ENOTSOCK);
	thread = thread_start(accept_one, NULL);
	let_it_wait(&is_ready);
	CHECK_EQ(fcntl(listener, F_SETFL, O_NONBLOCK), 0);
	still_waits(thread);
	connect_to_it(inet_socket(SOCK_STREAM));
	fd = (int)result_of(thread);
	CHECK(fd >= 0);
	CHECK_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
	CHECK_EQ(fcntl(fd, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
	CHECK_ERRNO(accept(listener, NULL, NULL), EAGAIN);
}

static void shut_while_all_accept(void)
{
	enum { NR = 5 };
	pthread_t threads[NR];

	CHECK_EQ(listen(listener, 1), 0);
	threads_start(threads, NR, accept_one, NULL);
	let_it_wait(&is_ready);
	CHECK_EQ(shutdown(listener, SHUT_RDWR), 0);
	for (int i = 0; i < NR; i++)
		CHECK_EQ(result_of(threads[i]), -EINVAL);
}

TEST(shutdown_ends_all_accepts)
{
	listener = loopback_socket(SOCK_STREAM);
	shut_while_all_accept();
}

static void make_unix_listener(void)
{
	struct sockaddr any = { .sa_family = AF_UNIX };

	listener = socket(AF_UNIX, SOCK_STREAM, 0);
	CHECK_EQ(bind(listener, &any, sizeof(any.sa_family)), 0);
}

TEST(shutdown_ends_all_accepts_of_unix_socket)
{
	make_unix_listener();
	shut_while_all_accept();
}

TEST(accept_of_unix_socket_that_is_shut_down)
{
	have_threads();
	make_unix_listener();
	CHECK_EQ(listen(listener, 1), 0);
	CHECK_EQ(shutdown(listener, SHUT_RDWR), 0);
	CHECK_ERRNO(accept(listener, NULL, NULL), EINVAL);
}

static void limit(int ms)
{
	struct timeval tv = { ms / 1000, ms % 1000 * 1000 };

	CHECK_EQ(setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)),
		 0);
}

TEST(limit_from_now_on)
{
	pthread_t thread;

	make_pair(SOCK_STREAM);
	thread = reader_start(pair[0]);
	let_it_wait(&is_ready);
	limit(1);
	sleep_ms(5); /* longer than the new limit */
	still_waits(thread);
	CHECK_EQ(write(pair[1], "w", 1), 1);
	CHECK_EQ(result_of(thread), 'w');
	CHECK_EQ(result_of(reader_start(pair[0])), -EAGAIN);
	/* A wait that began with a limit ends by that limit. */
	limit(200);
	is_ready = 0;
	thread = reader_start(pair[0]);
	let_it_wait(&is_ready);
	limit(0);
	CHECK_EQ(result_of(thread), -EAGAIN);
}

/* --- connections ---------------------------------------------------------- */

static void *connect_slowly(void *fd)
{
	is_ready++;
	return outcome(connect((int)(intptr_t)fd, (struct sockaddr *)&address,
			       sizeof(address)));
}

/* A connection that finds the queue full gets no answer for a second. */
TEST(connection_that_has_begun)
{
	int fd = inet_socket(SOCK_STREAM | SOCK_NONBLOCK);
	pthread_t threads[2];

	have_threads();
	listener = loopback_socket(SOCK_STREAM);
	CHECK_EQ(listen(listener, 0), 0);
	connect_to_it(inet_socket(SOCK_STREAM));
	for (int i = 0; i < 2; i++)
		CHECK_EQ((long)connect_slowly((void *)(intptr_t)fd),
			 i == 0 ? -EINPROGRESS : -EALREADY);
	CHECK_EQ(fcntl(fd, F_SETFL, 0), 0);
	is_ready = 0;
	threads_start(threads, 2, connect_slowly, (void *)(intptr_t)fd);
	let_it_wait(&is_ready);
	for (int i = 0; i < 2; i++)
		still_waits(threads[i]);
	for (int i = 0; i < 2; i++)
		CHECK(accept(listener, NULL, NULL) >= 0);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(result_of(threads[i]), 0);
	CHECK_EQ((long)connect_slowly((void *)(intptr_t)fd), -EISCONN);
}

static void *poll_for_its_half(void *arg)
{
	struct pollfd fd = { pair[0], POLLRDHUP, 0 };

	is_ready = 1;
	CHECK_EQ(poll(&fd, 1, -1), 1);
	return (void *)(intptr_t)fd.revents;
}

static void close_halves(void)
{
	pthread_t reader, poller;

	is_ready = 0;
	reader = reader_start(pair[0]);
	let_it_wait(&is_ready);
	is_ready = 0;
	poller = thread_start(poll_for_its_half, NULL);
	let_it_wait(&is_ready);
	CHECK_EQ(shutdown(pair[1], SHUT_WR), 0);
	CHECK_EQ(result_of(reader), 0);
	CHECK_EQ(result_of(poller), POLLRDHUP);
	/* The other direction of the connection still works. */
	is_ready = 0;
	reader = reader_start(pair[1]);
	let_it_wait(&is_ready);
	CHECK_EQ(write(pair[0], "h", 1), 1);
	CHECK_EQ(result_of(reader), 'h');
	is_ready = 0;
	reader = reader_start(pair[1]);
	let_it_wait(&is_ready);
	CHECK_EQ(shutdown(pair[1], SHUT_RD), 0);
	CHECK_EQ(result_of(reader), 0);
}

TEST(half_closed)
{
	make_pair(SOCK_STREAM);
	close_halves();
	make_tcp_pair();
	close_halves();
}

/* --- urgent data and errors ----------------------------------------------- */

TEST(urgent_data_ends_no_read)
{
	pthread_t thread;

	make_tcp_pair();
	handle(SIGURG, on_signal, SA_RESTART);
	CHECK_EQ(fcntl(pair[0], F_SETOWN, getpid()), 0);
	thread = reader_start(pair[0]);
	let_it_wait(&is_ready);
	CHECK_EQ(send(pair[1], "u", 1, MSG_OOB), 1);
	await_count(&nr_handled, 1);
	still_waits(thread);
	CHECK_EQ(send(pair[1], "d", 1, 0), 1);
	CHECK_EQ(result_of(thread), 'd');
}

static void *wait_for_error(void *arg)
{
	struct pollfd fd = { pair[0], 0, 0 };

	is_ready = 1;
	CHECK_EQ(poll(&fd, 1, -1), 1);
	return (void *)(intptr_t)fd.revents;
}

/*
 * The peer has closed its socket; the kernel reports that to a thread that
 * waits for an answer.
 */
static pthread_t sent_to_nobody(void *(*start)(void *), void *arg)
{
	pthread_t thread;

	pair[1] = loopback_socket(SOCK_DGRAM);
	pair[0] = inet_socket(SOCK_DGRAM);
	connect_to_it(pair[0]);
	CHECK_EQ(close(pair[1]), 0);
	is_ready = 0;
	thread = thread_start(start,
			      arg != NULL ? (void *)(intptr_t)pair[0] : NULL);
	let_it_wait(&is_ready);
	still_waits(thread);
	CHECK_EQ(send(pair[0], "?", 1, 0), 1);
	return thread;
}

TEST(errors_of_datagrams)
{
	pthread_t thread = sent_to_nobody(read_one, &is_ready);
	char c;

	CHECK_EQ(result_of(thread), -ECONNREFUSED);
	thread = sent_to_nobody(wait_for_error, NULL);
	CHECK_EQ(result_of(thread), POLLERR);
	CHECK_ERRNO(recv(pair[0], &c, 1, 0), ECONNREFUSED);
}

TEST(reset_ends_a_read)
{
	const struct linger none = { 1, 0 };
	pthread_t thread;

	make_tcp_pair();
	thread = reader_start(pair[0]);
	let_it_wait(&is_ready);
	CHECK_EQ(setsockopt(pair[1], SOL_SOCKET, SO_LINGER, &none,
			    sizeof(none)),
		 0);
	CHECK_EQ(close(pair[1]), 0);
	CHECK_EQ(result_of(thread), -ECONNRESET);
}

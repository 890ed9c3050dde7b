/* SPDX-License-Identifier: MIT */
/*
 * Limits of calls on descriptors: the events that wake a call, and the signals
 * that its mask parameter lets in. Also where a receive of all bytes ends, and
 * how much sendfile sends without waiting.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/select.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>

#include "check.h"
#include "files.h"
#include "sockets.h"
#include "threading.h"

enum { LONG_MS = 20000 };

static pthread_t waiter;

/* Calls a function when the thread `waiter` and all others wait. */
static void *do_at_rest(void *arg)
{
	void (*what)(void) = (void (*)(void))(uintptr_t)arg;

	await_rest();
	what();
	return NULL;
}

static void later(void (*what)(void))
{
	waiter = pthread_self();
	thread_start(do_at_rest, (void *)(uintptr_t)what);
}

static void send_signal(void)
{
	CHECK_EQ(pthread_kill(waiter, SIGUSR1), 0);
}

/* --- events that wake ----------------------------------------------------- */

static void send_urgent(void)
{
	CHECK_EQ(send(pair[1], "!", 1, MSG_OOB), 1);
}

static void poll_for_urgent(short events)
{
	struct pollfd p = { pair[0], events, 0 };

	later(send_urgent);
	CHECK_EQ(poll(&p, 1, LONG_MS), 1);
	CHECK((p.revents & POLLPRI) != 0);
}

TEST(poll_for_urgent_data)
{
	make_tcp_pair();
	poll_for_urgent(POLLPRI);
}

TEST(poll_for_urgent_data_or_the_end)
{
	make_tcp_pair();
	poll_for_urgent(POLLPRI | POLLRDHUP);
}

TEST(select_for_urgent_data)
{
	struct timeval limit = { LONG_MS / 1000, 0 };
	fd_set set;

	make_tcp_pair();
	FD_ZERO(&set);
	FD_SET(pair[0], &set);
	later(send_urgent);
	CHECK_EQ(select(pair[0] + 1, NULL, NULL, &set, &limit), 1);
}

/* --- calls with a signal mask --------------------------------------------- */

static void send_signal_then_byte(void)
{
	send_signal();
	await_rest();
	CHECK_EQ(write(pair[1], "x", 1), 1);
}

/* A signal that the call's mask blocks is handled after the call. */
TEST(signal_that_the_mask_blocks)
{
	struct timespec limit = { 0, 700 * NS_PER_MS };
	struct pollfd p;
	sigset_t all;

	handle(SIGUSR1, on_signal, 0);
	make_pair(SOCK_STREAM);
	sigfillset(&all);
	p = (struct pollfd){ pair[0], POLLIN, 0 };
	later(send_signal_then_byte);
	CHECK_EQ(ppoll(&p, 1, NULL, &all), 1);
	CHECK_EQ(nr_handled, 1);
	CHECK_EQ(read(pair[0], &(char){ 0 }, 1), 1);
	later(send_signal);
	CHECK_EQ(ppoll(&p, 1, &limit, &all), 0);
	CHECK_EQ(nr_handled, 2);
}

/* --- limits --------------------------------------------------------------- */

TEST(negative_limits)
{
	const struct timeval none = { -1, 0 };
	char c;

	have_threads();
	make_pair(SOCK_STREAM);
	CHECK_EQ(setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &none,
			    sizeof(none)),
		 0);
	CHECK_ERRNO(recv(pair[0], &c, 1, 0), EAGAIN);
	CHECK_ERRNO(read(pair[0], &c, 1), EAGAIN);
	CHECK_ERRNO(recv(pair[0], &c, 1, MSG_WAITALL), EAGAIN);
}

/* --- receives with MSG_WAITALL -------------------------------------------- */

static void send_rest(void)
{
	CHECK_EQ(send(pair[1], "bc", 2, 0), 2);
}

/* Receives three bytes and control data; the length goes to *ret_bytes. */
static ssize_t receive_with_control(size_t *ret_bytes)
{
	char data[3], control[64];
	struct iovec iov = { data, sizeof(data) };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	ssize_t n = recvmsg(pair[0], &msg, MSG_WAITALL);

	*ret_bytes = msg.msg_controllen;
	return n;
}

TEST(all_beside_a_control_buffer)
{
	size_t bytes;

	make_pair(SOCK_STREAM);
	CHECK_EQ(send(pair[1], "a", 1, 0), 1);
	later(send_rest);
	CHECK_EQ(receive_with_control(&bytes), 3);
}

/* A receive that returns a part returns the credentials that came with it. */
TEST(credentials_of_a_part)
{
	const struct timeval limit = { 0, 100000 };
	const int on = 1;
	size_t bytes;

	have_threads();
	make_pair(SOCK_STREAM);
	CHECK_EQ(setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)),
		 0);
	CHECK_EQ(setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &limit,
			    sizeof(limit)),
		 0);
	CHECK_EQ(send(pair[1], "a", 1, 0), 1);
	CHECK_EQ(receive_with_control(&bytes), 1);
	CHECK_EQ(bytes, CMSG_SPACE(sizeof(struct ucred)));
}

static void send_around_mark(void)
{
	send_urgent();
	CHECK_EQ(send(pair[1], "cd", 2, 0), 2);
}

TEST(urgent_data_while_it_waits)
{
	char data[4];

	make_tcp_pair();
	CHECK_EQ(send(pair[1], "ab", 2, 0), 2);
	later(send_around_mark);
	CHECK_EQ(recv(pair[0], data, sizeof(data), MSG_WAITALL), 2);
}

static void send_descriptor(void)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .head = { .cmsg_len = CMSG_LEN(sizeof(int)),
				.cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS } };
	struct iovec iov = { (char *)"a", 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	int given = STDERR_FILENO;

	memcpy(CMSG_DATA(&control.head), &given, sizeof(given));
	CHECK_EQ(sendmsg(pair[1], &msg, 0), 1);
}

static void send_descriptor_and_rest(void)
{
	send_descriptor();
	send_rest();
}

/* A message with only a descriptor ends the receive. */
TEST(descriptors_end_it)
{
	char data[3];

	make_pair(SOCK_STREAM);
	later(send_descriptor_and_rest);
	CHECK_EQ(recv(pair[0], data, sizeof(data), MSG_WAITALL), 1);
	CHECK_EQ(recv(pair[0], data, 2, MSG_WAITALL), 2);
	send_descriptor_and_rest();
	CHECK_EQ(recv(pair[0], data, sizeof(data), MSG_WAITALL), 1);
}

/* After one message a handler ends the call, even with SA_RESTART. */
TEST(handler_after_a_message)
{
	char data[2][8];
	struct iovec iov[2] = { { data[0], 8 }, { data[1], 8 } };
	struct mmsghdr messages[2] = {
		{ .msg_hdr = { .msg_iov = &iov[0], .msg_iovlen = 1 } },
		{ .msg_hdr = { .msg_iov = &iov[1], .msg_iovlen = 1 } },
	};

	handle(SIGUSR1, on_signal, SA_RESTART);
	make_pair(SOCK_DGRAM);
	CHECK_EQ(send(pair[1], "a", 1, 0), 1);
	later(send_signal_then_byte);
	CHECK_EQ(recvmmsg(pair[0], messages, 2, 0, NULL), 1);
}

/* --- connecting ----------------------------------------------------------- */

/* The listener's queue is full, so a connecting thread waits. */
TEST(connect_that_has_begun)
{
	const struct timeval limit = { 0, 100000 };
	int connecting;

	have_threads();
	listener = loopback_socket(SOCK_STREAM);
	CHECK_EQ(listen(listener, 0), 0);
	connect_to_it(inet_socket(SOCK_STREAM));
	connecting = inet_socket(SOCK_STREAM);
	CHECK_EQ(setsockopt(connecting, SOL_SOCKET, SO_SNDTIMEO, &limit,
			    sizeof(limit)),
		 0);
	CHECK_ERRNO(connect(connecting, (struct sockaddr *)&address,
			    sizeof(address)),
		    EINPROGRESS);
	CHECK_ERRNO(connect(connecting, (struct sockaddr *)&address,
			    sizeof(address)),
		    EALREADY);
}

/* --- sendfile ------------------------------------------------------------- */

enum { FILE_BYTES = 100000 };
static char contents[FILE_BYTES], received[FILE_BYTES];

static void fill_file(void)
{
	for (int i = 0; i < FILE_BYTES; i++)
		contents[i] = (char)(i * 7 + i / 256);
	CHECK_EQ(write(fd, contents, FILE_BYTES), FILE_BYTES);
	CHECK_EQ(lseek(fd, 0, SEEK_SET), 0);
}

static void make_contents(void)
{
	make_file();
	fill_file();
}

static void receive_contents(size_t from, size_t bytes)
{
	CHECK_EQ(recv(pair[0], received, bytes, MSG_WAITALL), bytes);
	CHECK_EQ(memcmp(received, contents + from, bytes), 0);
}

/* The file fits into the socket, and no other thread would receive it. */
TEST(sendfile_to_oneself)
{
	off_t at = 1000;

	have_threads();
	make_contents();
	make_pair(SOCK_STREAM);
	CHECK_EQ(sendfile(pair[1], fd, NULL, FILE_BYTES), FILE_BYTES);
	CHECK_EQ(lseek(fd, 0, SEEK_CUR), FILE_BYTES);
	receive_contents(0, FILE_BYTES);
	CHECK_EQ(sendfile(pair[1], fd, &at, FILE_BYTES), FILE_BYTES - 1000);
	CHECK_EQ(at, FILE_BYTES);
	receive_contents(1000, FILE_BYTES - 1000);
}

/* A memfd cannot tell whether a read would wait. */
TEST(sendfile_of_a_file_in_memory)
{
	have_threads();
	fd = memfd_create("contents", MFD_CLOEXEC);
	CHECK(fd >= 0);
	fill_file();
	make_pair(SOCK_STREAM);
	CHECK_EQ(sendfile(pair[1], fd, NULL, 1 << 30), FILE_BYTES);
	CHECK_EQ(sendfile(pair[1], fd, NULL, 1 << 30), 0);
	receive_contents(0, FILE_BYTES);
}

/* Sends more than the file has, to a socket that is not empty or is full. */
TEST(sendfile_at_the_end)
{
	off_t at = 1000;

	have_threads();
	make_contents();
	make_pair(SOCK_STREAM);
	CHECK_EQ(sendfile(pair[1], fd, NULL, 1 << 30), FILE_BYTES);
	while (send(pair[1], contents, FILE_BYTES, MSG_DONTWAIT) > 0)
		continue;
	CHECK_EQ(sendfile(pair[1], fd, NULL, 1 << 30), 0);
	CHECK_ERRNO(sendfile(pair[1], -1, &at, 1000), EBADF);
	receive_contents(0, FILE_BYTES);
}

static void send_signal_then_receive(void)
{
	send_signal();
	await_rest();
	while (recv(pair[1], received, FILE_BYTES, MSG_DONTWAIT) > 0)
		continue;
}

TEST(sendfile_goes_on_after_a_handler)
{
	handle(SIGUSR1, on_signal, SA_RESTART);
	make_contents();
	make_pair(SOCK_STREAM);
	while (send(pair[0], contents, FILE_BYTES, MSG_DONTWAIT) > 0)
		continue;
	later(send_signal_then_receive);
	CHECK_EQ(sendfile(pair[0], fd, NULL, 1000), 1000);
	CHECK_EQ(nr_handled, 1);
}

static void close_peer(void)
{
	CHECK_EQ(close(pair[1]), 0);
}

/*
 * A waiting sendfile returns the reset of the connection and raises no signal.
 */
TEST(sendfile_to_a_closing_peer)
{
	make_contents();
	make_pair(SOCK_STREAM);
	CHECK_EQ(write(pair[0], "q", 1), 1);
	while (send(pair[0], contents, FILE_BYTES, MSG_DONTWAIT) > 0)
		continue;
	later(close_peer);
	CHECK_ERRNO(sendfile(pair[0], fd, NULL, 10), ECONNRESET);
}

/* --- options set through a duplicate -------------------------------------- */

static _Atomic int is_over;

/* Ends a read that would otherwise wait for ever. */
static void *send_in_the_end(void *arg)
{
	for (int ms = 0; ms < 10000 && !is_over; ms++)
		sleep_ms(1);
	CHECK_EQ(write(pair[1], "x", 1), 1);
	return arg;
}

/* A time limit belongs to the socket, whichever descriptor sets it. */
TEST(time_limit_through_another_number)
{
	struct timeval limit = { 0, 30000 };
	pthread_t thread;
	char c;
	int copy;

	make_pair(SOCK_STREAM);
	is_over = 1;
	thread = thread_start(send_in_the_end, NULL);
	CHECK_EQ(read(pair[0], &c, 1), 1); /* no time limit yet */
	thread_join(thread);
	copy = dup(pair[0]);
	CHECK_EQ(setsockopt(copy, SOL_SOCKET, SO_RCVTIMEO, &limit,
			    sizeof(limit)),
		 0);
	is_over = 0;
	thread = thread_start(send_in_the_end, NULL);
	CHECK_ERRNO(read(pair[0], &c, 1), EAGAIN);
	is_over = 1;
	thread_join(thread);
}

/* SPDX-License-Identifier: MIT */
/*
 * Waits for files with numbers that have been closed and used again for other
 * files. A handler that does not return leaves nothing behind that keeps the
 * file. A cancellation that is put off does not restart the wait. A connect
 * completes on its own socket.
 */
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "signalling.h"
#include "threading.h"

enum { BYTES = 1 << 20 };

static char data[BYTES];
static sigjmp_buf out;
static _Atomic int is_out;
static int ends[2], others[2], listener, connecting;
static struct sockaddr_in address;

/* --- a handler ------------------------------------------------------------ */

static void jump(int sig, siginfo_t *info, void *context)
{
	siglongjmp(out, 1);
}

static void *write_until_jump(void *arg)
{
	if (sigsetjmp(out, 1) == 0) {
		write(ends[1], data, BYTES);
		CHECK(0);
	}
	is_out = 1;
	return thread_pause_for_ever(arg);
}

static void leave_by_handler(void)
{
	pthread_t writer;
	ssize_t n;

	handle(SIGUSR1, jump, 0);
	CHECK_EQ(pipe(ends), 0);
	writer = thread_start(write_until_jump, NULL);
	await_rest();
	CHECK_EQ(close(ends[1]), 0);
	CHECK_EQ(pthread_kill(writer, SIGUSR1), 0);
	await_count(&is_out, 1);
	do /* reads to the end */
		n = read(ends[0], data, BYTES);
	while (n > 0);
	CHECK_EQ(n, 0);
	CHECK_EQ(close(ends[0]), 0);
}

/* --- receives ------------------------------------------------------------- */

static void *receive(void *arg)
{
	char byte = 0;

	CHECK_EQ(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL), 0);
	CHECK_EQ(recv(ends[0], &byte, 1, 0), 1);
	CHECK_EQ(byte, 'r');
	return arg;
}

static pthread_t begin_to_receive(void)
{
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	return thread_start(receive, NULL);
}

static void take_number(void)
{
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, others), 0);
	CHECK_EQ(write(others[1], "w", 1), 1);
}

static void give(pthread_t receiver)
{
	CHECK_EQ(write(ends[1], "r", 1), 1);
	thread_join(receiver);
	CHECK_EQ(close(ends[1]), 0);
	CHECK_EQ(close(others[0]), 0);
	CHECK_EQ(close(others[1]), 0);
}

static void cancel_who_disabled_it(void)
{
	pthread_t receiver = begin_to_receive();

	await_rest();
	CHECK_EQ(close(ends[0]), 0);
	take_number();
	CHECK_EQ(pthread_cancel(receiver), 0);
	await_rest();
	give(receiver);
}

/* --- a connection --------------------------------------------------------- */

static void nothing(int sig, siginfo_t *info, void *context)
{
}

static void *connect_it(void *arg)
{
	connect(connecting, (struct sockaddr *)&address, sizeof(address));
	return arg;
}

static void make_listener(void)
{
	socklen_t bytes = sizeof(address);
	int first = socket(AF_INET, SOCK_STREAM, 0);

	listener = socket(AF_INET, SOCK_STREAM, 0);
	address.sin_family = AF_INET;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK_EQ(bind(listener, (struct sockaddr *)&address, bytes), 0);
	CHECK_EQ(getsockname(listener, (struct sockaddr *)&address, &bytes), 0);
	CHECK_EQ(listen(listener, 0), 0);
	/* The backlog has room for this connection only. */
	CHECK_EQ(connect(first, (struct sockaddr *)&address, bytes), 0);
}

static void connect_another(void)
{
	struct sockaddr_in peer;
	socklen_t bytes = sizeof(peer);
	pthread_t connector;
	int other;

	handle(SIGUSR2, nothing, SA_RESTART);
	make_listener();
	connecting = socket(AF_INET, SOCK_STREAM, 0);
	connector = thread_start(connect_it, NULL);
	await_rest();
	CHECK_EQ(close(connecting), 0);
	other = socket(AF_INET, SOCK_STREAM, 0);
	for (int i = 0; i < 2; i++)
		CHECK(accept(listener, NULL, NULL) >= 0);
	thread_join(connector);
	CHECK_ERRNO(getpeername(other, (struct sockaddr *)&peer, &bytes),
		    ENOTCONN);
}

int main(void)
{
	CHECK(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
	leave_by_handler();
	cancel_who_disabled_it();
	connect_another();
	puts("each had its own file");
	return 0;
}

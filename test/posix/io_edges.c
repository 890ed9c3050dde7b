/* SPDX-License-Identifier: MIT */
/*
 * Rare arguments of calls: flags, lengths and limits mean the same as in the
 * kernel, both for calls that would wait and for those that must not.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "sockets.h"

/* --- receiving ----------------------------------------------------------- */

static void *send_rest_later(void *arg)
{
	let_it_wait(&is_ready);
	CHECK_EQ(send(pair[1], "56789", 5, 0), 5);
	return arg;
}

/* A part of the message is there when the call begins. */
TEST(message_waits_for_all)
{
	char head[2], tail[8];
	struct iovec iov[2] = { { head, 2 }, { tail, 8 } };
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };
	pthread_t thread;

	make_pair(SOCK_STREAM);
	CHECK_EQ(send(pair[1], "01234", 5, 0), 5);
	thread = thread_start(send_rest_later, NULL);
	is_ready = 1;
	CHECK_EQ(recvmsg(pair[0], &msg, MSG_WAITALL), 10);
	CHECK(memcmp(head, "01", 2) == 0 && memcmp(tail, "23456789", 8) == 0);
	thread_join(thread);
}

TEST(peek_waits_for_all)
{
	pthread_t thread;
	char buf[11] = "";

	make_tcp_pair();
	CHECK_EQ(send(pair[1], "01234", 5, 0), 5);
	thread = thread_start(send_rest_later, NULL);
	is_ready = 1;
	CHECK_EQ(recv(pair[0], buf, 10, MSG_PEEK | MSG_WAITALL), 10);
	CHECK(strcmp(buf, "0123456789") == 0);
	CHECK_EQ(recv(pair[0], buf, 10, MSG_DONTWAIT), 10);
	CHECK(strcmp(buf, "0123456789") == 0);
	thread_join(thread);
}

/* A receive never waits for errors or urgent data. */
TEST(errors_and_urgent_data_are_there_or_not)
{
	char c;
	struct iovec iov = { &c, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	int udp = socket(AF_INET, SOCK_DGRAM, 0);

	have_threads();
	CHECK_ERRNO(recvmsg(udp, &msg, MSG_ERRQUEUE), EAGAIN);
	CHECK_ERRNO(recv(udp, &c, 1, MSG_ERRQUEUE), EAGAIN);
	make_tcp_pair();
	CHECK_ERRNO(recvmsg(pair[0], &msg, MSG_ERRQUEUE), EAGAIN);
	CHECK_ERRNO(recv(pair[0], &c, 1, MSG_OOB), EINVAL);
}

static int flags_of_receive;

static void *receive_with_flags(void *arg)
{
	char c = 0;

	is_ready = 1;
	CHECK_EQ(recv((int)(intptr_t)arg, &c, 1, flags_of_receive), 1);
	return outcome(c);
}

static void waits_all_the_same(int flags)
{
	pthread_t thread;

	flags_of_receive = flags;
	is_ready = 0;
	thread = thread_start(receive_with_flags, (void *)(intptr_t)pair[0]);
	let_it_wait(&is_ready);
	CHECK_EQ(send(pair[1], "w", 1, 0), 1);
	CHECK_EQ(result_of(thread), 'w');
}

/*
 * On sockets that ignore the flag, the receive waits although the flag is set.
 */
TEST(flags_that_mean_nothing)
{
	make_pair(SOCK_DGRAM);
	waits_all_the_same(MSG_ERRQUEUE);
	make_pair(SOCK_STREAM);
	waits_all_the_same(MSG_ERRQUEUE);
	pair[0] = loopback_socket(SOCK_DGRAM);
	pair[1] = inet_socket(SOCK_DGRAM);
	connect_to_it(pair[1]);
	waits_all_the_same(MSG_OOB);
}

/* In nanoseconds this limit overflows 64 bits. */
TEST(time_limit_far_away)
{
	struct timeval limit = { 10000000000, 0 };
	pthread_t thread;
	char c;

	have_threads();
	make_pair(SOCK_STREAM);
	CHECK_EQ(setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &limit,
			    sizeof(limit)),
		 0);
	thread = thread_start(send_rest_later, NULL);
	is_ready = 1;
	CHECK_EQ(read(pair[0], &c, 1), 1);
	thread_join(thread);
}

/* --- transfers of no bytes ----------------------------------------------- */

TEST(no_bytes)
{
	int fds[2], event = eventfd(1, 0);
	char c;

	have_threads();
	make_pair(SOCK_DGRAM);
	/* An empty datagram counts as a datagram. */
	CHECK_EQ(write(pair[1], &c, 0), 0);
	CHECK_EQ(recv(pair[0], &c, 1, MSG_DONTWAIT), 0);
	CHECK_ERRNO(recv(pair[0], &c, 1, MSG_DONTWAIT), EAGAIN);
	CHECK_ERRNO(read(event, &c, 0), EINVAL);
	CHECK_ERRNO(write(event, &c, 0), EINVAL);
	CHECK_EQ(pipe(fds), 0);
	CHECK_EQ(read(fds[0], &c, 0), 0);
	CHECK_EQ(write(fds[1], &c, 0), 0);
	make_pair(SOCK_STREAM);
	CHECK_EQ(read(pair[0], &c, 0), 0);
	CHECK_EQ(write(pair[0], &c, 0), 0);
	CHECK_EQ(poll(NULL, 0, 1), 0);
	CHECK_EQ(sendmmsg(pair[0], NULL, 0, 0), 0);
	CHECK_ERRNO(sendmmsg(fds[1], NULL, 0, 0), ENOTSOCK);
	CHECK_ERRNO(sendmmsg(-1, NULL, 0, 0), EBADF);
}

/* --- sending ------------------------------------------------------------- */

enum { NR_PARTS = 1000, PART = 1000 };

static void *send_many_parts(void *how)
{
	static char data[PART];
	struct iovec iov[NR_PARTS];
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = NR_PARTS };

	for (int i = 0; i < NR_PARTS; i++)
		iov[i] = (struct iovec){ data, PART };
	if (how == NULL)
		CHECK_EQ(sendmsg(pair[1], &msg, 0), NR_PARTS * PART);
	else
		CHECK_EQ(writev(pair[1], iov, NR_PARTS), NR_PARTS * PART);
	CHECK_EQ(close(pair[1]), 0);
	return NULL;
}

static void read_to_the_end(size_t bytes)
{
	static char buf[10000];
	size_t all = 0;
	ssize_t n;

	while ((n = read(pair[0], buf, sizeof(buf))) > 0)
		all += (size_t)n;
	CHECK_EQ(n, 0);
	CHECK_EQ(all, bytes);
}

TEST(all_of_many_parts_is_sent)
{
	for (intptr_t how = 0; how < 2; how++) {
		pthread_t thread;

		make_pair(SOCK_STREAM);
		thread = thread_start(send_many_parts, (void *)how);
		read_to_the_end((size_t)NR_PARTS * PART);
		thread_join(thread);
	}
}

static void *write_until_it_breaks(void *arg)
{
	static char data[1 << 20];
	const struct timespec at_once = { 0, 0 };
	sigset_t set, before;

	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	CHECK_EQ(pthread_sigmask(SIG_BLOCK, &set, &before), 0);
	is_ready = 1;
	CHECK(write(pair[1], data, sizeof(data)) < (ssize_t)sizeof(data));
	CHECK_ERRNO(write(pair[1], data, 1), EPIPE);
	/* The SIGPIPE is pending for this thread. */
	CHECK_EQ(sigtimedwait(&set, NULL, &at_once), SIGPIPE);
	return arg;
}

/* SIGPIPE goes to the writing thread and to no other. */
TEST(writer_alone_has_the_broken_pipe)
{
	for (int i = 0; i < 2; i++) {
		pthread_t thread;

		is_ready = 0;
		if (i == 0)
			CHECK_EQ(pipe(pair), 0);
		else
			make_pair(SOCK_STREAM);
		thread = thread_start(write_until_it_breaks, NULL);
		let_it_wait(&is_ready);
		CHECK_EQ(close(pair[0]), 0);
		thread_join(thread);
	}
}

static _Atomic int nr_signals;

static void on_plain_signal(int sig)
{
	nr_signals++;
}

static void *send_until_it_breaks(void *arg)
{
	static char data[1 << 20];

	is_ready = 1;
	CHECK(send(pair[1], data, sizeof(data), 0) > 0);
	CHECK_EQ(nr_signals, 0);
	CHECK_ERRNO(send(pair[1], data, 1, 0), EPIPE);
	CHECK_EQ(nr_signals, 1);
	return arg;
}

/*
 * A send reports the bytes that it has sent; the next call reports the broken
 * pipe.
 */
TEST(count_comes_before_the_broken_pipe)
{
	pthread_t thread;

	signal(SIGPIPE, on_plain_signal);
	make_pair(SOCK_STREAM);
	thread = thread_start(send_until_it_breaks, NULL);
	let_it_wait(&is_ready);
	CHECK_EQ(close(pair[0]), 0);
	thread_join(thread);
}

/* --- connections --------------------------------------------------------- */

static struct sockaddr_un name;
static void fill_queue(void)
{
	listener = socket(AF_UNIX, SOCK_STREAM, 0);
	name.sun_family = AF_UNIX;
	name.sun_path[0] = 0;
	memcpy(name.sun_path + 1, &(pid_t){ getpid() }, sizeof(pid_t));
	CHECK_EQ(bind(listener, (struct sockaddr *)&name, sizeof(name)), 0);
	CHECK_EQ(listen(listener, 0), 0);
	for (;;) {
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

		if (connect(fd, (struct sockaddr *)&name, sizeof(name)) < 0) {
			CHECK_EQ(errno, EAGAIN);
			CHECK_EQ(close(fd), 0);
			return;
		}
	}
}

static void *connect_and_send(void *arg)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	is_ready = 1;
	CHECK_EQ(connect(fd, (struct sockaddr *)&name, sizeof(name)), 0);
	CHECK_EQ(send(fd, "x", 1, MSG_NOSIGNAL), 1);
	return arg;
}

/* A handler with SA_RESTART does not end a connect that waits in the queue. */
TEST(connect_goes_on_after_a_handler)
{
	struct sigaction action = { .sa_handler = on_plain_signal,
				    .sa_flags = SA_RESTART };
	pthread_t thread;

	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	fill_queue();
	thread = thread_start(connect_and_send, NULL);
	let_it_wait(&is_ready);
	CHECK_EQ(pthread_kill(thread, SIGUSR1), 0);
	await_rest();
	CHECK(accept(listener, NULL, NULL) >= 0);
	thread_join(thread);
	CHECK_EQ(nr_signals, 1);
}

TEST(connect_with_a_time_limit)
{
	struct timeval limit = { 0, 30000 };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	have_threads();
	fill_queue();
	CHECK_EQ(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)),
		 0);
	CHECK_ERRNO(connect(fd, (struct sockaddr *)&name, sizeof(name)),
		    EAGAIN);
}

/* --- polling ------------------------------------------------------------- */

/*
 * fd_sets as short as the program's descriptors need: nothing behind them may
 * be read.
 */
TEST(short_sets)
{
	size_t page = (size_t)getpagesize();
	char *two = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct timeval limit = { 0, 20000 };
	fd_set *set = (fd_set *)(two + page - sizeof(long));

	have_threads();
	CHECK(two != MAP_FAILED);
	CHECK_EQ(munmap(two + page, page), 0);
	CHECK_EQ(pipe(pair), 0);
	*(long *)(void *)set = 1L << pair[0];
	CHECK_EQ(select(pair[0] + 1, set, NULL, NULL, &limit), 0);
	CHECK_EQ(*(long *)(void *)set, 0);
	CHECK_EQ(write(pair[1], "x", 1), 1);
	*(long *)(void *)set = 1L << pair[0];
	CHECK_EQ(select(pair[0] + 1, set, NULL, NULL, NULL), 1);
	CHECK_EQ(*(long *)(void *)set, 1L << pair[0]);
}

enum { NR_MANY = 40 };

/*
 * Polls many descriptors, one of which epoll refuses, while no descriptor
 * number is free.
 */
TEST(poll_many_with_no_number_free)
{
	struct rlimit limit = { 100, 100 };
	struct pollfd fds[NR_MANY];
	int file = open("/proc/self/exe", O_RDONLY);

	have_threads();
	CHECK_EQ(pipe(pair), 0);
	for (int i = 0; i < NR_MANY; i++)
		fds[i] = (struct pollfd){ pair[0], POLLIN, 0 };
	fds[7] = (struct pollfd){ file, POLLPRI, 0 };
	CHECK_EQ(poll(fds, NR_MANY, 20), 0);
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
	while (dup(0) >= 0)
		;
	CHECK_EQ(poll(fds, NR_MANY, 20), 0);
	CHECK_EQ(write(pair[1], "x", 1), 1);
	CHECK_EQ(poll(fds, NR_MANY, 20), NR_MANY - 1);
}

TEST(ranges_to_close)
{
	have_threads();
	CHECK_ERRNO(close_range(5, 4, 0), EINVAL);
	CHECK_ERRNO(close_range(~0U, 0, 0), EINVAL);
	CHECK_ERRNO(close_range(~0U, ~0U, 999), EINVAL);
	CHECK_EQ(close_range(500, 500, 0), 0);
	CHECK_EQ(close_range(~0U, ~0U, 0), 0);
}

/* --- requests that are given up ------------------------------------------ */

enum { NR_RIVALS = 24, NR_TURNS = 60 };
static _Atomic int has_ended;

static void *read_with_rivals(void *arg)
{
	char c;

	while (!has_ended) {
		ssize_t n = recv(pair[0], &c, 1, 0);

		CHECK(n == 1 || (n < 0 && (errno == EINTR || errno == EAGAIN)));
	}
	return arg;
}

/* Time limits, signals and data arrive at once; every thread stops waiting. */
TEST(rivals_give_up)
{
	struct sigaction action = { .sa_handler = on_plain_signal };
	struct timeval limit = { 0, 1000 };
	pthread_t threads[NR_RIVALS];

	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	make_pair(SOCK_STREAM);
	CHECK_EQ(setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &limit,
			    sizeof(limit)),
		 0);
	threads_start(threads, NR_RIVALS, read_with_rivals, NULL);
	for (int turn = 0; turn < NR_TURNS; turn++) {
		for (int i = 0; i < NR_RIVALS; i++) {
			CHECK_EQ(send(pair[1], "abc", 3, 0), 3);
			CHECK_EQ(pthread_kill(threads[i], SIGUSR1), 0);
		}
		usleep(1000);
	}
	has_ended = 1;
	threads_join(threads, NR_RIVALS);
}

static void *connect_badly(void *arg)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	while (!has_ended)
		CHECK_ERRNO(connect(fd, (void *)8, 16), EFAULT);
	return arg;
}

static void *read_until_limit(void *arg)
{
	char c;

	for (int i = 0; i < 100; i++)
		CHECK_ERRNO(recv(pair[0], &c, 1, 0), EAGAIN);
	return arg;
}

/* A call that the kernel refuses must not delay other calls. */
TEST(refused_calls_beside_others)
{
	struct timeval limit = { 0, 100 };
	pthread_t bad[4], good[16];

	make_pair(SOCK_STREAM);
	CHECK_EQ(setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &limit,
			    sizeof(limit)),
		 0);
	threads_start(good, 16, read_until_limit, NULL);
	threads_start(bad, 4, connect_badly, NULL);
	threads_join(good, 16);
	has_ended = 1;
	threads_join(bad, 4);
}

/* A negative part is an error even if the sum of both parts is valid. */
TEST(select_refuses_a_time_with_a_part_below_zero)
{
	struct timeval below[] = { { -1, 2000000 }, { 1, -1 } };

	thread_join(thread_start(thread_nothing, NULL));
	for (int i = 0; i < 2; i++)
		CHECK_ERRNO(select(0, NULL, NULL, NULL, &below[i]), EINVAL);
}

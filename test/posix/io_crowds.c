/* SPDX-License-Identifier: MIT */
/*
 * Thousands of descriptors, threads that wait for them by each kind of call,
 * and epoll as servers use it.
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "descriptors.h"
#include "sockets.h"

static _Atomic int nr_begun, nr_done;
static int epfd;

static void add(int fd, uint32_t events, int number)
{
	struct epoll_event event = { .events = events, .data.fd = number };

	CHECK_EQ(epoll_ctl(epfd, EPOLL_CTL_ADD, fd, &event), 0);
}

/* --- thousands of threads ------------------------------------------------ */

enum { NR_READERS = 3000 };
static int (*pairs)[2];

static void make_pairs(int nr)
{
	need_descriptors(2 * (rlim_t)nr);
	pairs = calloc((size_t)nr, sizeof(*pairs));
	for (int i = 0; i < nr; i++)
		CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[i]), 0);
}

static void *read_twice(void *arg)
{
	intptr_t i = (intptr_t)arg;
	int number;

	for (int turn = 0; turn < 2; turn++) {
		nr_begun++;
		CHECK_EQ(read(pairs[i][0], &number, sizeof(number)),
			 sizeof(number));
		CHECK_EQ(number, i);
		nr_done++;
	}
	return NULL;
}

/* More waits at once than fit into a ring's queues. */
TEST(thousands_of_readers)
{
	static pthread_t threads[NR_READERS];

	make_pairs(NR_READERS);
	threads_start_numbered(threads, NR_READERS, read_twice);
	for (int turn = 1; turn <= 2; turn++) {
		await_count(&nr_begun, turn * NR_READERS);
		for (int i = NR_READERS - 1; i >= 0; i--)
			CHECK_EQ(write(pairs[i][1], &i, sizeof(i)), sizeof(i));
	}
	threads_join(threads, NR_READERS);
	CHECK_EQ(nr_done, 2 * NR_READERS);
}

static void *send_at_rest(void *arg)
{
	await_rest();
	CHECK_EQ(write(pairs[(intptr_t)arg][1], "x", 1), 1);
	return NULL;
}

TEST(thousands_of_descriptors)
{
	static struct pollfd fds[NR_READERS];
	pthread_t thread;
	char c;

	make_pairs(NR_READERS);
	epfd = epoll_create1(EPOLL_CLOEXEC);
	for (int i = 0; i < NR_READERS; i++) {
		fds[i] = (struct pollfd){ pairs[i][0], POLLIN, 0 };
		add(pairs[i][0], EPOLLIN, i);
	}
	for (intptr_t at = 1; at < NR_READERS; at += NR_READERS / 7) {
		struct epoll_event event;

		thread = thread_start(send_at_rest, (void *)at);
		CHECK_EQ(poll(fds, NR_READERS, -1), 1);
		CHECK_EQ(fds[at].revents, POLLIN);
		CHECK_EQ(epoll_wait(epfd, &event, 1, -1), 1);
		CHECK_EQ(event.data.fd, at);
		CHECK_EQ(read(pairs[at][0], &c, 1), 1);
		CHECK_EQ(poll(fds, NR_READERS, 0), 0);
		thread_join(thread);
		thread = thread_start(send_at_rest, (void *)at);
		CHECK_EQ(epoll_wait(epfd, &event, 1, -1), 1);
		CHECK_EQ(event.data.fd, at);
		CHECK_EQ(read(pairs[at][0], &c, 1), 1);
		thread_join(thread);
	}
}

/* --- one thread that waits in all ways ----------------------------------- */

enum { PIPE, SOCKET, EVENT, TIMER, SET, NR_KINDS };
static int readable[NR_KINDS], behind[NR_KINDS];

static void make_readable(intptr_t kind)
{
	struct itimerspec soon = { .it_value = { 0, 1 } };
	uint64_t one = 1;

	if (kind == TIMER)
		CHECK_EQ(timerfd_settime(behind[kind], 0, &soon, NULL), 0);
	else
		CHECK_EQ(write(behind[kind], &one, sizeof(one)), sizeof(one));
}

static void *make_readable_at_rest(void *kind)
{
	await_rest();
	make_readable((intptr_t)kind);
	return NULL;
}

static void make_kinds(void)
{
	int ends[2];

	CHECK_EQ(pipe(ends), 0);
	readable[PIPE] = ends[0];
	behind[PIPE] = ends[1];
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	readable[SOCKET] = ends[0];
	behind[SOCKET] = ends[1];
	readable[EVENT] = behind[EVENT] = eventfd(0, 0);
	readable[TIMER] = behind[TIMER] = timerfd_create(CLOCK_MONOTONIC, 0);
	/* An epoll set that contains an eventfd. */
	readable[SET] = epoll_create1(0);
	behind[SET] = eventfd(0, 0);
	CHECK_EQ(epoll_ctl(readable[SET], EPOLL_CTL_ADD, behind[SET],
			   &(struct epoll_event){ .events = EPOLLIN }),
		 0);
	epfd = epoll_create1(0);
	for (int i = 0; i < NR_KINDS; i++)
		add(readable[i], EPOLLIN, i);
}

static void empty(int kind)
{
	uint64_t number;
	int fd = kind == SET ? behind[SET] : readable[kind];

	CHECK_EQ(read(fd, &number, sizeof(number)), sizeof(number));
}

static void wait_by_poll(int kind)
{
	struct pollfd fds[NR_KINDS];

	for (int i = 0; i < NR_KINDS; i++)
		fds[i] = (struct pollfd){ readable[i], POLLIN, 0 };
	CHECK_EQ(poll(fds, NR_KINDS, -1), 1);
	for (int i = 0; i < NR_KINDS; i++)
		CHECK_EQ(fds[i].revents, i == kind ? POLLIN : 0);
}

static void wait_by_select(int kind)
{
	fd_set set;

	FD_ZERO(&set);
	for (int i = 0; i < NR_KINDS; i++)
		FD_SET(readable[i], &set);
	CHECK_EQ(select(FD_SETSIZE, &set, NULL, NULL, NULL), 1);
	for (int i = 0; i < NR_KINDS; i++)
		CHECK_EQ(FD_ISSET(readable[i], &set) != 0, i == kind);
}

static void wait_by_epoll(int kind)
{
	struct epoll_event events[NR_KINDS];

	CHECK_EQ(epoll_wait(epfd, events, NR_KINDS, -1), 1);
	CHECK_EQ(events[0].data.fd, kind);
}

TEST(every_kind_by_every_means)
{
	static void (*const waits[])(int) = { wait_by_poll, wait_by_select,
					      wait_by_epoll };

	make_kinds();
	for (intptr_t kind = 0; kind < NR_KINDS; kind++) {
		for (int i = 0; i < 3; i++) {
			pthread_t thread = thread_start(make_readable_at_rest,
							(void *)kind);

			waits[i]((int)kind);
			thread_join(thread);
			empty((int)kind);
		}
	}
}

/* --- epoll as servers use it --------------------------------------------- */

enum { NR_WORKERS = 8, NR_CLIENTS = 30, NR_MESSAGES = 40, MESSAGE = 3000 };

/* Reads until EAGAIN: an edge-triggered set reports no event before that. */
static void echo_all(int fd)
{
	char buf[1000];
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0) {
		for (ssize_t done = 0, part; done < n; done += part) {
			struct pollfd room = { fd, POLLOUT, 0 };

			part = write(fd, buf + done, (size_t)(n - done));
			if (part < 0) {
				CHECK_EQ(errno, EAGAIN);
				CHECK_EQ(poll(&room, 1, -1), 1);
				part = 0;
			}
		}
	}
	CHECK(n == 0 || errno == EAGAIN);
	if (n == 0) {
		CHECK_EQ(close(fd), 0);
		nr_done++;
	}
}

static uint32_t mode;

static void *serve(void *arg)
{
	struct epoll_event event;

	for (;;) {
		CHECK_EQ(epoll_wait(epfd, &event, 1, -1), 1);
		if (event.data.fd < 0)
			return arg;
		echo_all(event.data.fd);
		if ((mode & EPOLLONESHOT) == 0)
			continue;
		/* Fails if another worker has closed it. */
		event.events = mode;
		epoll_ctl(epfd, EPOLL_CTL_MOD, event.data.fd, &event);
	}
}

static void *ask(void *arg)
{
	int fd = pairs[(intptr_t)arg][1];
	char out[MESSAGE], in[MESSAGE];

	for (int i = 0; i < NR_MESSAGES; i++) {
		for (int k = 0; k < MESSAGE; k++)
			out[k] = (char)(i + k % 101);
		CHECK_EQ(send(fd, out, MESSAGE, 0), MESSAGE);
		CHECK_EQ(recv(fd, in, MESSAGE, MSG_WAITALL), MESSAGE);
		for (int k = 0; k < MESSAGE; k++)
			CHECK_EQ(in[k], out[k]);
	}
	CHECK_EQ(close(fd), 0);
	return NULL;
}

/*
 * Serves with one worker on all sockets, or with several; each socket is with
 * one worker at a time.
 */
static void serve_clients(int nr_workers)
{
	pthread_t workers[NR_WORKERS], clients[NR_CLIENTS];
	int stop = eventfd(1, 0);

	epfd = epoll_create1(0);
	make_pairs(NR_CLIENTS);
	for (int i = 0; i < NR_CLIENTS; i++) {
		CHECK_EQ(fcntl(pairs[i][0], F_SETFL, O_NONBLOCK), 0);
		add(pairs[i][0], mode, pairs[i][0]);
	}
	threads_start(workers, nr_workers, serve, NULL);
	threads_start_numbered(clients, NR_CLIENTS, ask);
	threads_join(clients, NR_CLIENTS);
	await_count(&nr_done, NR_CLIENTS);
	add(stop, EPOLLIN, -1);
	threads_join(workers, nr_workers);
}

TEST(edge_triggered_server)
{
	mode = EPOLLIN | EPOLLET;
	serve_clients(1);
}

TEST(oneshot_server)
{
	mode = EPOLLIN | EPOLLONESHOT;
	serve_clients(NR_WORKERS);
}

TEST(edge_triggered_oneshot_server)
{
	mode = EPOLLIN | EPOLLET | EPOLLRDHUP | EPOLLONESHOT;
	serve_clients(NR_WORKERS);
}

/* --- one listener, many threads ------------------------------------------ */

enum { NR_CALLS = 300 };

static void *accept_exclusively(void *arg)
{
	int own = epoll_create1(0), fd;
	struct epoll_event event = { .events = EPOLLIN | EPOLLEXCLUSIVE };
	char c;

	CHECK_EQ(epoll_ctl(own, EPOLL_CTL_ADD, listener, &event), 0);
	for (;;) {
		CHECK_EQ(epoll_wait(own, &event, 1, -1), 1);
		fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (fd < 0) {
			CHECK_EQ(errno, EAGAIN);
			continue;
		}
		CHECK_EQ(read(fd, &c, 1), 1);
		nr_done += c != 'q';
		CHECK_EQ(close(fd), 0);
		if (c == 'q')
			break;
	}
	CHECK_EQ(close(own), 0);
	return arg;
}

TEST(exclusive_sets_on_one_listener)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t bytes = sizeof(address);
	pthread_t threads[NR_WORKERS];

	listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	CHECK_EQ(bind(listener, (struct sockaddr *)&address, bytes), 0);
	CHECK_EQ(listen(listener, 100), 0);
	CHECK_EQ(getsockname(listener, (struct sockaddr *)&address, &bytes), 0);
	threads_start(threads, NR_WORKERS, accept_exclusively, NULL);
	for (int i = 0; i < NR_CALLS; i++)
		call(&address, 'c');
	CHECK_EQ(nr_done, NR_CALLS);
	for (int i = 0; i < NR_WORKERS; i++)
		call(&address, 'q');
	threads_join(threads, NR_WORKERS);
}

/* --- changes during a wait ----------------------------------------------- */

static void *read_of_pair(void *arg)
{
	char c = 0;

	nr_begun++;
	CHECK_EQ(read(pairs[(intptr_t)arg][0], &c, 1), 1);
	return (void *)(intptr_t)c;
}

/* A wait that has begun continues; the next call returns at once. */
TEST(no_blocking_from_now_on)
{
	pthread_t thread;
	char c;

	make_pairs(1);
	thread = thread_start(read_of_pair, NULL);
	let_it_wait(&nr_begun);
	CHECK_EQ(fcntl(pairs[0][0], F_SETFL, O_NONBLOCK), 0);
	CHECK_ERRNO(read(pairs[0][0], &c, 1), EAGAIN);
	CHECK_EQ(write(pairs[0][1], "w", 1), 1);
	CHECK_EQ((intptr_t)thread_join(thread), 'w');
	CHECK_ERRNO(read(pairs[0][0], &c, 1), EAGAIN);
	CHECK_EQ(fcntl(pairs[0][0], F_SETFL, 0), 0);
	thread = thread_start(send_at_rest, NULL);
	CHECK_EQ(read(pairs[0][0], &c, 1), 1);
	thread_join(thread);
}

enum { NR_BLOCKERS = 6 };

/* Blocks in a call that weft does not intercept, so the VP is handed off. */
static void *block_for_a_while(void *arg)
{
	struct itimerspec every = { { 0, 5000000 }, { 0, 5000000 } };
	int fd = timerfd_create(CLOCK_MONOTONIC, 0);
	uint64_t nr;

	CHECK_EQ(timerfd_settime(fd, 0, &every, NULL), 0);
	for (int i = 0; i < 10; i++)
		CHECK_EQ(syscall(SYS_read, fd, &nr, sizeof(nr)), sizeof(nr));
	CHECK_EQ(close(fd), 0);
	return arg;
}

/*
 * The thread that began the read runs on another carrier when the bytes come.
 */
TEST(blocked_threads_beside_waits)
{
	pthread_t blockers[NR_BLOCKERS], readers[NR_CLIENTS];

	make_pairs(NR_CLIENTS);
	for (int turn = 0; turn < 3; turn++) {
		nr_begun = 0;
		threads_start_numbered(readers, NR_CLIENTS, read_of_pair);
		threads_start(blockers, NR_BLOCKERS, block_for_a_while, NULL);
		await_count(&nr_begun, NR_CLIENTS);
		for (int i = 0; i < NR_CLIENTS; i++) {
			char c = (char)('a' + i);

			sleep_ms(1);
			CHECK_EQ(write(pairs[i][1], &c, 1), 1);
		}
		for (int i = 0; i < NR_CLIENTS; i++)
			CHECK_EQ((intptr_t)thread_join(readers[i]),
				 (char)('a' + i));
		threads_join(blockers, NR_BLOCKERS);
	}
}

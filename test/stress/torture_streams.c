/* SPDX-License-Identifier: MIT */
/*
 * Acts with streams, event counts and connections: no byte is lost or doubled.
 */
#include "torture.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/uio.h>

#define MOST_AT_ONCE (1L << 15)

/* --- waiting -------------------------------------------------------------- */

static void check_interrupted(int rc)
{
	if (rc < 0)
		CHECK_EQ(errno, EINTR);
}

static void wait_by_epoll(int fd, uint32_t events, int ms)
{
	struct epoll_event event = { .events = events };
	int set = epoll_create1(EPOLL_CLOEXEC);

	CHECK(set >= 0);
	CHECK_EQ(epoll_ctl(set, EPOLL_CTL_ADD, fd, &event), 0);
	check_interrupted(epoll_wait(set, &event, 1, ms));
	CHECK_EQ(close(set), 0);
}

static void wait_by_select(int fd, bool reads)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(fd, &set);
	check_interrupted(select(fd + 1, reads ? &set : NULL,
				 reads ? NULL : &set, NULL, NULL));
}

/* Returns when the descriptor is ready, after a handler, or after a while. */
static void wait_ready(uint64_t *random, int fd, short events)
{
	struct timespec soon = { 0, random_below(random, 300000) };
	struct pollfd many[40];

	for (int i = 0; i < 40; i++)
		many[i] = (struct pollfd){ fd, events, 0 };
	switch (random_below(random, 5)) {
	case 0:
		check_interrupted(poll(many, 1, -1));
		break;
	case 1:
		check_interrupted(poll(many, 40, -1));
		break;
	case 2:
		check_interrupted(ppoll(many, 1, &soon, NULL));
		break;
	case 3:
		wait_by_epoll(fd, (uint32_t)events | EPOLLET,
			      random_below(random, 2) ? -1 : 1);
		break;
	default:
		wait_by_select(fd, events == POLLIN);
		break;
	}
}

static void set_nonblocking(int fd, bool on)
{
	int flags = fcntl(fd, F_GETFL);

	CHECK(flags >= 0);
	flags = on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK;
	CHECK_EQ(fcntl(fd, F_SETFL, flags), 0);
}

/* --- conversations -------------------------------------------------------- */

struct end {
	int fd;
	uint64_t key; /* determines the bytes */
	uint64_t random;
	long nr;
};

static unsigned char byte_at(uint64_t key, long at)
{
	return (unsigned char)((key >> (at & 31)) + (uint64_t)at * 167);
}

static size_t any_length(uint64_t *random)
{
	return (size_t)(1 +
			random_below(random, 1L << random_below(random, 16)));
}

static ssize_t say_some(struct end *e, unsigned char *bytes, size_t length)
{
	struct iovec parts[] = { { bytes, length / 3 },
				 { bytes + length / 3, length - length / 3 } };
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };

	switch (random_below(&e->random, 5)) {
	case 0:
		return write(e->fd, bytes, length);
	case 1:
		return writev(e->fd, parts, 2);
	case 2:
		return sendmsg(e->fd, &message, MSG_NOSIGNAL);
	case 3:
		return send(e->fd, bytes, length, MSG_DONTWAIT);
	default:
		return send(e->fd, bytes, length, MSG_MORE);
	}
}

static void *say(void *arg)
{
	struct end *e = arg;
	unsigned char bytes[MOST_AT_ONCE];
	long at = 0;

	while (at < e->nr) {
		size_t length = any_length(&e->random);
		ssize_t n;

		if (length > (size_t)(e->nr - at))
			length = (size_t)(e->nr - at);
		for (size_t i = 0; i < length; i++)
			bytes[i] = byte_at(e->key, at + (long)i);
		n = say_some(e, bytes, length);
		if (n >= 0) {
			CHECK(n > 0 && (size_t)n <= length);
			at += n;
		} else if (errno == EAGAIN) {
			wait_ready(&e->random, e->fd, POLLOUT);
		} else {
			CHECK_EQ(errno, EINTR);
		}
		stress_disturb(&e->random);
	}
	CHECK_EQ(shutdown(e->fd, SHUT_WR), 0);
	return NULL;
}

static ssize_t hear_in_time(struct end *e, unsigned char *bytes, size_t length)
{
	struct timeval time = { 0, 1 + random_below(&e->random, 2000) };
	ssize_t n;
	int err;

	CHECK_EQ(setsockopt(e->fd, SOL_SOCKET, SO_RCVTIMEO, &time,
			    sizeof(time)),
		 0);
	n = recv(e->fd, bytes, length, 0);
	err = errno;
	time.tv_usec = 0;
	CHECK_EQ(setsockopt(e->fd, SOL_SOCKET, SO_RCVTIMEO, &time,
			    sizeof(time)),
		 0);
	errno = err;
	return n;
}

static ssize_t hear_without_waiting(struct end *e, unsigned char *bytes,
				    size_t length)
{
	ssize_t n;
	int err;

	set_nonblocking(e->fd, true);
	n = read(e->fd, bytes, length);
	err = errno;
	set_nonblocking(e->fd, false);
	errno = err;
	return n;
}

static ssize_t hear_some(struct end *e, unsigned char *bytes, size_t length)
{
	struct iovec parts[] = { { bytes, length / 4 },
				 { bytes + length / 4, 0 },
				 { bytes + length / 4, length - length / 4 } };
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 3 };

	switch (random_below(&e->random, 8)) {
	case 0:
		return read(e->fd, bytes, length);
	case 1:
		return readv(e->fd, parts, 3);
	case 2:
		return recvmsg(e->fd, &message, 0);
	case 3:
		return recv(e->fd, bytes, length, MSG_WAITALL);
	case 4:
		return recv(e->fd, bytes, length, MSG_DONTWAIT);
	case 5:
		return hear_in_time(e, bytes, length);
	case 6:
		return hear_without_waiting(e, bytes, length);
	default:
		if (recv(e->fd, bytes, length, MSG_PEEK) < 0)
			CHECK_EQ(errno, EINTR);
		return recv(e->fd, bytes, length, 0);
	}
}

static void *hear(void *arg)
{
	struct end *e = arg;
	unsigned char bytes[MOST_AT_ONCE];
	long at = 0;
	ssize_t n;

	while ((n = hear_some(e, bytes, any_length(&e->random))) != 0) {
		if (n < 0 && errno == EAGAIN)
			wait_ready(&e->random, e->fd, POLLIN);
		else if (n < 0)
			CHECK_EQ(errno, EINTR);
		for (ssize_t i = 0; i < n; i++)
			CHECK_EQ(bytes[i], byte_at(e->key, at + i));
		at += n > 0 ? n : 0;
	}
	CHECK_EQ(at, e->nr);
	return NULL;
}

static int listen_somewhere(struct sockaddr_in *ret_address)
{
	socklen_t length = sizeof(*ret_address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*ret_address = (struct sockaddr_in){
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)
	};
	CHECK(fd >= 0);
	CHECK_EQ(bind(fd, (struct sockaddr *)ret_address, length), 0);
	CHECK_EQ(listen(fd, 8), 0);
	CHECK_EQ(getsockname(fd, (struct sockaddr *)ret_address, &length), 0);
	return fd;
}

/* A connect continues after a handler. */
static int call(const struct sockaddr_in *address)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct pollfd writable = { fd, POLLOUT, 0 };
	socklen_t length = sizeof(int);
	int err = 0;

	CHECK(fd >= 0);
	if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) ==
	    0)
		return fd;
	CHECK_EQ(errno, EINTR);
	while (poll(&writable, 1, -1) < 0)
		CHECK_EQ(errno, EINTR);
	CHECK_EQ(getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &length), 0);
	CHECK_EQ(err, 0);
	return fd;
}

static int answer(int listener)
{
	int fd;

	do {
		fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	} while (fd < 0 && errno == EINTR);
	return fd;
}

static void connect_ends(uint64_t *random, int ends[2])
{
	struct sockaddr_in address;
	int listener;

	if (random_below(random, 2) == 0) {
		CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
				    ends),
			 0);
		return;
	}
	listener = listen_somewhere(&address);
	ends[0] = call(&address);
	ends[1] = answer(listener);
	CHECK(ends[1] >= 0);
	CHECK_EQ(close(listener), 0);
}

void converse(uint64_t *random)
{
	struct end says[2], hears[2];
	pthread_t threads[4];
	int ends[2];

	connect_ends(random, ends);
	for (int i = 0; i < 2; i++) {
		says[i] = (struct end){ ends[i], random_next(random),
					random_next(random),
					random_below(random, 1L << 17) };
		hears[i] = says[i];
		hears[i].fd = ends[1 - i];
		hears[i].random = random_next(random);
		threads[i] = torture_start(random, say, &says[i]);
		threads[2 + i] = torture_start(random, hear, &hears[i]);
	}
	threads_join(threads, 4);
	CHECK_EQ(close(ends[0]), 0);
	CHECK_EQ(close(ends[1]), 0);
}

/* Several threads accept until another thread shuts the socket down. */
static void *accept_all(void *arg)
{
	intptr_t nr = 0;
	int fd;

	while ((fd = answer((int)(intptr_t)arg)) >= 0) {
		nr++;
		torture_write_byte(fd, 'a');
		CHECK_EQ(close(fd), 0);
	}
	CHECK_EQ(errno, EINVAL);
	return (void *)nr;
}

void accept_together(uint64_t *random)
{
	struct sockaddr_in address;
	int listener = listen_somewhere(&address);
	long nr = random_below(random, 6), nr_accepted = 0;
	pthread_t threads[3];
	char byte = 0;

	for (int i = 0; i < 3; i++)
		threads[i] = torture_start(random, accept_all,
					   (void *)(intptr_t)listener);
	for (long i = 0; i < nr; i++) {
		int fd = call(&address);

		CHECK_EQ(torture_read_byte(fd, &byte), 1);
		CHECK_EQ(torture_read_byte(fd, &byte), 0);
		CHECK_EQ(close(fd), 0);
	}
	stress_disturb(random);
	CHECK_EQ(shutdown(listener, SHUT_RDWR), 0);
	for (int i = 0; i < 3; i++)
		nr_accepted += (intptr_t)thread_join(threads[i]);
	CHECK_EQ(nr_accepted, nr);
	CHECK_EQ(close(listener), 0);
}

/* --- counts --------------------------------------------------------------- */

#define NR_EVENTS 20

struct counter {
	int fd;
	uint64_t random;
};

static void *count_up(void *arg)
{
	struct counter *c = arg;
	uint64_t one = 1;

	for (int i = 0; i < NR_EVENTS; i++) {
		while (write(c->fd, &one, sizeof(one)) < 0)
			CHECK_EQ(errno, EINTR);
		stress_disturb(&c->random);
	}
	return NULL;
}

static void *count_down(void *arg)
{
	struct counter *c = arg;
	uint64_t value;

	for (int i = 0; i < NR_EVENTS;) {
		if (read(c->fd, &value, sizeof(value)) > 0)
			i++;
		else if (errno == EAGAIN)
			wait_ready(&c->random, c->fd, POLLIN);
		else
			CHECK_EQ(errno, EINTR);
	}
	return NULL;
}

void count_events(uint64_t *random)
{
	int flags = random_below(random, 2) ? EFD_NONBLOCK : 0;
	int fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC | flags);
	struct counter counters[4];
	pthread_t threads[4];
	uint64_t value;

	CHECK(fd >= 0);
	for (int i = 0; i < 4; i++) {
		counters[i] = (struct counter){ fd, random_next(random) };
		threads[i] = torture_start(
			random, i < 2 ? count_up : count_down, &counters[i]);
	}
	threads_join(threads, 4);
	set_nonblocking(fd, true);
	CHECK_ERRNO(read(fd, &value, sizeof(value)), EAGAIN);
	CHECK_EQ(close(fd), 0);
}

/* Expirations are not counted before their time, nor twice. */
void count_ticks(uint64_t *random)
{
	int64_t period_ns = 1 + random_below(random, 500000);
	struct itimerspec spec = { { 0, period_ns }, { 0, period_ns } };
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	int64_t start = now_ns();
	uint64_t sum = 0, nr;

	CHECK(fd >= 0);
	CHECK_EQ(timerfd_settime(fd, 0, &spec, NULL), 0);
	while (sum < 3) {
		if (random_below(random, 2))
			wait_ready(random, fd, POLLIN);
		if (read(fd, &nr, sizeof(nr)) > 0)
			sum += nr;
		else
			CHECK_EQ(errno, EINTR);
	}
	CHECK((int64_t)sum * period_ns <= now_ns() - start);
	CHECK_EQ(close(fd), 0);
}

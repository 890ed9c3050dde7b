/* SPDX-License-Identifier: MIT */
/*
 * Calls that wait, perhaps several times, while another thread makes their
 * number another file's. The calls stay with their file, and the new file gets
 * nothing. A call that begins too late finds the new file, so on a busy machine
 * a case may need several attempts.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "files.h"
#include "sockets.h"

enum { LONG = 1000000 };

/* The case makes pair[0] the number of other[0]'s file. */
static int other[2];
static char bytes[LONG];
static size_t nr_bytes;

static void succeeds(bool (*attempt)(void))
{
	enum { MOST = 20 };
	bool is_done = false;

	for (int i = 0; i < MOST && !is_done; i++)
		is_done = attempt();
	CHECK(is_done);
}

static void make_other(void)
{
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, other), 0);
}

/* `call` begins to wait, and its number becomes other[0]'s. */
static pthread_t begin(void *(*call)(void *))
{
	pthread_t thread;

	is_ready = 0;
	thread = thread_start(call, NULL);
	let_it_wait(&is_ready);
	CHECK_EQ(dup2(other[0], pair[0]), pair[0]);
	return thread;
}

static void close_all(void)
{
	for (int i = 0; i < 2; i++) {
		close(pair[i]);
		close(other[i]);
	}
}

/* Counts the bytes that arrive within a moment. */
static size_t drain(int fd)
{
	struct pollfd p = { fd, POLLIN, 0 };
	size_t nr = 0;
	ssize_t n = 1;

	while (n > 0 && poll(&p, 1, 50) > 0) {
		n = read(fd, bytes, sizeof(bytes));
		nr += n > 0 ? (size_t)n : 0;
	}
	return nr;
}

/* --- writes --------------------------------------------------------------- */

static size_t fill(int fd)
{
	int flags = fcntl(fd, F_GETFL);
	size_t nr = 0;
	ssize_t n;

	CHECK_EQ(fcntl(fd, F_SETFL, flags | O_NONBLOCK), 0);
	while ((n = write(fd, bytes, 4096)) > 0)
		nr += (size_t)n;
	CHECK_EQ(fcntl(fd, F_SETFL, flags), 0);
	return nr;
}

static void *write_bytes(void *arg)
{
	is_ready = 1;
	return outcome(write(pair[0], bytes, nr_bytes));
}

static bool writes(void)
{
	size_t before = fill(pair[0]), old;
	pthread_t thread;
	bool is_done;

	make_other();
	thread = begin(write_bytes);
	old = drain(pair[1]) - before;
	is_done = old == nr_bytes && drain(other[1]) == 0;
	is_done &= result_of(thread) == (long)nr_bytes;
	close_all();
	return is_done;
}

static void make_pipe(void)
{
	int ends[2];

	CHECK_EQ(pipe(ends), 0);
	pair[0] = ends[1];
	pair[1] = ends[0];
}

static bool write_to_pipe(void)
{
	make_pipe();
	return writes();
}

static bool write_to_socket(void)
{
	make_pair(SOCK_STREAM);
	return writes();
}

TEST(short_write_to_pipe)
{
	nr_bytes = 100;
	succeeds(write_to_pipe);
}

TEST(long_write_to_pipe)
{
	nr_bytes = LONG;
	succeeds(write_to_pipe);
}

TEST(short_write_to_socket)
{
	nr_bytes = 100;
	succeeds(write_to_socket);
}

TEST(long_write_to_socket)
{
	nr_bytes = LONG;
	succeeds(write_to_socket);
}

/* --- files that can only be polled ---------------------------------------- */

static void *add_one(void *arg)
{
	is_ready = 1;
	return outcome(eventfd_write(pair[0], 1) == 0 ? 1 : -1);
}

static bool added(void)
{
	pthread_t thread;
	eventfd_t value = 0;
	bool is_done;

	pair[0] = eventfd(0, 0);
	pair[1] = dup(pair[0]);
	CHECK_EQ(eventfd_write(pair[1], UINT64_MAX - 1), 0);
	make_other();
	thread = begin(add_one);
	CHECK_EQ(eventfd_read(pair[1], &value), 0);
	is_done = result_of(thread) == 1 && drain(other[1]) == 0 &&
		  eventfd_read(pair[1], &value) == 0 && value == 1;
	close_all();
	return is_done;
}

TEST(eventfd_that_is_full)
{
	succeeds(added);
}

static void *read_event(void *arg)
{
	struct inotify_event event;

	is_ready = 1;
	if (read(pair[0], &event, sizeof(event)) != sizeof(event))
		return outcome(-1);
	return outcome((event.mask & IN_ATTRIB) != 0);
}

static bool told(void)
{
	char path[] = "/tmp/stays.XXXXXX";
	int fd = mkstemp(path);
	pthread_t thread;
	bool is_done;

	CHECK(fd >= 0);
	pair[0] = inotify_init();
	pair[1] = dup(pair[0]);
	CHECK(inotify_add_watch(pair[0], path, IN_ATTRIB) >= 0);
	make_other();
	CHECK_EQ(write(other[1], bytes, 100), 100);
	thread = begin(read_event);
	CHECK_EQ(fchmod(fd, 0600), 0);
	is_done = result_of(thread) == 1;
	CHECK_EQ(unlink(path), 0);
	CHECK_EQ(close(fd), 0);
	close_all();
	return is_done;
}

TEST(inotify)
{
	succeeds(told);
}

static bool master(void)
{
	pthread_t thread;
	bool is_done;

	pair[0] = posix_openpt(O_RDWR | O_NOCTTY);
	CHECK(pair[0] >= 0);
	CHECK_EQ(grantpt(pair[0]), 0);
	CHECK_EQ(unlockpt(pair[0]), 0);
	pair[1] = open(ptsname(pair[0]), O_RDWR | O_NOCTTY);
	CHECK(pair[1] >= 0);
	make_other();
	CHECK_EQ(write(other[1], "o", 1), 1);
	is_ready = 0;
	thread = reader_start(pair[0]);
	let_it_wait(&is_ready);
	CHECK_EQ(dup2(other[0], pair[0]), pair[0]);
	/* The master exists as long as some call reads from it. */
	if (write(pair[1], "m", 1) != 1)
		CHECK_EQ(errno, EIO);
	is_done = result_of(thread) == 'm';
	close_all();
	return is_done;
}

TEST(terminals_master)
{
	succeeds(master);
}

/* --- several messages ----------------------------------------------------- */

enum { NR_MESSAGES = 3 };

static char contents[NR_MESSAGES];
static struct iovec parts[NR_MESSAGES];
static struct mmsghdr messages[NR_MESSAGES];

static void list_messages(void)
{
	for (int i = 0; i < NR_MESSAGES; i++) {
		contents[i] = 'm';
		parts[i] = (struct iovec){ &contents[i], 1 };
		messages[i].msg_hdr = (struct msghdr){ .msg_iov = &parts[i],
						       .msg_iovlen = 1 };
	}
}

static void *send_messages(void *arg)
{
	is_ready = 1;
	return outcome(sendmmsg(pair[0], messages, NR_MESSAGES, 0));
}

static void *receive_messages(void *arg)
{
	is_ready = 1;
	return outcome(recvmmsg(pair[0], messages, NR_MESSAGES, 0, NULL));
}

static void make_pairs(void)
{
	make_pair(SOCK_DGRAM);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_DGRAM, 0, other), 0);
	list_messages();
}

/* Messages that were not sent are not counted. */
static bool sent(void)
{
	size_t before, old;
	pthread_t thread;
	long nr;

	make_pairs();
	before = fill(pair[0]) / 4096;
	thread = begin(send_messages);
	old = drain(pair[1]) - before * 4096;
	nr = result_of(thread);
	if (nr > 0)
		CHECK_EQ(drain(other[1]) + old, nr);
	close_all();
	return nr > 0 && (long)old == nr;
}

TEST(messages_to_send)
{
	succeeds(sent);
}

static bool received(void)
{
	pthread_t thread;
	bool is_done;
	long nr;

	make_pairs();
	CHECK_EQ(write(other[1], "oo", 2), 2);
	CHECK_EQ(write(other[1], "oo", 2), 2);
	CHECK_EQ(write(other[1], "oo", 2), 2);
	thread = begin(receive_messages);
	for (int i = 0; i < NR_MESSAGES; i++) {
		/* If the wait began too late, the other end is closed. */
		if (send(pair[1], "m", 1, MSG_NOSIGNAL) < 0)
			break;
		await_rest(); /* the call waits for the next message */
	}
	nr = result_of(thread);
	is_done = nr > 0 && memchr(contents, 'o', (size_t)nr) == NULL;
	close_all();
	return is_done;
}

TEST(messages_to_receive)
{
	succeeds(received);
}

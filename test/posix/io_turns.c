/* SPDX-License-Identifier: MIT */
/*
 * Waits that take turns or lose their descriptor: numbers that are reused while
 * a reader is about to run, peers with a full queue, and connections in a full
 * backlog. Also more waits for shared memory than weft keeps kernel threads
 * for.
 */
#include <netinet/in.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sockets.h"

/*
 * Servers end a reader this way. A socket with data takes over the number at
 * once; the reader must stay with the old file.
 */
TEST(shutdown_then_close_then_reuse)
{
	for (int i = 0; i < 40; i++) {
		int other[2], fd;
		pthread_t thread;
		long result;
		char c;

		make_pair(SOCK_STREAM);
		fd = pair[0];
		is_ready = 0;
		thread = reader_start(fd);
		let_it_wait(&is_ready);
		CHECK_EQ(shutdown(fd, SHUT_RDWR), 0);
		CHECK_EQ(close(fd), 0);
		CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, other), 0);
		CHECK_EQ(other[0], fd);
		CHECK_EQ(write(other[1], "n", 1), 1);
		result = result_of(thread);
		/* On a busy machine the thread may not have begun its read. */
		CHECK(result == 0 || result == 'n');
		if (result == 0)
			CHECK_EQ(recv(fd, &c, 1, MSG_DONTWAIT), 1);
		close(other[0]);
		close(other[1]);
		close(pair[1]);
	}
}

/* Each of many readers of one socket takes a byte in turn. */
static void *read_a_few(void *arg)
{
	long nr = (long)arg;
	char c;

	while (read(pair[0], &c, 1) == 1)
		nr++;
	return (void *)nr;
}

TEST(many_readers_of_one_socket)
{
	enum { NR_READERS = 50, NR_BYTES = 3000 };
	pthread_t threads[NR_READERS];
	long sum = 0;

	make_pair(SOCK_STREAM);
	threads_start(threads, NR_READERS, read_a_few, NULL);
	for (int i = 0; i < NR_BYTES; i++) {
		CHECK_EQ(write(pair[1], "x", 1), 1);
		if (i % 100 == 0)
			await_rest(); /* all wait again */
	}
	CHECK_EQ(shutdown(pair[1], SHUT_WR), 0);
	for (int i = 0; i < NR_READERS; i++)
		sum += result_of(threads[i]);
	CHECK_EQ(sum, NR_BYTES);
}

/* --- full queues --------------------------------------------------------- */

static struct sockaddr_un name_of(int number)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };

	/* The abstract name space needs no file that must be removed later. */
	snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "weft-%d-%d",
		 getpid(), number);
	return name;
}

enum { NR_DATAGRAMS = 2000 };

static void *send_datagrams(void *arg)
{
	struct sockaddr_un to = name_of(1);
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	for (int i = 0; i < NR_DATAGRAMS; i++)
		CHECK_EQ(sendto(fd, &i, sizeof(i), 0, (struct sockaddr *)&to,
				sizeof(to)),
			 sizeof(i));
	close(fd);
	return arg;
}

/* poll reports the socket as writable, but its peer's queue is full. */
TEST(datagrams_to_a_full_queue)
{
	struct sockaddr_un name = name_of(1);
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	pthread_t thread;

	CHECK_EQ(bind(fd, (struct sockaddr *)&name, sizeof(name)), 0);
	thread = thread_start(send_datagrams, NULL);
	for (int i = 0; i < NR_DATAGRAMS; i++) {
		int number = -1;

		if (i % 200 == 0)
			await_rest(); /* the queue is full */
		CHECK_EQ(recv(fd, &number, sizeof(number), 0), sizeof(number));
		CHECK_EQ(number, i);
	}
	thread_join(thread);
}

static void *connect_one(void *arg)
{
	struct sockaddr_un to = name_of(2);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	is_ready++;
	CHECK_EQ(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	CHECK_EQ(close(fd), 0);
	return arg;
}

/* More connections than the backlog has room for. */
TEST(connections_wait_for_their_turn)
{
	enum { NR_CONNECTIONS = 20 };
	struct sockaddr_un name = name_of(2);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	pthread_t threads[NR_CONNECTIONS];

	CHECK_EQ(bind(fd, (struct sockaddr *)&name, sizeof(name)), 0);
	CHECK_EQ(listen(fd, 1), 0);
	threads_start(threads, NR_CONNECTIONS, connect_one, NULL);
	await_count(&is_ready, NR_CONNECTIONS);
	await_rest();
	for (int i = 0; i < NR_CONNECTIONS; i++) {
		int one = accept(fd, NULL, NULL);

		CHECK(one >= 0);
		CHECK_EQ(close(one), 0);
	}
	threads_join(threads, NR_CONNECTIONS);
}

/* A datagram socket ignores MSG_WAITALL. */
TEST(datagram_with_waitall)
{
	char buf[100];

	have_threads();
	make_pair(SOCK_DGRAM);
	CHECK_EQ(send(pair[1], "first", 5, 0), 5);
	CHECK_EQ(recv(pair[0], buf, sizeof(buf), MSG_WAITALL), 5);
}

static void *send_at_rest(void *arg)
{
	await_rest();
	CHECK_EQ(send(pair[1], "later", 5, 0), 5);
	return arg;
}

TEST(message_with_waitall)
{
	pthread_t thread;
	char buf[100];

	make_pair(SOCK_SEQPACKET);
	thread = thread_start(send_at_rest, NULL);
	CHECK_EQ(recv(pair[0], buf, sizeof(buf), MSG_WAITALL), 5);
	thread_join(thread);
}

/* --- a listener of two processes ----------------------------------------- */

enum { NR_CALLS = 60 };

static void *take_calls(void *arg)
{
	for (;;) {
		int fd = accept(listener, NULL, NULL);
		char c;

		CHECK(fd >= 0);
		CHECK_EQ(read(fd, &c, 1), 1);
		CHECK_EQ(close(fd), 0);
		if (c == 'q')
			return arg;
	}
}

static void take_calls_by_threads(int nr)
{
	pthread_t threads[8];

	threads_start(threads, nr, take_calls, NULL);
	threads_join(threads, nr);
}

/* One process accepts a connection that the other process was woken for. */
TEST(two_processes_accept)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t bytes = sizeof(address);
	pthread_t threads[4];
	pid_t pid;
	int status;

	listener = socket(AF_INET, SOCK_STREAM, 0);
	CHECK_EQ(bind(listener, (struct sockaddr *)&address, bytes), 0);
	CHECK_EQ(listen(listener, 100), 0);
	CHECK_EQ(getsockname(listener, (struct sockaddr *)&address, &bytes), 0);
	pid = fork();
	if (pid == 0) {
		take_calls_by_threads(4);
		_exit(0);
	}
	threads_start(threads, 4, take_calls, NULL);
	for (int i = 0; i < NR_CALLS; i++)
		call(&address, 'c');
	for (int i = 0; i < 8; i++)
		call(&address, 'q');
	threads_join(threads, 4);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

/* --- shared memory ------------------------------------------------------- */

struct crowd {
	sem_t permits;
	_Atomic int nr_waiting;
};

static void *wait_for_permit(void *arg)
{
	struct crowd *crowd = arg;

	crowd->nr_waiting++;
	CHECK_EQ(sem_wait(&crowd->permits), 0);
	return NULL;
}

/* While the crowd waits, a reader must still be woken. */
TEST(crowd_waits_for_shared_memory)
{
	enum { NR_WAITERS = 300 };
	struct crowd *crowd = mmap(NULL, sizeof(*crowd), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_t threads[NR_WAITERS], reader;

	CHECK(crowd != MAP_FAILED);
	CHECK_EQ(sem_init(&crowd->permits, 1, 0), 0);
	threads_start(threads, NR_WAITERS, wait_for_permit, crowd);
	await_count(&crowd->nr_waiting, NR_WAITERS);
	await_rest();
	make_pair(SOCK_STREAM);
	reader = reader_start(pair[0]);
	let_it_wait(&is_ready);
	CHECK_EQ(write(pair[1], "r", 1), 1);
	CHECK_EQ(result_of(reader), 'r');
	for (int i = 0; i < NR_WAITERS; i++)
		CHECK_EQ(sem_post(&crowd->permits), 0);
	threads_join(threads, NR_WAITERS);
	CHECK_ERRNO(sem_trywait(&crowd->permits), EAGAIN);
}

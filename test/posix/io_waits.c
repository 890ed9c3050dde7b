/* SPDX-License-Identifier: MIT */
/*
 * The events that end a reader's wait, and those that do not; other kinds of
 * descriptors; children that are made meanwhile.
 */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sockets.h"

static _Atomic long sum_read;

/* --- events that end a wait ---------------------------------------------- */

TEST(shutdown_ends_a_read)
{
	pthread_t thread;

	make_pair(SOCK_STREAM);
	thread = reader_start(pair[0]);
	let_it_wait(&is_ready);
	CHECK_EQ(shutdown(pair[0], SHUT_RDWR), 0);
	CHECK_EQ(result_of(thread), 0);
}

/*
 * A thread reads from a socket. Another socket, empty or with data, takes over
 * its number. Returns false if the thread was not yet in its read, which
 * happens on a busy machine.
 */
static bool is_on_the_file(bool by_dup2)
{
	pthread_t thread;
	int other[2];
	long result;

	make_pair(SOCK_STREAM);
	is_ready = 0;
	thread = reader_start(pair[0]);
	let_it_wait(&is_ready);
	if (by_dup2) {
		CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, other), 0);
		CHECK_EQ(dup2(other[0], pair[0]), pair[0]);
	} else {
		CHECK_EQ(close(pair[0]), 0);
		CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, other), 0);
		CHECK_EQ(other[0], pair[0]);
	}
	CHECK_EQ(write(other[1], "n", 1), 1);
	await_rest();
	if (write(pair[1], "o", 1) != 1)
		CHECK_EQ(errno, EPIPE);
	result = result_of(thread);
	if (result == 'o')
		CHECK_EQ(recv(pair[0], &other[0], 1, MSG_DONTWAIT), 1);
	return result == 'o';
}

/* The wait is on the file: bytes that arrive later go to the reader. */
TEST(close_does_not_end_a_read)
{
	int attempts = 10;

	signal(SIGPIPE, SIG_IGN);
	while (!is_on_the_file(false))
		CHECK(--attempts > 0);
}

TEST(dup2_does_not_end_a_read)
{
	int attempts = 10;

	signal(SIGPIPE, SIG_IGN);
	while (!is_on_the_file(true))
		CHECK(--attempts > 0);
}

TEST(handler_ends_a_read)
{
	pthread_t thread;

	handle(SIGUSR1, on_signal, 0);
	make_pair(SOCK_STREAM);
	thread = reader_start(pair[0]);
	let_it_wait(&is_ready);
	CHECK_EQ(pthread_kill(thread, SIGUSR1), 0);
	CHECK_EQ(result_of(thread), -EINTR);
}

TEST(handler_with_restart_does_not)
{
	pthread_t thread;

	handle(SIGUSR1, on_signal, SA_RESTART);
	make_pair(SOCK_STREAM);
	thread = reader_start(pair[0]);
	let_it_wait(&is_ready);
	for (int i = 0; i < 5; i++) {
		CHECK_EQ(pthread_kill(thread, SIGUSR1), 0);
		await_count(&nr_handled, 1 + i);
	}
	await_rest();
	CHECK_EQ(write(pair[1], "x", 1), 1);
	CHECK_EQ(result_of(thread), 'x');
}

/* signal(7): with a time limit on the socket SA_RESTART has no effect. */
TEST(handler_with_restart_and_a_time_limit)
{
	struct timeval limit = { 5, 0 };
	pthread_t thread;

	handle(SIGUSR1, on_signal, SA_RESTART);
	make_pair(SOCK_STREAM);
	CHECK_EQ(setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &limit,
			    sizeof(limit)),
		 0);
	thread = reader_start(pair[0]);
	let_it_wait(&is_ready);
	CHECK_EQ(pthread_kill(thread, SIGUSR1), 0);
	CHECK_EQ(result_of(thread), -EINTR);
}

static _Thread_local sigjmp_buf way_out;

static void jump_out(int sig)
{
	siglongjmp(way_out, 1);
}

static void *read_until_jump(void *arg)
{
	char before[64], buf[64];

	memset(before, 'b', sizeof(before));
	memset(buf, 'b', sizeof(buf));
	if (sigsetjmp(way_out, 1) == 0) {
		is_ready = 1;
		read(pair[0], buf, sizeof(buf));
		CHECK(false);
	}
	is_ready = 2;
	while (is_ready != 3)
		usleep(1000);
	/*
	 * The kernel must not write to the buffer after the call has returned.
	 */
	CHECK(memcmp(before, buf, sizeof(buf)) == 0);
	CHECK_EQ(read(pair[0], buf, sizeof(buf)), 5);
	CHECK(memcmp(buf, "later", 5) == 0);
	return arg;
}

TEST(jump_out_of_a_read)
{
	pthread_t thread;

	signal(SIGUSR1, jump_out);
	make_pair(SOCK_STREAM);
	thread = thread_start(read_until_jump, NULL);
	let_it_wait(&is_ready);
	CHECK_EQ(pthread_kill(thread, SIGUSR1), 0);
	await_count(&is_ready, 2);
	CHECK_EQ(write(pair[1], "later", 5), 5);
	await_rest();
	is_ready = 3;
	thread_join(thread);
}

static void *read_interrupted(void *arg)
{
	int number;
	ssize_t n;

	is_ready = 1;
	while ((n = read(pair[0], &number, sizeof(number))) != 0) {
		CHECK(n == sizeof(number) || (n < 0 && errno == EINTR));
		if (n > 0)
			sum_read += number;
	}
	return arg;
}

/* Many signals interrupt a reader; no byte may be lost or doubled. */
TEST(no_byte_is_lost_under_signals)
{
	pthread_t thread;

	handle(SIGUSR1, on_signal, 0);
	CHECK_EQ(pipe(pair), 0);
	thread = thread_start(read_interrupted, NULL);
	let_it_wait(&is_ready);
	for (int i = 1; i <= 3000; i++) {
		CHECK_EQ(pthread_kill(thread, SIGUSR1), 0);
		if (i % 100 == 0)
			usleep(2000);
		CHECK_EQ(write(pair[1], &i, sizeof(i)), sizeof(i));
		if (i % 3 == 0)
			sched_yield();
	}
	close(pair[1]);
	thread_join(thread);
	CHECK_EQ(sum_read, 3000L * 3001 / 2);
}

/* --- waits of other kinds ------------------------------------------------ */

static void *read_counter(void *arg)
{
	uint64_t count;

	is_ready = 1;
	CHECK_EQ(read(pair[0], &count, sizeof(count)), sizeof(count));
	return (void *)(intptr_t)count;
}

TEST(eventfd_wakes_a_reader)
{
	uint64_t seven = 7;
	pthread_t thread;

	pair[0] = eventfd(0, 0);
	thread = thread_start(read_counter, NULL);
	let_it_wait(&is_ready);
	CHECK_EQ(write(pair[0], &seven, sizeof(seven)), sizeof(seven));
	CHECK_EQ(result_of(thread), 7);
}

static void *receive_descriptor(void *arg)
{
	char control[CMSG_SPACE(sizeof(int))], c;
	struct iovec iov = { &c, 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *head;
	int fd;

	is_ready = 1;
	CHECK_EQ(recvmsg(pair[0], &msg, MSG_CMSG_CLOEXEC), 1);
	head = CMSG_FIRSTHDR(&msg);
	CHECK(head != NULL && head->cmsg_type == SCM_RIGHTS);
	memcpy(&fd, CMSG_DATA(head), sizeof(fd));
	CHECK_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
	CHECK_EQ(write(fd, "!", 1), 1);
	return arg;
}

TEST(descriptors_are_passed)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 }, c = 'd';
	struct iovec iov = { &c, 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *head = CMSG_FIRSTHDR(&msg);
	pthread_t thread;
	int fds[2];

	make_pair(SOCK_STREAM);
	CHECK_EQ(pipe(fds), 0);
	thread = thread_start(receive_descriptor, NULL);
	let_it_wait(&is_ready);
	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(head), &fds[1], sizeof(int));
	CHECK_EQ(sendmsg(pair[1], &msg, 0), 1);
	thread_join(thread);
	CHECK_EQ(read(fds[0], &c, 1), 1);
	CHECK_EQ(c, '!');
}

static void *receive_sender(void *arg)
{
	char control[CMSG_SPACE(sizeof(struct ucred))], c;
	struct iovec iov = { &c, 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *head;
	struct ucred sender;

	is_ready = 1;
	CHECK_EQ(recvmsg(pair[0], &msg, (int)(intptr_t)arg), 1);
	CHECK_EQ(msg.msg_flags & MSG_CTRUNC, 0);
	head = CMSG_FIRSTHDR(&msg);
	CHECK(head != NULL && head->cmsg_type == SCM_CREDENTIALS);
	memcpy(&sender, CMSG_DATA(head), sizeof(sender));
	CHECK_EQ(sender.pid, getpid());
	return NULL;
}

static void the_sender_is_told(int flags)
{
	pthread_t thread;
	int yes = 1;

	make_pair(SOCK_STREAM);
	CHECK_EQ(setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &yes,
			    sizeof(yes)),
		 0);
	thread = thread_start(receive_sender, (void *)(intptr_t)flags);
	let_it_wait(&is_ready);
	CHECK_EQ(write(pair[1], "s", 1), 1);
	thread_join(thread);
}

TEST(senders_are_told)
{
	the_sender_is_told(0);
}

TEST(waitall_returns_the_sender)
{
	the_sender_is_told(MSG_WAITALL);
}

static void *receive_datagram(void *arg)
{
	char buf[100];

	is_ready = 1;
	/* recv cuts off the rest of a datagram. */
	CHECK_EQ(recv(pair[0], buf, 3, 0), 3);
	CHECK_EQ(recv(pair[0], buf, sizeof(buf), 0), 0);
	CHECK_EQ(recv(pair[0], buf, sizeof(buf), MSG_TRUNC), 5);
	return arg;
}

TEST(datagrams_keep_their_borders)
{
	pthread_t thread;

	make_pair(SOCK_DGRAM);
	thread = thread_start(receive_datagram, NULL);
	let_it_wait(&is_ready);
	CHECK_EQ(send(pair[1], "first", 5, 0), 5);
	CHECK_EQ(send(pair[1], "", 0, 0), 0);
	CHECK_EQ(send(pair[1], "third", 5, 0), 5);
	thread_join(thread);
}

static void *read_numbers(void *arg)
{
	int number;

	while (read(pair[0], &number, sizeof(number)) == sizeof(number))
		sum_read += number;
	return arg;
}

/* The process forks while threads wait; child and parent both continue. */
TEST(fork_with_reads_in_flight)
{
	pthread_t threads[20];
	int status;
	pid_t pid;

	CHECK_EQ(pipe(pair), 0);
	threads_start_numbered(threads, 20, read_numbers);
	await_rest();
	pid = fork();
	if (pid == 0) {
		pthread_t thread;
		int own[2];

		CHECK_EQ(pipe(own), 0);
		close(pair[0]);
		close(pair[1]);
		pair[0] = own[0];
		thread = reader_start(pair[0]);
		let_it_wait(&is_ready);
		CHECK_EQ(write(own[1], "c", 1), 1);
		_exit(result_of(thread) == 'c' ? 0 : 1);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	for (int i = 1; i <= 500; i++)
		CHECK_EQ(write(pair[1], &i, sizeof(i)), sizeof(i));
	close(pair[1]);
	threads_join(threads, 20);
	CHECK_EQ(sum_read, 500L * 501 / 2);
}

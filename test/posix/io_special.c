/* SPDX-License-Identifier: MIT */
/*
 * Kinds of descriptors and flags that few programs use: one thread waits, the
 * other threads run, and each call has its native meaning.
 */
#include <fcntl.h>
#include <linux/errqueue.h>
#include <linux/netlink.h>
#include <linux/vm_sockets.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/fanotify.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "sockets.h"

static void others_go_on_beside(pthread_t thread)
{
	let_it_wait(&is_ready);
	others_go_on();
	CHECK_EQ(pthread_tryjoin_np(thread, NULL), EBUSY);
}

/* --- sockets -------------------------------------------------------------- */

static int netlink_socket(struct sockaddr_nl *ret_name)
{
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_USERSOCK);
	socklen_t bytes = sizeof(*ret_name);

	if (fd < 0)
		SKIP("no netlink");
	*ret_name = (struct sockaddr_nl){ .nl_family = AF_NETLINK };
	CHECK_EQ(bind(fd, (struct sockaddr *)ret_name, bytes), 0);
	CHECK_EQ(getsockname(fd, (struct sockaddr *)ret_name, &bytes), 0);
	return fd;
}

TEST(netlink)
{
	struct sockaddr_nl first, second;
	int from, to = netlink_socket(&first);
	pthread_t thread;

	CHECK_EQ((pid_t)first.nl_pid, getpid());
	from = netlink_socket(&second);
	thread = reader_start(to);
	others_go_on_beside(thread);
	CHECK_EQ(sendto(from, "n", 1, 0, (struct sockaddr *)&first,
			sizeof(first)),
		 1);
	CHECK_EQ(result_of(thread), 'n');
}

static void *accept_and_answer(void *arg)
{
	int fd;
	char c;

	is_ready = 1;
	fd = accept((int)(intptr_t)arg, NULL, NULL);
	CHECK(fd >= 0);
	CHECK_EQ(read(fd, &c, 1), 1);
	CHECK_EQ(write(fd, &c, 1), 1);
	return outcome(read(fd, &c, 1));
}

TEST(vsock)
{
	struct sockaddr_vm name = { .svm_family = AF_VSOCK,
				    .svm_cid = VMADDR_CID_LOCAL,
				    .svm_port = VMADDR_PORT_ANY };
	int listener = socket(AF_VSOCK, SOCK_STREAM, 0), fd;
	socklen_t bytes = sizeof(name);
	pthread_t thread;
	char c = 0;

	if (listener < 0 ||
	    bind(listener, (struct sockaddr *)&name, sizeof(name)) < 0)
		SKIP("no vsock");
	CHECK_EQ(listen(listener, 1), 0);
	CHECK_EQ(getsockname(listener, (struct sockaddr *)&name, &bytes), 0);
	thread = thread_start(accept_and_answer, (void *)(intptr_t)listener);
	others_go_on_beside(thread);
	fd = socket(AF_VSOCK, SOCK_STREAM, 0);
	if (connect(fd, (struct sockaddr *)&name, sizeof(name)) < 0)
		SKIP("no vsock within one machine");
	CHECK_EQ(write(fd, "v", 1), 1);
	CHECK_EQ(read(fd, &c, 1), 1);
	CHECK_EQ(c, 'v');
	CHECK_EQ(close(fd), 0);
	CHECK_EQ(result_of(thread), 0);
}

enum { BULK = 8 << 20 };
static char bulk[BULK];

static void *receive_bulk(void *fd)
{
	static char data[BULK];

	CHECK_EQ(recv((int)(intptr_t)fd, data, BULK, MSG_WAITALL), BULK);
	CHECK(memcmp(data, bulk, BULK) == 0);
	return NULL;
}

/* Waits until the kernel has reported these zero-copy sends as done. */
static void await_calls(int fd, uint32_t first, uint32_t nr)
{
	while (nr > 0) {
		char room[CMSG_SPACE(sizeof(struct sock_extended_err) +
				     sizeof(struct sockaddr_storage))];
		struct msghdr msg = { .msg_control = room,
				      .msg_controllen = sizeof(room) };
		struct pollfd error = { fd, 0, 0 };
		struct sock_extended_err *what;

		CHECK_EQ(poll(&error, 1, -1), 1);
		CHECK_EQ(recvmsg(fd, &msg, MSG_ERRQUEUE), 0);
		what = (void *)CMSG_DATA(CMSG_FIRSTHDR(&msg));
		CHECK_EQ(what->ee_origin, SO_EE_ORIGIN_ZEROCOPY);
		CHECK_EQ(what->ee_info, first);
		CHECK(what->ee_data - first < nr);
		nr -= what->ee_data - first + 1;
		first = what->ee_data + 1;
	}
	CHECK_ERRNO(recv(fd, bulk, 1, MSG_ERRQUEUE), EAGAIN);
}

TEST(zero_copy)
{
	struct iovec iov = { bulk, BULK };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	pthread_t thread;

	make_tcp_pair();
	memset(bulk, 'z', BULK);
	if (setsockopt(pair[1], SOL_SOCKET, SO_ZEROCOPY, &(int){ 1 },
		       sizeof(int)) < 0)
		SKIP("no SO_ZEROCOPY");
	for (uint32_t i = 0; i < 3; i++) {
		thread = thread_start(receive_bulk, (void *)(intptr_t)pair[0]);
		if (i == 1)
			CHECK_EQ(sendmsg(pair[1], &msg, MSG_ZEROCOPY), BULK);
		else
			CHECK_EQ(send(pair[1], bulk, BULK, MSG_ZEROCOPY), BULK);
		thread_join(thread);
		await_calls(pair[1], i, 1);
	}
}

/* --- events --------------------------------------------------------------- */

static void *take_one(void *fd)
{
	uint64_t count = 0;

	is_ready = 1;
	CHECK_EQ(read((int)(intptr_t)fd, &count, sizeof(count)), sizeof(count));
	return (void *)(intptr_t)count;
}

static void *add_one(void *fd)
{
	const uint64_t one = 1;

	is_ready = 1;
	return outcome(write((int)(intptr_t)fd, &one, sizeof(one)));
}

TEST(event_semaphore)
{
	enum { NR = 20 };
	int fd = eventfd(0, EFD_SEMAPHORE);
	uint64_t count = NR;
	pthread_t threads[NR];

	threads_start(threads, NR, take_one, (void *)(intptr_t)fd);
	others_go_on_beside(threads[0]);
	CHECK_EQ(write(fd, &count, sizeof(count)), sizeof(count));
	for (int i = 0; i < NR; i++)
		CHECK_EQ(result_of(threads[i]), 1);
}

TEST(event_that_is_full)
{
	int fd = eventfd(0, 0);
	uint64_t count = UINT64_MAX - 1;
	pthread_t thread;

	have_threads();
	CHECK_EQ(write(fd, &count, sizeof(count)), sizeof(count));
	thread = thread_start(add_one, (void *)(intptr_t)fd);
	others_go_on_beside(thread);
	CHECK_EQ(read(fd, &count, sizeof(count)), sizeof(count));
	CHECK_EQ(result_of(thread), sizeof(count));
	CHECK_EQ(read(fd, &count, sizeof(count)), sizeof(count));
	CHECK_EQ(count, 1);
}

static void *await_child(void *pidfd)
{
	siginfo_t info = { 0 };

	is_ready = 1;
	CHECK_EQ(waitid(P_PIDFD, (id_t)(intptr_t)pidfd, &info, WEXITED), 0);
	return (void *)(intptr_t)info.si_status;
}

static void *poll_for_input(void *fd)
{
	struct pollfd one = { (int)(intptr_t)fd, POLLIN, 0 };

	is_ready = 1;
	CHECK_EQ(poll(&one, 1, -1), 1);
	return (void *)(intptr_t)one.revents;
}

TEST(process_by_descriptor)
{
	pthread_t waiter, poller;
	int fds[2], fd;
	pid_t pid;

	have_threads();
	CHECK_EQ(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		char c;

		close(fds[1]);
		_exit(read(fds[0], &c, 1) == 1 ? c : 1);
	}
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	CHECK(fd >= 0);
	poller = thread_start(poll_for_input, (void *)(intptr_t)fd);
	others_go_on_beside(poller);
	is_ready = 0;
	waiter = thread_start(await_child, (void *)(intptr_t)fd);
	others_go_on_beside(waiter);
	CHECK_EQ(write(fds[1], "\7", 1), 1);
	CHECK_EQ(result_of(waiter), 7);
	CHECK((result_of(poller) & POLLIN) != 0);
}

static void *read_fanotify(void *fd)
{
	struct fanotify_event_metadata event;

	is_ready = 1;
	CHECK_EQ(read((int)(intptr_t)fd, &event, sizeof(event)), sizeof(event));
	CHECK((event.mask & FAN_MODIFY) != 0);
	CHECK_EQ(close(event.fd), 0);
	return NULL;
}

TEST(changes_of_a_file)
{
	char path[] = "/tmp/weft-special-XXXXXX";
	int file = mkstemp(path), fd = fanotify_init(FAN_CLASS_NOTIF, O_RDONLY);
	pthread_t thread;

	CHECK(file >= 0 && unlink(path) == 0);
	if (fd < 0 ||
	    fanotify_mark(fd, FAN_MARK_ADD, FAN_MODIFY, file, NULL) < 0)
		SKIP("no fanotify");
	thread = thread_start(read_fanotify, (void *)(intptr_t)fd);
	others_go_on_beside(thread);
	CHECK_EQ(write(file, "x", 1), 1);
	thread_join(thread);
}

/* --- flags of vectors ----------------------------------------------------- */

static void *read_by_preadv2(void *fd)
{
	char c = 0;
	struct iovec iov = { &c, 1 };
	ssize_t n;

	is_ready = 1;
	n = preadv2((int)(intptr_t)fd, &iov, 1, -1, 0);
	return outcome(n > 0 ? c : n);
}

TEST(vectors_with_flags)
{
	int fd = memfd_create("file", 0), fds[2];
	struct iovec iov = { (char[]){ "abcd" }, 4 };
	pthread_t thread;

	have_threads();
	CHECK_EQ(pwritev2(fd, &iov, 1, 0, 0), 4);
	CHECK_EQ(pwritev2(fd, &iov, 1, -1, 0), 4);
	CHECK_EQ(lseek(fd, 0, SEEK_CUR), 4);
	CHECK_EQ(pwritev2(fd, &iov, 1, 0, RWF_APPEND), 4);
	CHECK_EQ(lseek(fd, 0, SEEK_END), 8);
	CHECK_EQ(preadv2(fd, &iov, 1, 6, 0), 2);
	CHECK_ERRNO(preadv2(fd, &iov, 1, 0, 1 << 30), EOPNOTSUPP);
	CHECK_ERRNO(preadv2(fd, &iov, 1, -2, 0), EINVAL);
	CHECK_EQ(pipe(fds), 0);
	CHECK_ERRNO(preadv2(fds[0], &iov, 1, -1, RWF_NOWAIT), EAGAIN);
	CHECK_ERRNO(preadv2(fds[0], &iov, 1, 0, 0), ESPIPE);
	thread = thread_start(read_by_preadv2, (void *)(intptr_t)fds[0]);
	others_go_on_beside(thread);
	CHECK_EQ(write(fds[1], "p", 1), 1);
	CHECK_EQ(result_of(thread), 'p');
}

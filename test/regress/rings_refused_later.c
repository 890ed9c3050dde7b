/* SPDX-License-Identifier: MIT */
/*
 * A process sets a filter that refuses io_uring on all its threads, while some
 * of them wait for descriptors. These waits and all later ones did not end.
 */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "confine.h"
#include "rest.h"

enum { NR_READERS = 8 };

static struct sockaddr_in address;
static int pairs[NR_READERS + 4][2], listener;

static void *read_byte(void *fd)
{
	char byte;

	CHECK_EQ(read((int)(intptr_t)fd, &byte, 1), 1);
	return NULL;
}

static void *accept_one(void *fd)
{
	CHECK(accept((int)(intptr_t)fd, NULL, NULL) >= 0);
	return NULL;
}

static void *poll_one(void *fd)
{
	struct pollfd p = { (int)(intptr_t)fd, POLLIN, 0 };

	CHECK_EQ(poll(&p, 1, -1), 1);
	return NULL;
}

static void *select_one(void *fd)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET((int)(intptr_t)fd, &set);
	CHECK_EQ(select((int)(intptr_t)fd + 1, &set, NULL, NULL, NULL), 1);
	return NULL;
}

static void *epoll_one(void *fd)
{
	int set = epoll_create1(0);
	struct epoll_event event = { .events = EPOLLIN };

	CHECK_EQ(epoll_ctl(set, EPOLL_CTL_ADD, (int)(intptr_t)fd, &event), 0);
	CHECK_EQ(epoll_wait(set, &event, 1, -1), 1);
	close(set);
	return NULL;
}

static void *be_cancelled(void *fd)
{
	char byte;

	read((int)(intptr_t)fd, &byte, 1);
	CHECK(0);
	return NULL;
}

static pthread_t start(void *(*run)(void *), int fd)
{
	pthread_t thread;

	CHECK_EQ(pthread_create(&thread, NULL, run, (void *)(intptr_t)fd), 0);
	return thread;
}

static void listen_somewhere(void)
{
	socklen_t bytes = sizeof(address);

	listener = socket(AF_INET, SOCK_STREAM, 0);
	address.sin_family = AF_INET;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK_EQ(bind(listener, (struct sockaddr *)&address, bytes), 0);
	CHECK_EQ(listen(listener, 10), 0);
	CHECK_EQ(getsockname(listener, (struct sockaddr *)&address, &bytes), 0);
}

static void start_all(pthread_t *threads)
{
	for (int i = 0; i < NR_READERS; i++)
		threads[i] = start(read_byte, pairs[i][0]);
	threads[NR_READERS] = start(poll_one, pairs[NR_READERS][0]);
	threads[NR_READERS + 1] = start(select_one, pairs[NR_READERS + 1][0]);
	threads[NR_READERS + 2] = start(epoll_one, pairs[NR_READERS + 2][0]);
	threads[NR_READERS + 3] = start(accept_one, listener);
	threads[NR_READERS + 4] = start(be_cancelled, pairs[NR_READERS + 3][0]);
}

static void end_all(pthread_t *threads)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	char byte;

	for (int i = 0; i < NR_READERS + 3; i++)
		CHECK_EQ(write(pairs[i][1], "b", 1), 1);
	CHECK_EQ(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	CHECK_EQ(pthread_cancel(threads[NR_READERS + 4]), 0);
	for (int i = 0; i < NR_READERS + 5; i++)
		CHECK_EQ(pthread_join(threads[i], NULL), 0);
	for (int i = NR_READERS; i < NR_READERS + 3; i++)
		CHECK_EQ(read(pairs[i][0], &byte, 1), 1);
	close(fd);
}

static long confine_all(struct sock_filter *code, size_t nr)
{
	struct sock_fprog program = { (unsigned short)nr, code };

	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
		       SECCOMP_FILTER_FLAG_TSYNC, &program);
}

static void refuse(unsigned int error, int is_all)
{
	const unsigned int answer = SECCOMP_RET_ERRNO | error;
	struct sock_filter one[] = {
		CONFINE_LOAD_NUMBER,
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_enter, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, answer),
		CONFINE_ALLOW,
	};
	struct sock_filter all[] = {
		CONFINE_LOAD_NUMBER,
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, SYS_io_uring_setup, 0, 2),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, SYS_io_uring_register, 1,
			 0),
		BPF_STMT(BPF_RET | BPF_K, answer),
		CONFINE_ALLOW,
	};

	/*
	 * Without this flag the kernel refuses the filter, and nothing changes.
	 */
	if (getuid() != 0)
		CHECK(confine_all(one, sizeof(one) / sizeof(*one)) != 0);
	CHECK_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	CHECK_EQ(is_all ? confine_all(all, sizeof(all) / sizeof(*all)) :
			  confine_all(one, sizeof(one) / sizeof(*one)),
		 0);
}

static void try_with(unsigned int error, int is_all, int has_waits)
{
	pthread_t threads[NR_READERS + 5];

	for (int i = 0; i < NR_READERS + 4; i++)
		CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[i]), 0);
	listen_somewhere();
	if (has_waits) {
		start_all(threads);
		await_rest();
		refuse(error, is_all);
		end_all(threads);
	} else {
		refuse(error, is_all);
	}
	for (int i = 0; i < 2; i++) {
		start_all(threads);
		await_rest();
		end_all(threads);
	}
}

int main(void)
{
	static const unsigned int errors[] = { EPERM, ENOSYS, EACCES };

	for (int i = 0; i < 12; i++) {
		pid_t pid = fork();
		int status;

		if (pid == 0) {
			try_with(errors[i % 3], i / 3 % 2, i / 6 == 0);
			_exit(0);
		}
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		printf("%s, %s, %s: %d\n",
		       i / 6 == 0 ? "in the middle" : "before",
		       i / 3 % 2 ? "all" : "one",
		       errors[i % 3] == EPERM  ? "EPERM" :
		       errors[i % 3] == ENOSYS ? "ENOSYS" :
						 "EACCES",
		       status);
		fflush(stdout);
	}
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * Threads wait for files while other threads and processes close copies of the
 * descriptors. The copies belong to a child of vfork, which shares the memory
 * and not the descriptor table, or to threads with a descriptor table of their
 * own. The close must not end the waits.
 */
#include <linux/close_range.h>
#include <sched.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "threading.h"

enum { BYTES = 4 << 20, NR_VFORKS = 100, FIRST = 3, LAST = 20 };

static char block[BYTES];
static int data[2], set, asked[2];

static void *write_all(void *arg)
{
	CHECK_EQ(write(data[1], block, BYTES), BYTES);
	return arg;
}

static void *wait_for_event(void *arg)
{
	struct epoll_event event;

	CHECK_EQ(epoll_wait(set, &event, 1, -1), 1);
	return arg;
}

static void *unshare_and_close(void *arg)
{
	CHECK_EQ(unshare(CLONE_FILES), 0);
	for (int fd = FIRST; fd < LAST; fd++)
		close(fd);
	return arg;
}

static void *close_unshared(void *arg)
{
	CHECK_EQ(close_range(FIRST, ~0U, CLOSE_RANGE_UNSHARE), 0);
	return arg;
}

static void close_in_child(void)
{
	pid_t child = vfork();

	CHECK(child >= 0);
	if (child == 0) {
		close_range(FIRST, ~0U, 0);
		_exit(0);
	}
	CHECK_EQ(waitpid(child, NULL, 0), child);
}

static void read_all(void)
{
	static char some[64 * 1024];
	ssize_t n;

	for (ssize_t left = BYTES; left > 0; left -= n) {
		n = read(data[0], some, sizeof(some));
		CHECK(n > 0);
	}
}

int main(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	pthread_t writer, waiter;

	CHECK_EQ(pipe(data), 0);
	CHECK_EQ(pipe(asked), 0);
	set = epoll_create1(0);
	CHECK_EQ(epoll_ctl(set, EPOLL_CTL_ADD, asked[0], &event), 0);
	writer = thread_start(write_all, NULL);
	waiter = thread_start(wait_for_event, NULL);
	await_rest();
	for (int i = 0; i < NR_VFORKS; i++)
		close_in_child();
	thread_join(thread_start(unshare_and_close, NULL));
	thread_join(thread_start(close_unshared, NULL));
	read_all();
	CHECK_EQ(write(asked[1], "x", 1), 1);
	thread_join(writer);
	thread_join(waiter);
	puts("nobody was disturbed");
	return 0;
}

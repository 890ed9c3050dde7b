/* SPDX-License-Identifier: MIT */
/*
 * A program that has used up its descriptors. weft can open neither a ring nor
 * an epoll set, so a thread waits in the kernel. The calls keep their meaning,
 * also for partial transfers.
 */
#include <string.h>
#include <sys/inotify.h>
#include <sys/resource.h>

#include "sockets.h"

/* The first exit loads libc's unwinder, which needs a descriptor. */
static void *exit_early(void *arg)
{
	pthread_exit(arg);
}

static void use_up_descriptors(void)
{
	const struct rlimit few = { 64, 64 };

	thread_join(thread_start(exit_early, NULL));
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
	while (dup(0) >= 0)
		;
	CHECK_EQ(errno, EMFILE);
}

/* --- receives of all bytes or messages ------------------------------------ */

static void *receive_ten_bytes(void *arg)
{
	char data[10];

	is_ready = 1;
	return outcome(recv(pair[0], data, sizeof(data), MSG_WAITALL));
}

static void *receive_ten_messages(void *arg)
{
	struct mmsghdr messages[10] = { 0 };

	is_ready = 1;
	return outcome(recvmmsg(pair[0], messages, 10, 0, NULL));
}

/*
 * A part is there before the call, a part comes while it waits, then the rest.
 */
static long ten_for(void *(*receiver)(void *), int type)
{
	pthread_t thread;

	make_pair(type);
	use_up_descriptors();
	CHECK_EQ(send(pair[1], "a", 1, 0), 1);
	thread = thread_start(receiver, NULL);
	let_it_wait(&is_ready);
	for (int i = 0; i < 9; i++) {
		CHECK_EQ(pthread_tryjoin_np(thread, NULL), EBUSY);
		CHECK_EQ(send(pair[1], "b", 1, 0), 1);
		usleep(1000);
	}
	return result_of(thread);
}

TEST(all_bytes_are_waited_for)
{
	CHECK_EQ(ten_for(receive_ten_bytes, SOCK_STREAM), 10);
}

TEST(all_messages_are_waited_for)
{
	CHECK_EQ(ten_for(receive_ten_messages, SOCK_DGRAM), 10);
}

/* --- cancellation --------------------------------------------------------- */

static void *receive_more(void *fd)
{
	receive_ten_bytes(fd);
	return NULL;
}

static void *read_more(void *fd)
{
	char data[4096];

	is_ready = 1;
	while (read((int)(intptr_t)fd, data, sizeof(data)) > 0)
		;
	return NULL;
}

static void *write_more(void *fd)
{
	static char data[1 << 20];

	is_ready = 1;
	while (write((int)(intptr_t)fd, data, sizeof(data)) > 0)
		;
	return NULL;
}

static void is_cancelled(void *(*waiter)(void *), int fd)
{
	pthread_t thread;

	is_ready = 0;
	thread = thread_start(waiter, (void *)(intptr_t)fd);
	let_it_wait(&is_ready);
	CHECK_EQ(pthread_cancel(thread), 0);
	CHECK(thread_join(thread) == PTHREAD_CANCELED);
}

TEST(cancelled_in_the_middle)
{
	int files = inotify_init1(0), fds[2];

	CHECK_EQ(pipe(fds), 0);
	make_pair(SOCK_STREAM);
	use_up_descriptors();
	is_cancelled(read_more, files);
	is_cancelled(write_more, fds[1]);
	is_cancelled(write_more, pair[0]);
	CHECK_EQ(send(pair[1], "part", 4, 0), 4);
	is_cancelled(receive_more, pair[0]);
}

/* SPDX-License-Identifier: MIT */
/*
 * Ends of channels beside fork: they stay with the parent, and the child has
 * none.
 */
#include "channel.h"

#include <stdio.h>

static int fd_there;

static void kill_self(void)
{
	kill(getpid(), SIGKILL);
	for (;;)
		pause();
}

static struct weft_channel *inherited;
static int fd_ready[2];

static void use_inherited(void)
{
	long value = 1;
	const void *message;
	size_t size;

	CHECK_EQ(weft_channel_send(inherited, &value, 8), EBADF);
	CHECK_EQ(weft_channel_peek_until(inherited, &message, &size, NULL),
		 EBADF);
	CHECK_EQ(weft_channel_close(inherited), 0);
}

TEST(an_end_is_not_inherited)
{
	struct weft_channel *in;

	fd_there = channel_make(8, 3, 0);
	in = channel_receiver(fd_there);
	inherited = channel_sender(fd_there);
	CHECK_EQ(child_exit_status(use_inherited), 0);
	channel_put(inherited, 2);
	CHECK_EQ(channel_get(in), 2);
}

/* Opens an end, leaves a child that outlives this process, and dies. */
static void die_with_child(void)
{
	char byte = 0;

	channel_put(channel_sender(fd_there), 1);
	if (fork() == 0) {
		CHECK_EQ(read(fd_ready[0], &byte, 1), 1);
		_exit(0);
	}
	kill_self();
}

TEST(a_child_does_not_keep_a_dead_end_alive)
{
	struct weft_channel *in;
	pid_t child;

	fd_there = channel_make(8, 3, 0);
	CHECK_EQ(pipe(fd_ready), 0);
	in = channel_receiver(fd_there);
	child = child_start(die_with_child);
	CHECK_EQ(channel_get(in), 1);
	CHECK_EQ(channel_get_error(in), EOWNERDEAD);
	CHECK_EQ(write(fd_ready[1], "", 1), 1);
	CHECK(WIFSIGNALED(child_wait(child)));
}

static _Atomic bool must_end;

static void *open_and_close(void *arg)
{
	while (!must_end)
		CHECK_EQ(weft_channel_close(channel_sender((int)(intptr_t)arg)),
			 0);
	return NULL;
}

/* Counts this process's descriptors of channels. */
static int nr_channel_descriptors(void)
{
	char path[64], target[64];
	int nr = 0;

	for (int fd = 0; fd < 64; fd++) {
		ssize_t size;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		size = readlink(path, target, sizeof(target) - 1);
		target[size > 0 ? size : 0] = '\0';
		nr += strstr(target, "weft-channel") != NULL;
	}
	return nr;
}

/*
 * The child must not inherit a locked channel lock, nor lose a file of its own.
 */
TEST(forks_while_ends_come_and_go)
{
	int fd = channel_make(8, 3, 0);
	pthread_t t = thread_start(open_and_close, (void *)(intptr_t)fd);

	for (int i = 0; i < 100; i++) {
		int file = open("/dev/null", O_RDONLY), status;
		pid_t child = fork();

		CHECK(child >= 0);
		if (child == 0)
			_exit(fcntl(file, F_GETFD) < 0	    ? 1 :
			      nr_channel_descriptors() != 1 ? 2 :
							      0);
		CHECK_EQ(waitpid(child, &status, 0), child);
		CHECK_EQ(status, 0);
		CHECK_EQ(close(file), 0);
	}
	must_end = true;
	thread_join(t);
}

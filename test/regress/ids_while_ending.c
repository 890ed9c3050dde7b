/* SPDX-License-Identifier: MIT */
/*
 * Processes end while threads of theirs change credentials, which all kernel
 * threads have to follow before it is done. The one that ended the process
 * waited for the change to be over, so that no I/O server was being made,
 * with the signal closed by which it is told to follow.
 */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "child.h"
#include "threading.h"

enum { NR_CHANGERS = 3, NR_CHILDREN = 25 };

static void *change(void *arg)
{
	for (;;)
		CHECK_EQ(seteuid(geteuid()), 0);
	return arg;
}

/* By a call that a server makes, and that waits for no disk. */
static void use_server(void)
{
	int fd = memfd_create("ids_while_ending", MFD_CLOEXEC);

	CHECK(fd >= 0);
	CHECK_EQ(fsync(fd), 0);
	CHECK_EQ(close(fd), 0);
}

static void end(void)
{
	pthread_t changers[NR_CHANGERS];

	threads_start(changers, NR_CHANGERS, change, NULL);
	use_server();
	_exit(3);
}

int main(void)
{
	for (int i = 0; i < NR_CHILDREN; i++)
		CHECK_EQ(child_exit_status(end), 3);
	puts("all have ended");
	return 0;
}

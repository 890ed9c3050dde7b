/* SPDX-License-Identifier: MIT */
/*
 * Processes end while threads of theirs change credentials. The change waits
 * until all kernel threads follow it. The thread that ended the process waited
 * for the change, to prevent the start of an I/O server. It had blocked the
 * signal that asks it to follow, so neither thread got further.
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

/* Makes a call that an I/O server carries out, without a disk. */
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

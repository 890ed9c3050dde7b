/* SPDX-License-Identifier: MIT */
/*
 * A pipe's reading end is closed just after the first thread was made: the next
 * write must get EPIPE. weft's monitor had a copy of the descriptor for a
 * moment.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "threading.h"

enum { NR_ROUNDS = 60 };

static int write_after_close(void)
{
	pthread_t thread;
	int ends[2];

	CHECK_EQ(pipe(ends), 0);
	thread = thread_start(thread_nothing, NULL);
	close(ends[0]);
	if (write(ends[1], "x", 1) != -1 || errno != EPIPE)
		return 1;
	thread_join(thread);
	return 0;
}

/* Each child makes a first thread of its own. */
int main(void)
{
	int nr_wrong = 0, status;

	signal(SIGPIPE, SIG_IGN);
	for (int i = 0; i < NR_ROUNDS; i++) {
		pid_t child = fork();

		if (child == 0)
			_exit(write_after_close());
		CHECK_EQ(waitpid(child, &status, 0), child);
		nr_wrong += status != 0;
	}
	printf("%d wrong\n", nr_wrong);
	return 0;
}

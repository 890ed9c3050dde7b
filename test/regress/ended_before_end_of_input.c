/* SPDX-License-Identifier: MIT */
/*
 * A process with waiting threads gets a signal that ends it, and then its input
 * ends, as when a signal goes to a whole pipeline. The process must end by the
 * signal, before it can take the end of input for the end of the data.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "threading.h"

enum { NR_ROUNDS = 300, NR_THREADS = 3 };

static int input[2], output[2];

static void read_all(void)
{
	pthread_t threads[NR_THREADS];
	char byte;

	/* nohup, for example, lets SIGHUP be ignored. */
	CHECK(signal(SIGHUP, SIG_DFL) != SIG_ERR);
	CHECK_EQ(close(input[1]), 0);
	threads_start(threads, NR_THREADS, thread_pause_for_ever, NULL);
	while (read(input[0], &byte, 1) == 1)
		CHECK_EQ(write(output[1], &byte, 1), 1);
	_exit(0);
}

static void end_it(int sig, unsigned int delay_us)
{
	char byte = 'a';
	pid_t child;

	CHECK_EQ(pipe(input), 0);
	child = child_start(read_all);
	CHECK_EQ(close(input[0]), 0);
	CHECK_EQ(write(input[1], &byte, 1), 1);
	CHECK_EQ(read(output[0], &byte, 1), 1);
	usleep(delay_us); /* The reader is about to wait, or waits again. */
	CHECK_EQ(kill(child, sig), 0);
	CHECK_EQ(close(input[1]), 0);
	CHECK_EQ(child_wait(child), sig);
}

int main(void)
{
	static const int signals[] = { SIGTERM, SIGINT, SIGHUP };

	CHECK_EQ(pipe(output), 0);
	for (int i = 0; i < NR_ROUNDS; i++)
		end_it(signals[i % 3], i % 10 * 50);
	puts("it never went on");
	return 0;
}

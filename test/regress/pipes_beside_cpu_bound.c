/* SPDX-License-Identifier: MIT */
/*
 * Threads that compute beside pairs that write to each other by pipes: a reader
 * must run before all the computing threads have had their turn.
 */
#include <unistd.h>

#include "beside.h"

static int pipes[4][2];

static void compute(int i)
{
	for (volatile int k = 0; k < 3000; k++)
		;
}

static void write_and_read(int i)
{
	char byte = 1;

	CHECK_EQ(write(pipes[i ^ 1][1], &byte, 1), 1);
	CHECK_EQ(read(pipes[i][0], &byte, 1), 1);
}

int main(void)
{
	for (int i = 0; i < 4; i++)
		CHECK_EQ(pipe(pipes[i]), 0);
	return beside(&(struct beside){ .busy = compute,
					.waiting = write_and_read,
					.nr_steps = 200,
					.most = 3000 });
}

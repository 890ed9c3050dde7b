/* SPDX-License-Identifier: MIT */
/*
 * Threads read data from the page cache all the time. A thread that sleeps
 * beside them must run at its deadline. weft has to preempt the readers,
 * although they are nearly always in a call that does not wait.
 */
#include <fcntl.h>
#include <unistd.h>

#include "beside.h"

static int file;

static void read_it(int i)
{
	char bytes[4096];

	CHECK(pread(file, bytes, sizeof(bytes), 0) > 0);
}

static void nap(int i)
{
	sleep_ms(1);
}

int main(int argc, char **argv)
{
	file = open(argv[0], O_RDONLY | O_CLOEXEC);
	CHECK(file >= 0);
	return beside(&(struct beside){
		.busy = read_it, .waiting = nap, .most = 8000 });
}

/* SPDX-License-Identifier: MIT */
/*
 * Five hundred threads block at once in reads that weft does not intercept. The
 * other threads must run meanwhile, and in the end each reader gets its byte.
 */
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "threading.h"

enum { NR_READERS = 500, NR_WORKERS = 10, NR_YIELDS = 200, LIMIT_MS = 5000 };

static int ends[2];
static _Atomic long sum;

static void *read_one(void *arg)
{
	unsigned char byte = 0;

	CHECK_EQ(syscall(SYS_read, ends[0], &byte, 1), 1);
	sum += byte;
	return arg;
}

static void *work(void *arg)
{
	for (int i = 0; i < NR_YIELDS; i++)
		sched_yield();
	return arg;
}

int main(void)
{
	static pthread_t readers[NR_READERS];
	pthread_t workers[NR_WORKERS];
	int64_t start;

	CHECK_EQ(pipe(ends), 0);
	threads_start(readers, NR_READERS, read_one, NULL);
	start = now_ns();
	threads_start(workers, NR_WORKERS, work, NULL);
	threads_join(workers, NR_WORKERS);
	CHECK(elapsed_ms(start) < LIMIT_MS);
	start = now_ns();
	sleep_ms(1);
	CHECK(elapsed_ms(start) < LIMIT_MS);
	for (int i = 0; i < NR_READERS; i++) {
		unsigned char byte = (unsigned char)(i % 100);

		CHECK_EQ(write(ends[1], &byte, 1), 1);
	}
	threads_join(readers, NR_READERS);
	printf("others went on; sum %ld\n", sum);
	return 0;
}

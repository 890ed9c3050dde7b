/* SPDX-License-Identifier: MIT */
/*
 * The program makes a thread that is restricted to one CPU, and so is bound,
 * and then a thread without restriction. The main thread blocks in a call that
 * weft does not see until the second thread writes. No kernel thread was left
 * for the second thread.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"
#include "threading.h"

static int ends[2], unseen[2];

static void *read_one(void *arg)
{
	char c;

	CHECK_EQ(read(ends[0], &c, 1), 1);
	return arg;
}

static void *write_both(void *arg)
{
	CHECK_EQ(write(unseen[1], "x", 1), 1);
	CHECK_EQ(write(ends[1], "x", 1), 1);
	return arg;
}

int main(void)
{
	pthread_attr_t attr;
	cpu_set_t one;
	pthread_t bound, writer;
	char c;

	CHECK_EQ(pipe(ends), 0);
	CHECK_EQ(pipe(unseen), 0);
	CHECK_EQ(pthread_attr_init(&attr), 0);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	CHECK_EQ(pthread_attr_setaffinity_np(&attr, sizeof(one), &one), 0);
	CHECK_EQ(pthread_create(&bound, &attr, read_one, NULL), 0);
	writer = thread_start(write_both, NULL);
	CHECK_EQ(syscall(SYS_read, unseen[0], &c, 1), 1);
	thread_join(writer);
	thread_join(bound);
	CHECK_EQ(pthread_attr_destroy(&attr), 0);
	puts("written and read");
	return 0;
}

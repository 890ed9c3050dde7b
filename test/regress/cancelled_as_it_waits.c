/* SPDX-License-Identifier: MIT */
/*
 * A thread with asynchronous cancellation is cancelled just as it begins to
 * wait in a call that is no cancellation point: the thread must end.
 */
#include <stdio.h>
#include <sys/file.h>

#include "files.h"
#include "threading.h"

enum { NR_ROUNDS = 800 };

static int other_fd;
static pthread_mutex_t mutex;
static _Atomic int is_ready;

static void wait_for_lock(void)
{
	flock(other_fd, LOCK_EX);
}

static void wait_for_mutex(void)
{
	pthread_mutex_lock(&mutex);
}

static void *wait_asynchronously(void *wait)
{
	CHECK_EQ(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL), 0);
	is_ready = 1;
	((void (*)(void))wait)();
	return NULL;
}

static void cancel_often(void (*wait)(void))
{
	for (int i = 0; i < NR_ROUNDS; i++) {
		pthread_t thread;

		CHECK_EQ(pthread_mutex_init(&mutex, NULL), 0);
		CHECK_EQ(pthread_mutex_lock(&mutex), 0);
		is_ready = 0;
		thread = thread_start(wait_asynchronously, (void *)wait);
		while (!is_ready)
			;
		/* The delay grows with each round, up to some microseconds. */
		for (volatile int turns = i % 100 * 50; turns > 0;)
			turns = turns - 1;
		CHECK_EQ(pthread_cancel(thread), 0);
		CHECK(thread_join(thread) == PTHREAD_CANCELED);
	}
}

int main(void)
{
	make_file();
	other_fd = open_again();
	remove_file();
	CHECK_EQ(flock(fd, LOCK_EX), 0);
	cancel_often(wait_for_lock);
	cancel_often(wait_for_mutex);
	puts("all ended");
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * Threads that wait for all kinds of things and are joined, before and after
 * the process makes calls that need a single thread.
 *
 *     unshare_after_threads(3);
 *     CHECK_EQ(unshare(CLONE_THREAD), 0);
 */
#ifndef UNSHARE_H
#define UNSHARE_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "threading.h"

enum { UNSHARE_NR_MANY = 100 };

static pthread_mutex_t unshare_mutex = PTHREAD_MUTEX_INITIALIZER;
static int unshare_nr_counted;
struct unshare_pair {
	int ends[2];
};

static inline void *unshare_answer(void *arg)
{
	struct unshare_pair *p = arg;
	char byte;

	while (read(p->ends[1], &byte, 1) == 1)
		CHECK_EQ(write(p->ends[1], &byte, 1), 1);
	return arg;
}

/* Waits for a time of a clock that can be set, which weft has to watch. */
static inline void unshare_wait_for_time(void)
{
	struct timespec until;

	CHECK_EQ(clock_gettime(CLOCK_REALTIME, &until), 0);
	until = ts_after_ns(until, 100 * 1000);
	CHECK_EQ(clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until, NULL),
		 0);
}

/* Waits for a descriptor, a file lock, a time and a mutex. */
static inline void *unshare_work(void *arg)
{
	struct unshare_pair p;
	pthread_t peer;
	int file = memfd_create("unshare", 0);
	char byte = 'x';

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, p.ends), 0);
	peer = thread_start(unshare_answer, &p);
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(write(p.ends[0], &byte, 1), 1);
		CHECK_EQ(read(p.ends[0], &byte, 1), 1);
	}
	CHECK_EQ(shutdown(p.ends[0], SHUT_WR), 0);
	CHECK(thread_join(peer) == &p);
	close(p.ends[0]);
	close(p.ends[1]);
	CHECK(file >= 0);
	CHECK_EQ(flock(file, LOCK_EX), 0);
	CHECK_EQ(fsync(file), 0);
	close(file);
	unshare_wait_for_time();
	CHECK_EQ(pthread_mutex_lock(&unshare_mutex), 0);
	unshare_nr_counted++;
	sched_yield();
	CHECK_EQ(pthread_mutex_unlock(&unshare_mutex), 0);
	return arg;
}

static inline void unshare_after_threads(int nr)
{
	pthread_t threads[UNSHARE_NR_MANY];
	int before = unshare_nr_counted;

	threads_start(threads, nr, unshare_work, NULL);
	threads_join(threads, nr);
	CHECK_EQ(unshare_nr_counted, before + nr);
}

/*
 * Natively a join may return a moment before the kernel has removed the thread;
 * weft waits for that itself. Returns true if the caller should try again.
 * Leaves errno alone.
 */
static inline bool unshare_tries_again(int *nr_tries)
{
	enum { MOST_TRIES = 10000 };
	int error = errno;

	if (is_on_weft() || ++*nr_tries >= MOST_TRIES) {
		errno = error;
		return false;
	}
	sched_yield();
	errno = error;
	return true;
}

/*
 * Calls unshare() after the joins; the kernel refuses until it has removed the
 * threads.
 */
static inline int unshare_alone_by(int (*call)(int flags), int flags)
{
	int nr_tries = 0;

	while (call(flags) != 0) {
		if (errno != EINVAL || !unshare_tries_again(&nr_tries))
			return -1;
	}
	return 0;
}

static inline int unshare_alone(int flags)
{
	return unshare_alone_by(unshare, flags);
}

#endif

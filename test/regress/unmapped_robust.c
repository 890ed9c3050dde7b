/* SPDX-License-Identifier: MIT */
/*
 * A process-shared robust mutex is unmapped while it is locked. Other threads
 * lock further mutexes and leave them behind. weft's list of these mutexes led
 * through the unmapped memory.
 */
#include <errno.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/mman.h>

#include "robust.h"
#include "threading.h"

static sem_t locked, over;

static void *lock_and_end(void *mutex)
{
	CHECK_EQ(pthread_mutex_lock(mutex), 0);
	return mutex;
}

static void *lock_and_unmap(void *mutex)
{
	CHECK_EQ(pthread_mutex_lock(mutex), 0);
	/* munmap removes the whole page, although the size is smaller. */
	CHECK_EQ(munmap(mutex, sizeof(pthread_mutex_t)), 0);
	CHECK_EQ(sem_post(&locked), 0);
	CHECK_EQ(sem_wait(&over), 0);
	return mutex;
}

/* Locks the mutex after its owner has ended. */
static void take_over(pthread_mutex_t *m)
{
	CHECK_EQ(pthread_mutex_lock(m), EOWNERDEAD);
	CHECK_EQ(pthread_mutex_consistent(m), 0);
	CHECK_EQ(pthread_mutex_unlock(m), 0);
	CHECK_EQ(pthread_mutex_lock(m), 0);
	CHECK_EQ(pthread_mutex_unlock(m), 0);
}

static void *hold(void *mutex)
{
	CHECK_EQ(pthread_mutex_lock(mutex), 0);
	CHECK_EQ(sem_post(&locked), 0);
	CHECK_EQ(sem_wait(&over), 0);
	CHECK_EQ(pthread_mutex_unlock(mutex), 0);
	return mutex;
}

static void run(int protocol)
{
	pthread_mutex_t *before = map_robust(1, protocol);
	pthread_mutex_t *after = map_robust(1, protocol);
	pthread_t threads[2];

	/* The mutexes before and after it in the list stay mapped. */
	threads[0] = thread_start(hold, before);
	CHECK_EQ(sem_wait(&locked), 0);
	threads[1] = thread_start(lock_and_unmap, map_robust(1, protocol));
	CHECK_EQ(sem_wait(&locked), 0);
	for (int i = 0; i < 2; i++) {
		thread_join(thread_start(lock_and_end, after));
		take_over(after);
	}
	CHECK_EQ(sem_post(&over), 0);
	CHECK_EQ(sem_post(&over), 0);
	threads_join(threads, 2);
	thread_join(thread_start(lock_and_end, before));
	take_over(before);
	/*
	 * A munmap that fails must not remove the mutex from the robust list.
	 */
	CHECK_EQ(pthread_mutex_lock(after), 0);
	CHECK_EQ(munmap((char *)after + 1, ROBUST_BYTES), -1);
	CHECK_EQ(errno, EINVAL);
	CHECK_EQ(pthread_mutex_unlock(after), 0);
}

int main(void)
{
	CHECK_EQ(sem_init(&locked, 0, 0), 0);
	CHECK_EQ(sem_init(&over, 0, 0), 0);
	run(PTHREAD_PRIO_NONE);
	run(PTHREAD_PRIO_INHERIT);
	puts("all ended");
	return 0;
}

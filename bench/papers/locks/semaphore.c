/* SPDX-License-Identifier: MIT */
/*
 * A System V semaphore of value 1 as a mutex: each lock and each unlock is a
 * system call, whether another thread wants the lock or not. It is the
 * paper's lock between virtual processors, which were UNIX processes.
 *
 * All locks of a process are semaphores of one set, which lives until the
 * process exits: a process that is killed leaves one set behind, not one for
 * each lock.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/sem.h>

#include "kinds.h"

enum { MAX_LOCKS = 256 }; /* at a time */

struct semaphore {
	unsigned short number;
};

union semun {
	int val;
};

static pthread_mutex_t set_mutex = PTHREAD_MUTEX_INITIALIZER;
static int set = -1;
static bool is_used[MAX_LOCKS];

static void remove_set(void)
{
	semctl(set, 0, IPC_RMID);
}

static bool make_set(void)
{
	if (set == -1) {
		set = semget(IPC_PRIVATE, MAX_LOCKS, 0600);
		if (set != -1)
			atexit(remove_set);
	}
	return set != -1;
}

/* Returns the number of a free semaphore, or -1. */
static int take_number(void)
{
	int number = -1;

	pthread_mutex_lock(&set_mutex);
	for (int i = 0; make_set() && number == -1 && i < MAX_LOCKS; i++) {
		if (!is_used[i])
			number = i;
	}
	if (number != -1)
		is_used[number] = true;
	pthread_mutex_unlock(&set_mutex);
	return number;
}

static size_t size(int nr_threads)
{
	return sizeof(struct semaphore);
}

static int init(struct lock *lock, int nr_threads)
{
	union semun one = { .val = 1 };
	int number = take_number();

	if (number == -1)
		return set == -1 ? errno : ENOSPC;
	((struct semaphore *)lock)->number = (unsigned short)number;
	return semctl(set, number, SETVAL, one) == 0 ? 0 : errno;
}

static void fini(struct lock *lock)
{
	pthread_mutex_lock(&set_mutex);
	is_used[((struct semaphore *)lock)->number] = false;
	pthread_mutex_unlock(&set_mutex);
}

static void change(struct lock *lock, short by)
{
	struct sembuf op = {
		.sem_num = ((struct semaphore *)lock)->number,
		.sem_op = by,
	};

	while (semop(set, &op, 1) == -1) {
		if (errno != EINTR)
			abort();
	}
}

static void lock_it(struct lock *lock, int me)
{
	change(lock, -1);
}

static void unlock_it(struct lock *lock, int me)
{
	change(lock, 1);
}

const struct lock_kind lock_semaphore = {
	.name = "semaphore",
	.max_threads = LOCK_MAX_THREADS,
	.size = size,
	.init = init,
	.fini = fini,
	.lock = lock_it,
	.unlock = unlock_it,
};

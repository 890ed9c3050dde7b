/*
 * A System V semaphore of value 1 as a mutex: each lock and each unlock is a
 * system call, whether another thread wants the lock or not. It is the
 * paper's lock between virtual processors, which were UNIX processes.
 *
 * All locks of a process are semaphores of one set, which lives until the
 * process exits: a set that a killed process leaves behind is one set, not one
 * for each lock.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/sem.h>

#include "kinds.h"

enum { MAX_LOCKS = 256 }; /* in the life of a process */

struct semaphore {
	unsigned short number;
};

union semun {
	int val;
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int set = -1;
static _Atomic int nr_used;

static void remove_set(void)
{
	semctl(set, 0, IPC_RMID);
}

static void make_set(void)
{
	set = semget(IPC_PRIVATE, MAX_LOCKS, 0600);
	if (set != -1)
		atexit(remove_set);
}

static size_t size(int nr_threads)
{
	return sizeof(struct semaphore);
}

static int init(struct lock *lock, int nr_threads)
{
	int number = atomic_fetch_add(&nr_used, 1);
	union semun one = { .val = 1 };

	pthread_once(&once, make_set);
	if (set == -1 || number >= MAX_LOCKS)
		return ENOSPC;
	((struct semaphore *)lock)->number = (unsigned short)number;
	return semctl(set, number, SETVAL, one) == 0 ? 0 : errno;
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
	.fini = lock_no_fini,
	.lock = lock_it,
	.unlock = unlock_it,
};

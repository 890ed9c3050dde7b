/* SPDX-License-Identifier: MIT */
/* Shared memory and children, for the tests of objects between processes. */
#ifndef SHARED_H
#define SHARED_H

#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "threading.h"

enum { NR_THREADS = 4, NR_ROUNDS = 500 };

static struct shared {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	pthread_rwlock_t rwlock;
	pthread_barrier_t barrier;
	pthread_spinlock_t spin;
	sem_t sem, answer;
	uint32_t word;
	volatile long count, other;
} * s;

static inline void make_shared(void)
{
	s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(s != MAP_FAILED);
	CHECK_EQ(sem_init(&s->sem, 1, 0), 0);
	CHECK_EQ(sem_init(&s->answer, 1, 0), 0);
}

static inline void make_mutex(pthread_mutex_t *m, int type, int robust,
			      int shared, int protocol)
{
	pthread_mutexattr_t attr;

	CHECK_EQ(pthread_mutexattr_init(&attr), 0);
	CHECK_EQ(pthread_mutexattr_settype(&attr, type), 0);
	CHECK_EQ(pthread_mutexattr_setrobust(&attr, robust), 0);
	CHECK_EQ(pthread_mutexattr_setpshared(&attr, shared), 0);
	CHECK_EQ(pthread_mutexattr_setprotocol(&attr, protocol), 0);
	CHECK_EQ(pthread_mutex_init(m, &attr), 0);
}

static inline void make_cond(pthread_cond_t *cond, clockid_t clock)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	CHECK_EQ(pthread_condattr_setpshared(&attr, PTHREAD_PROCESS_SHARED), 0);
	CHECK_EQ(pthread_condattr_setclock(&attr, clock), 0);
	CHECK_EQ(pthread_cond_init(cond, &attr), 0);
}

static inline void make_rwlock(pthread_rwlock_t *rwlock, int kind)
{
	pthread_rwlockattr_t attr;

	pthread_rwlockattr_init(&attr);
	CHECK_EQ(pthread_rwlockattr_setpshared(&attr, PTHREAD_PROCESS_SHARED),
		 0);
	CHECK_EQ(pthread_rwlockattr_setkind_np(&attr, kind), 0);
	CHECK_EQ(pthread_rwlock_init(rwlock, &attr), 0);
}

static inline void make_barrier(pthread_barrier_t *barrier, unsigned int count)
{
	pthread_barrierattr_t attr;

	pthread_barrierattr_init(&attr);
	CHECK_EQ(pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED),
		 0);
	CHECK_EQ(pthread_barrier_init(barrier, &attr, count), 0);
}

static inline void run_threads(void *(*start)(void *))
{
	pthread_t threads[NR_THREADS];

	threads_start(threads, NR_THREADS, start, NULL);
	threads_join(threads, NR_THREADS);
}

/*
 * Leaves too few descriptors for weft's own; threads then wait in the kernel.
 */
static inline void allow_few_descriptors(void)
{
	struct rlimit few = { 7, 7 };

	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
}

/* Runs `start` in threads of this process and of a child at once. */
static inline void run_in_both(void *(*start)(void *))
{
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	run_threads(start);
	if (pid == 0)
		_exit(0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

/* Starts a child that runs a thread until the child is killed. */
static inline pid_t start_child(void *(*start)(void *))
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid != 0)
		return pid;
	thread_start(start, NULL);
	for (;;)
		pause();
}

static inline void kill_child(pid_t pid)
{
	int status;

	CHECK_EQ(kill(pid, SIGKILL), 0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFSIGNALED(status));
}

#endif

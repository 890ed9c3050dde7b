/* SPDX-License-Identifier: MIT */
/*
 * Threads change state all the time, while a test reads them. Some take two
 * mutexes together, always in one order; others take two mutexes one after the
 * other. Others are created, sleep and end, or exchange semaphores. Each start
 * routine has one kind of wait. Prints a line for each start routine, with its
 * name and its kind of wait. Ends at the end of its standard input.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

enum { LOCKERS = 20, TURNERS = 40, PAIRS = 3, MAKERS = 2, DETACHED = 4 };

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t b = PTHREAD_MUTEX_INITIALIZER;
static sem_t ping[PAIRS], pong[PAIRS], room;
static _Atomic long nr_rounds;

static void *lock(void *arg)
{
	for (;;) {
		pthread_mutex_lock(&a);
		pthread_mutex_lock(&b);
		atomic_fetch_add(&nr_rounds, 1);
		sched_yield();
		pthread_mutex_unlock(&b);
		pthread_mutex_unlock(&a);
	}
	return arg;
}

/*
 * Two threads share two mutexes, and hold one at a time. In one moment the
 * first waits for the second, soon after it is the other way round.
 */
static void *turn(void *arg)
{
	static pthread_mutex_t of[TURNERS];
	long i = (long)arg & ~1L;

	for (;;) {
		for (int k = 0; k < 2; k++) {
			pthread_mutex_lock(&of[i + k]);
			sched_yield();
			pthread_mutex_unlock(&of[i + k]);
		}
	}
	return NULL;
}

static void *post(void *arg)
{
	long i = (long)arg;

	for (;;) {
		sem_post(&ping[i]);
		sem_wait(&pong[i]);
	}
	return NULL;
}

static void *answer(void *arg)
{
	long i = (long)arg;

	for (;;) {
		sem_wait(&ping[i]);
		sem_post(&pong[i]);
	}
	return NULL;
}

static void *nap(void *arg)
{
	usleep(100);
	return arg;
}

static void *create(void *arg)
{
	pthread_t thread;

	for (;;) {
		pthread_create(&thread, NULL, nap, NULL);
		pthread_join(thread, NULL);
	}
	return arg;
}

static void *nap_detached(void *arg)
{
	pthread_detach(pthread_self());
	usleep(50);
	sem_post(&room);
	pthread_exit(arg);
}

static void *scatter(void *arg)
{
	pthread_t thread;

	for (;;) {
		sem_wait(&room);
		pthread_create(&thread, NULL, nap_detached, NULL);
	}
	return arg;
}

static void make(int nr, void *(*start)(void *))
{
	pthread_t thread;

	for (long i = 0; i < nr; i++)
		pthread_create(&thread, NULL, start, (void *)i);
}

static void tell(void *(*start)(void *), const char *what)
{
	printf("%#lx %s\n", (unsigned long)start, what);
}

int main(void)
{
	char c;

	sem_init(&room, 0, DETACHED);
	for (int i = 0; i < PAIRS; i++) {
		sem_init(&ping[i], 0, 0);
		sem_init(&pong[i], 0, 0);
	}
	make(LOCKERS, lock);
	make(TURNERS, turn);
	make(PAIRS, post);
	make(PAIRS, answer);
	make(MAKERS, create);
	make(1, scatter);
	tell(lock, "mutex lock");
	tell(turn, "mutex turn");
	tell(post, "semaphore post");
	tell(answer, "semaphore answer");
	tell(nap, "sleep nap");
	tell(nap_detached, "sleep nap_detached");
	tell(create, "join create");
	tell(scatter, "semaphore scatter");
	puts("ready");
	fflush(stdout);
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	_exit(0);
}

/* SPDX-License-Identifier: MIT */
/*
 * usage: deadlocks N | deadlocks join | deadlocks WAY
 *
 * With N: N threads, of which each holds a mutex and waits for the next
 * thread's. With `join`: a thread joins a second one, which waits for a mutex
 * that the first holds. Prints the tids of these threads in this order. Ends at
 * the end of its standard input.
 *
 * With WAY the first thread joins a second one. WAY is
 *   all: the second waits for a condition, so no thread can go on
 *   timeout: the second waits for a condition with a time limit
 *   signal: the second waits for a signal
 *   relay: the second and a third thread wake each other by turns
 */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 100 };

static int nr;
static pthread_mutex_t mutexes[MOST];
static pthread_barrier_t all_hold;
static sem_t is_done;
static pid_t tids[MOST];
static pthread_t second;

static void *hold_and_wait(void *arg)
{
	int i = (int)(long)arg;

	tids[i] = gettid();
	pthread_mutex_lock(&mutexes[i]);
	pthread_barrier_wait(&all_hold);
	sem_post(&is_done);
	pthread_mutex_lock(&mutexes[(i + 1) % nr]);
	return NULL;
}

static void *wait_for_first(void *arg)
{
	tids[1] = gettid();
	sem_post(&is_done);
	pthread_mutex_lock(&mutexes[0]);
	return arg;
}

static void *join_second(void *arg)
{
	tids[0] = gettid();
	pthread_mutex_lock(&mutexes[0]);
	pthread_create(&second, NULL, wait_for_first, NULL);
	sem_post(&is_done);
	pthread_join(second, NULL);
	return arg;
}

static void *wait_for_ever(void *arg)
{
	static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;

	pthread_mutex_lock(&mutexes[0]);
	sem_post(&is_done);
	pthread_cond_wait(&cond, &mutexes[0]);
	return arg;
}

static void *wait_for_hours(void *arg)
{
	static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 10000;
	pthread_mutex_lock(&mutexes[0]);
	sem_post(&is_done);
	pthread_cond_timedwait(&cond, &mutexes[0], &until);
	return arg;
}

static void *wait_for_signal(void *arg)
{
	sigset_t set;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sem_post(&is_done);
	sigwait(&set, &sig);
	return arg;
}

static long now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000L + ts.tv_nsec;
}

static sem_t turns[2];

/* A turn is about as long as the reading of a row. */
static void *relay(void *arg)
{
	long i = (long)arg;

	sem_post(&is_done);
	for (;;) {
		long end;

		sem_wait(&turns[i]);
		end = now_ns() + 30000;
		while (now_ns() < end)
			;
		sem_post(&turns[1 - i]);
	}
	return NULL;
}

static void join_a_waiter(void *(*start)(void *))
{
	pthread_t third;

	if (start == relay) {
		pthread_create(&third, NULL, relay, (void *)1L);
		sem_wait(&is_done);
		sem_post(&turns[0]);
	}
	pthread_create(&second, NULL, start, NULL);
	sem_wait(&is_done);
	puts("joins");
	fflush(stdout);
	pthread_join(second, NULL);
}

static const struct {
	const char *name;
	void *(*start)(void *);
} ways[] = {
	{ "all", wait_for_ever },
	{ "timeout", wait_for_hours },
	{ "signal", wait_for_signal },
	{ "relay", relay },
};

int main(int argc, char **argv)
{
	pthread_t thread;
	char c;

	nr = argc > 1 ? atoi(argv[1]) : 0;
	sem_init(&is_done, 0, 0);
	for (int i = 0; i < MOST; i++)
		pthread_mutex_init(&mutexes[i], NULL);
	for (size_t i = 0; argc > 1 && i < sizeof(ways) / sizeof(ways[0]); i++)
		if (strcmp(argv[1], ways[i].name) == 0)
			join_a_waiter(ways[i].start);
	if (nr > 1) {
		pthread_barrier_init(&all_hold, NULL, (unsigned)nr);
		for (long i = 0; i < nr; i++)
			pthread_create(&thread, NULL, hold_and_wait, (void *)i);
	} else {
		nr = 2;
		pthread_create(&thread, NULL, join_second, NULL);
	}
	for (int i = 0; i < nr; i++)
		sem_wait(&is_done);
	for (int i = 0; i < nr; i++)
		printf("%d%c", (int)tids[i], i + 1 < nr ? ' ' : '\n');
	fflush(stdout);
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	_exit(0);
}

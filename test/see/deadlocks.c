/* SPDX-License-Identifier: MIT */
/*
 * usage: deadlocks N | deadlocks join | deadlocks all
 *
 * N threads of which each holds a mutex and waits for the next one's. Or two:
 * one joins the other, which waits for a mutex that the first one holds. Prints
 * the tids in this order. Ends with its standard input.
 *
 * With "all" the first thread joins a thread that waits for a condition.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static void join_a_waiter(void)
{
	pthread_create(&second, NULL, wait_for_ever, NULL);
	sem_wait(&is_done);
	puts("all");
	fflush(stdout);
	pthread_join(second, NULL);
}

int main(int argc, char **argv)
{
	pthread_t thread;
	char c;

	nr = argc > 1 ? atoi(argv[1]) : 0;
	sem_init(&is_done, 0, 0);
	for (int i = 0; i < MOST; i++)
		pthread_mutex_init(&mutexes[i], NULL);
	if (argc > 1 && strcmp(argv[1], "all") == 0)
		join_a_waiter();
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

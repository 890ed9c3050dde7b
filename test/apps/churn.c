/* SPDX-License-Identifier: MIT */
/*
 * 64 threads that block in every possible way, in random order: raw system
 * calls, sleeps, locks, semaphores, a pipe, computing, yields.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NR_THREADS 64
#define NR_LOCKS 4
#define NR_PERMITS 4

static pthread_mutex_t locks[NR_LOCKS];
static long counters[NR_LOCKS];
static sem_t permits;
static int pipe_ends[2];
static atomic_long nr_locked, nr_inside, nr_bad;
static __thread long me;
static int nr_rounds = 300;

static void expect(int holds)
{
	if (!holds)
		nr_bad++;
}

/* A raw call, so that only the kernel sees that it blocks. */
static void raw_sleep(long us)
{
	struct timespec ts = { 0, us * 1000 };

	syscall(SYS_nanosleep, &ts, NULL);
}

static void use_lock(int random)
{
	int nr = random % NR_LOCKS;
	long seen;

	pthread_mutex_lock(&locks[nr]);
	seen = counters[nr];
	if (random & 64)
		raw_sleep(200);
	counters[nr] = seen + 1;
	pthread_mutex_unlock(&locks[nr]);
	nr_locked++;
}

static void use_permit(void)
{
	while (sem_wait(&permits) != 0)
		expect(errno == EINTR);
	expect(++nr_inside <= NR_PERMITS);
	raw_sleep(50);
	nr_inside--;
	sem_post(&permits);
}

static void use_pipe(void)
{
	char byte = (char)me;

	expect(write(pipe_ends[1], &byte, 1) == 1);
	expect(read(pipe_ends[0], &byte, 1) == 1);
}

static void use_memory(size_t size)
{
	char *data = malloc(size);

	memset(data, (int)me, size);
	expect(data[size - 1] == (char)me);
	free(data);
}

static void compute(void)
{
	volatile double x = (double)me;

	for (int i = 0; i < 20000; i++)
		x = x * 1.00001 + 1;
}

static void step(int random)
{
	switch (random % 8) {
	case 0:
		raw_sleep(random / 8 % 1000);
		break;
	case 1:
		use_lock(random / 8);
		break;
	case 2:
		use_memory((size_t)random / 8 % 3000 + 1);
		break;
	case 3:
		use_permit();
		break;
	case 4:
		use_pipe();
		break;
	case 5:
		usleep((useconds_t)random / 8 % 500);
		break;
	case 6:
		compute();
		break;
	default:
		sched_yield();
	}
}

static void *work(void *arg)
{
	unsigned int random = (unsigned int)(long)arg + 1;

	me = (long)arg;
	for (int i = 0; i < nr_rounds; i++) {
		errno = (int)me;
		if (i % 8 == 7)
			sched_yield();
		expect(errno == (int)me);
		step(rand_r(&random));
		expect(me == (long)arg);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[NR_THREADS];
	long sum = 0;
	int left;

	if (argc > 1)
		nr_rounds = atoi(argv[1]);
	for (int i = 0; i < NR_LOCKS; i++)
		pthread_mutex_init(&locks[i], NULL);
	sem_init(&permits, 0, NR_PERMITS);
	if (pipe(pipe_ends) != 0)
		return 2;
	for (long i = 0; i < NR_THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)i) != 0)
			return 2;
	for (int i = 0; i < NR_THREADS; i++)
		pthread_join(threads[i], NULL);
	sem_getvalue(&permits, &left);
	for (int i = 0; i < NR_LOCKS; i++)
		sum += counters[i];
	expect(sum == nr_locked);
	expect(left == NR_PERMITS);
	printf("locked %ld permits %d bad %ld\n", sum, left, nr_bad);
	return nr_bad != 0;
}

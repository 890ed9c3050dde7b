/* SPDX-License-Identifier: MIT */
/*
 * usage: crash N
 *
 * Makes N threads that wait, each at a depth of its own, and two that compute
 * with a number in a floating register. Prints for each its tid, the name of
 * its function and its value of the variable `mine`, then "ready". A line of
 * input wakes a thread that crashes.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { COMPUTING = 1000000, CRASHING = 2000000, DEPTHS = 5 };

__thread volatile int mine;
volatile uint64_t rounds;
static volatile int *volatile nowhere;
static sem_t printed, never, crash;

static void tell(const char *function, int number)
{
	mine = number;
	printf("%d %s %d\n", (int)gettid(), function, number);
	sem_post(&printed);
}

__attribute__((noinline, noclone)) static int descend(int depth)
{
	volatile int below;

	if (depth == 0) {
		sem_wait(&never);
		return 0;
	}
	below = descend(depth - 1);
	return below + 1;
}

static void *wait(void *arg)
{
	int number = (int)(intptr_t)arg;

	tell("wait", number);
	descend(number % DEPTHS);
	return arg;
}

/* The number stays in the register while the thread is preempted. */
static void *compute(void *arg)
{
	uint64_t number = (uint64_t)(uintptr_t)arg;

	tell("compute", (int)number);
	__asm__ volatile("movq %0, %%xmm7\n"
			 "1:\n\t"
			 "incq rounds(%%rip)\n\t"
			 "jmp 1b"
			 :
			 : "r"(number)
			 : "xmm7", "memory");
	return arg;
}

static void *fall(void *arg)
{
	tell("fall", (int)(intptr_t)arg);
	sem_wait(&crash);
	*nowhere = 1;
	return arg;
}

static void make(void *(*start)(void *), intptr_t number)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, start, (void *)number) != 0) {
		perror("pthread_create");
		exit(1);
	}
	sem_wait(&printed);
}

int main(int argc, char **argv)
{
	int nr = argc > 1 ? atoi(argv[1]) : 3;
	char c;

	mine = -1;
	sem_init(&printed, 0, 0);
	sem_init(&never, 0, 0);
	sem_init(&crash, 0, 0);
	for (int i = 0; i < nr; i++)
		make(wait, i);
	make(fall, CRASHING);
	for (int i = 0; i < 2; i++)
		make(compute, COMPUTING + i);
	printf("ready\n");
	fflush(stdout);
	while (read(STDIN_FILENO, &c, 1) > 0)
		sem_post(&crash);
	_exit(0);
}

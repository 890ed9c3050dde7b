/* SPDX-License-Identifier: MIT */
/*
 * usage: depths N
 *
 * Makes N threads that wait N deep in calls of one function: the first one
 * call deep, the next one two, and so on. Prints the tid and the depth of each.
 * Ends with its standard input.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST_LOCALS = 64 };

static sem_t never, printed;
static volatile long sink;

/* Frames of different sizes. The sum keeps the call from becoming a jump. */
__attribute__((noinline)) static void descend(long depth)
{
	volatile char locals[1 + depth % MOST_LOCALS];

	locals[0] = (char)depth;
	if (depth > 1)
		descend(depth - 1);
	else
		sem_wait(&never);
	sink += locals[0];
}

static void *begin(void *arg)
{
	printf("%d %ld\n", (int)gettid(), (long)arg);
	sem_post(&printed);
	descend((long)arg);
	sink++;
	return NULL;
}

int main(int argc, char **argv)
{
	long nr = argc > 1 ? atol(argv[1]) : 1;
	char c;

	for (long i = 1; i <= nr; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, begin, (void *)i) != 0)
			return 1;
		sem_wait(&printed);
	}
	puts("ready");
	fflush(stdout);
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	_exit(0);
}

/* SPDX-License-Identifier: MIT */
/*
 * Threads that do not wait in weft: some compute, one is in a system call that
 * weft does not intercept, and one has exited and is not joined. Prints the tid
 * and the state of each. Ends with its standard input.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SPINNERS = 3 };

static sem_t printed;

static void tell(const char *state)
{
	printf("%d %s\n", (int)gettid(), state);
	sem_post(&printed);
}

static void *spin(void *arg)
{
	volatile long n = 0;

	tell("computes");
	for (;;)
		n++;
	return arg;
}

static void *call(void *arg)
{
	const struct timespec time = { 100000, 0 };

	tell("system-call");
	syscall(SYS_nanosleep, &time, NULL);
	return arg;
}

static void *end(void *arg)
{
	tell("exited");
	return arg;
}

static void make(void *(*start)(void *))
{
	pthread_t thread;

	pthread_create(&thread, NULL, start, NULL);
	sem_wait(&printed);
}

int main(void)
{
	char c;

	sem_init(&printed, 0, 0);
	make(end);
	make(call);
	for (int i = 0; i < SPINNERS; i++)
		make(spin);
	puts("ready");
	fflush(stdout);
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	_exit(0);
}

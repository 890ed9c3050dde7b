/* SPDX-License-Identifier: MIT */
/*
 * usage: news N
 *
 * Makes N threads and then stops the process. With one VP most threads have not
 * begun then.
 */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static sem_t never;

static void *begin(void *arg)
{
	sem_wait(&never);
	return arg;
}

int main(int argc, char **argv)
{
	int nr = argc > 1 ? atoi(argv[1]) : 0;
	pthread_t thread;
	char c;

	sem_init(&never, 0, 0);
	puts("ready");
	fflush(stdout);
	for (int i = 0; i < nr; i++)
		if (pthread_create(&thread, NULL, begin, NULL) != 0)
			return 1;
	kill(getpid(), SIGSTOP);
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	_exit(0);
}

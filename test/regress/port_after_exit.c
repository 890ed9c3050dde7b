/* SPDX-License-Identifier: MIT */
/*
 * A server ends while its threads wait for connections and data. A new server
 * that starts at once must get the same port. With io_uring the kernel released
 * the sockets some milliseconds after waitpid had returned.
 */
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "rest.h"

enum { NR_WAYS = 6, NR_ROUNDS = 4, NR_THREADS = 4 };

static struct sockaddr_in address = { .sin_family = AF_INET };
static int listener;

static int try_to_listen(void)
{
	listener = socket(AF_INET, SOCK_STREAM, 0);
	return bind(listener, (struct sockaddr *)&address, sizeof(address)) ==
		       0 &&
	       listen(listener, 10) == 0;
}

static void *serve(void *arg)
{
	for (;;)
		accept(listener, NULL, NULL);
	return arg;
}

static void *leave(void *way)
{
	switch ((intptr_t)way) {
	case 0:
		exit(0);
	case 1:
		_exit(0);
	case 2:
		quick_exit(0);
	default:
		syscall(SYS_exit_group, 0);
	}
	return NULL;
}

/* Either main or a thread ends the server. */
static void run_and_leave(intptr_t way)
{
	pthread_t thread;

	for (int i = 0; i < NR_THREADS; i++)
		pthread_create(&thread, NULL, serve, NULL);
	await_rest();
	if (way < 4)
		leave((void *)way);
	pthread_create(&thread, NULL, leave, (void *)(way - 4));
	for (;;)
		pause();
}

int main(void)
{
	socklen_t bytes = sizeof(address);
	int nr_refused = 0;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK(try_to_listen());
	CHECK_EQ(getsockname(listener, (struct sockaddr *)&address, &bytes), 0);
	for (int i = 0; i < NR_WAYS * NR_ROUNDS; i++) {
		pid_t pid = fork();
		int status;

		if (pid == 0)
			run_and_leave(i % NR_WAYS);
		CHECK_EQ(close(listener), 0);
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		CHECK_EQ(status, 0);
		if (try_to_listen())
			continue;
		nr_refused++;
		while (close(listener), !try_to_listen())
			usleep(1000);
	}
	printf("%d times in use\n", nr_refused);
	return 0;
}

/*
 * A thread sleeps in the kernel, as for a disk, and nothing interrupts it; the
 * other threads of its VP, which wait for sockets since before, get their data
 * and answer each other. So do threads of another VP that wake them.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

enum { NR_READERS = 8, NR_ROUNDS = 5, SLEEP_MS = 1000 };

static int asked[NR_READERS][2], answered[NR_READERS][2];
static atomic_int nr_before; /* rounds that are over while one sleeps */
static atomic_int is_asleep;
static atomic_int is_over;

static void *answer(void *arg)
{
	int i = *(int *)arg;
	char c;

	while (recv(asked[i][1], &c, 1, 0) == 1)
		CHECK(send(answered[i][0], &c, 1, 0) == 1);
	return arg;
}

/* As vfork: nothing but a fatal signal ends the wait for the child. */
static void *sleep_uninterrupted(void *arg)
{
	const struct timespec nap = { SLEEP_MS / 1000,
				      SLEEP_MS % 1000 * 1000000L };
	long pid;

	is_asleep = 1;
	pid = syscall(SYS_clone, CLONE_VFORK | SIGCHLD, 0, 0, 0, 0);
	if (pid == 0) {
		syscall(SYS_nanosleep, &nap, NULL);
		syscall(SYS_exit_group, 0);
	}
	is_over = 1;
	CHECK(pid > 0 && waitpid((pid_t)pid, NULL, 0) == pid);
	return arg;
}

static void *ask(void *arg)
{
	const struct timespec nap = { 0, 100000000 };

	while (!is_asleep)
		sched_yield();
	nanosleep(&nap, NULL);
	for (int round = 0; round < NR_ROUNDS && !is_over; round++) {
		char c = 'x';

		for (int i = 0; i < NR_READERS; i++)
			CHECK(send(asked[i][0], &c, 1, 0) == 1);
		for (int i = 0; i < NR_READERS; i++)
			CHECK(recv(answered[i][1], &c, 1, 0) == 1);
		if (!is_over)
			nr_before++;
		nanosleep(&nap, NULL);
	}
	return arg;
}

int main(void)
{
	pthread_t readers[NR_READERS], sleeper, asker;
	int numbers[NR_READERS];

	for (int i = 0; i < NR_READERS; i++) {
		numbers[i] = i;
		CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, asked[i]) == 0);
		CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, answered[i]) == 0);
		CHECK(pthread_create(&readers[i], NULL, answer, &numbers[i]) ==
		      0);
	}
	usleep(50000);
	CHECK(pthread_create(&asker, NULL, ask, NULL) == 0);
	CHECK(pthread_create(&sleeper, NULL, sleep_uninterrupted, NULL) == 0);
	pthread_join(asker, NULL);
	pthread_join(sleeper, NULL);
	for (int i = 0; i < NR_READERS; i++) {
		shutdown(asked[i][0], SHUT_WR);
		pthread_join(readers[i], NULL);
	}
	printf("%s\n",
	       nr_before > 1 ? "answers while it sleeps" : "no answers");
	fprintf(stderr, "%d\n", nr_before);
	return 0;
}

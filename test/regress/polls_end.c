/* SPDX-License-Identifier: MIT */
/*
 * A signal of another process arrives while a thread that has just woken checks
 * for signals. The thread repeated that check without end.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/types.h>
#include <sys/wait.h>

#include "threading.h"

enum { NR_THREADS = 6, NR_SIGNALS = 60000 };

static _Atomic int nr_handled, is_over;

static void handle(int sig)
{
	nr_handled++;
}

static void *wake_often(void *arg)
{
	while (!is_over)
		usleep(20 + 7 * (useconds_t)(intptr_t)arg);
	return NULL;
}

static void send_signals(pid_t to)
{
	for (int i = 0; i < NR_SIGNALS; i++) {
		kill(to, SIGUSR1);
		if (i % 3 == 0)
			sched_yield();
	}
	_exit(0);
}

int main(void)
{
	pthread_t threads[NR_THREADS];
	struct sigaction action = { .sa_handler = handle,
				    .sa_flags = SA_RESTART };
	pid_t parent = getpid(), child;
	int status;

	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	threads_start_numbered(threads, NR_THREADS, wake_often);
	child = fork();
	CHECK(child >= 0);
	if (child == 0)
		send_signals(parent);
	CHECK_EQ(waitpid(child, &status, 0), child);
	is_over = 1;
	threads_join(threads, NR_THREADS);
	CHECK(nr_handled > 0);
	printf("signals were handled\n");
	return 0;
}

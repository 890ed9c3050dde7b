/* SPDX-License-Identifier: MIT */
/*
 * Threads change state that the kernel keeps per kernel thread, one after the
 * other. Before the fix the kernel thread of each stayed asleep after the
 * thread had ended: after 16,000 there could be no more. The kernel threads
 * that end also hand over requests for which other threads wait.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "threading.h"

enum { NR = 2000, NR_READERS = 24, SLACK_NS = 20000, MOST = NR / 4 };

static struct {
	int ends[2];
	atomic_int nr_read;
} pipes[NR_READERS];

static void *change(void *arg)
{
	CHECK_EQ(prctl(PR_SET_TIMERSLACK, SLACK_NS), 0);
	return arg;
}

/*
 * Counts this process's kernel threads in a child; exits with 1 if they are
 * many.
 */
static int has_many_kernel_threads(void)
{
	char path[64], line[128];
	int nr = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)getppid());
	f = fopen(path, "r");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		sscanf(line, "Threads: %d", &nr);
	return nr == 0 || nr > MOST;
}

static void *read_all(void *arg)
{
	int i = (int)(intptr_t)arg;
	char byte;

	while (read(pipes[i].ends[0], &byte, 1) == 1)
		atomic_fetch_add(&pipes[i].nr_read, 1);
	return NULL;
}

static void write_one(int i)
{
	int before = atomic_load(&pipes[i].nr_read);

	CHECK_EQ(write(pipes[i].ends[1], "", 1), 1);
	while (atomic_load(&pipes[i].nr_read) == before)
		sched_yield();
}

int main(void)
{
	pthread_t readers[NR_READERS];
	pid_t child;
	int status;

	for (int i = 0; i < NR_READERS; i++) {
		CHECK_EQ(pipe(pipes[i].ends), 0);
		readers[i] = thread_start(read_all, (void *)(intptr_t)i);
	}
	for (int i = 0; i < NR; i++) {
		thread_join(thread_start(change, NULL));
		write_one(i % NR_READERS);
	}
	child = fork();
	if (child == 0)
		_exit(has_many_kernel_threads());
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	for (int i = 0; i < NR_READERS; i++) {
		close(pipes[i].ends[1]);
		thread_join(readers[i]);
	}
	puts("all have ended");
	return 0;
}

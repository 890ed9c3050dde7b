/* SPDX-License-Identifier: MIT */
/*
 * Threads with pending signals try to execute a file that is no program. They
 * wait for each other in the kernel, since their arguments are long. Other
 * threads change credentials. The two kinds wait for each other, and neither
 * may hold anything that the other needs to continue.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "no_program.h"
#include "threading.h"

enum {
	NR_EXECS = 4,
	NR_CHANGERS = 2,
	NR_ROUNDS = 100,
};

static _Atomic int all_there, nr_ended;

static void *fail_to_exec(void *arg)
{
	int sig;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CHECK_EQ(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
	/* While one thread is in exec, no thread can be made. */
	while (!all_there)
		sched_yield();
	for (int i = 0; i < NR_ROUNDS; i++) {
		CHECK_EQ(pthread_kill(pthread_self(), SIGUSR1), 0);
		CHECK_ERRNO(no_program_exec(), ENOEXEC);
		/* The signal is still pending. */
		CHECK_EQ(sigwait(&set, &sig), 0);
	}
	nr_ended++;
	return arg;
}

static void *change(void *arg)
{
	while (nr_ended < NR_EXECS) {
		CHECK_EQ(seteuid(geteuid()), 0);
		sched_yield();
	}
	return arg;
}

int main(void)
{
	pthread_t execs[NR_EXECS], changers[NR_CHANGERS];

	no_program_make();
	threads_start(execs, NR_EXECS, fail_to_exec, NULL);
	threads_start(changers, NR_CHANGERS, change, NULL);
	all_there = 1;
	threads_join(execs, NR_EXECS);
	threads_join(changers, NR_CHANGERS);
	puts("nothing was executed");
	return 0;
}

/*
 * Threads with signals that wait for them try to execute what is no program,
 * and wait for each other in the kernel meanwhile, since their arguments are
 * long. Others change credentials. Each has to wait for the other kind, but
 * not with what the other needs to go on.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "threading.h"

enum {
	NR_EXECS = 4,
	NR_CHANGERS = 2,
	NR_ROUNDS = 100,
	NR_ARGUMENTS = 8,
	ARGUMENT_BYTES = 100000,
};

static char path[] = "/tmp/weft-no-program-XXXXXX";
static char argument[ARGUMENT_BYTES];
static _Atomic int all_there, nr_ended;

static void remove_no_program(void)
{
	unlink(path);
}

static void make_no_program(void)
{
	int fd = mkstemp(path);

	CHECK(fd >= 0);
	check_at_end(remove_no_program);
	CHECK_EQ(write(fd, "\1\2\3\4", 4), 4);
	CHECK_EQ(fchmod(fd, 0700), 0);
	CHECK_EQ(close(fd), 0);
	memset(argument, 'a', sizeof(argument) - 1);
}

static void *fail_to_exec(void *arg)
{
	char *argv[NR_ARGUMENTS + 1] = { 0 };
	int sig;
	sigset_t set;

	for (int i = 0; i < NR_ARGUMENTS; i++)
		argv[i] = argument;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CHECK_EQ(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
	/* No thread can be made while another one is in exec. */
	while (!all_there)
		sched_yield();
	for (int i = 0; i < NR_ROUNDS; i++) {
		CHECK_EQ(pthread_kill(pthread_self(), SIGUSR1), 0);
		CHECK_EQ(execv(path, argv), -1);
		/* The signal is still there. */
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

	make_no_program();
	threads_start(execs, NR_EXECS, fail_to_exec, NULL);
	threads_start(changers, NR_CHANGERS, change, NULL);
	all_there = 1;
	threads_join(execs, NR_EXECS);
	threads_join(changers, NR_CHANGERS);
	puts("nothing was executed");
	return 0;
}

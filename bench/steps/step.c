/* SPDX-License-Identifier: MIT */
/*
 * usage: bench_step NR_STEPS COMMAND...
 *
 * Lets a program compute for a moment, stops all of its kernel threads, and
 * lets the first one alone execute an instruction at a time. Prints the
 * program's memory map, as /proc has it, an empty line, and the address of each
 * instruction.
 *
 * No other kernel thread runs meanwhile, so the monitor does not preempt the
 * first one for being slow.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	WARM_UP_NS = 100000000,
	LOOK_US = 1000,
	IMPOSSIBLE = 77,
	PREEMPTION = 33
};

static pid_t program;

static void fail(const char *what)
{
	printf("impossible: %s: %s\n", what, strerror(errno));
	if (program > 0)
		kill(program, SIGKILL);
	exit(IMPOSSIBLE);
}

static void start(char **argv)
{
	program = fork();
	if (program < 0)
		fail("fork");
	if (program > 0)
		return;
	if (freopen("/dev/null", "w", stdout) != NULL)
		execvp(argv[0], argv);
	_exit(127);
}

/*
 * Waits by the program's CPU time: on a busy machine the program may not have
 * begun for a long time.
 */
static void warm_up(void)
{
	struct timespec used = { 0, 0 };
	clockid_t clock;

	if (clock_getcpuclockid(program, &clock) != 0)
		fail("clock_getcpuclockid");
	while (used.tv_sec == 0 && used.tv_nsec < WARM_UP_NS) {
		usleep(LOOK_US);
		if (waitpid(program, NULL, WNOHANG) != 0) {
			program = -1;
			fail("the program has ended");
		}
		if (clock_gettime(clock, &used) != 0)
			fail("clock_gettime");
	}
}

static void stop(pid_t tid)
{
	int status;

	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) != 0 ||
	    ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) != 0)
		fail("ptrace");
	waitpid(tid, &status, __WALL);
}

static void stop_all(void)
{
	char path[32];
	struct dirent *entry;
	DIR *tasks;

	stop(program);
	snprintf(path, sizeof(path), "/proc/%d/task", program);
	tasks = opendir(path);
	if (tasks == NULL)
		fail(path);
	while ((entry = readdir(tasks)) != NULL) {
		pid_t tid = atoi(entry->d_name);

		if (tid > 0 && tid != program)
			stop(tid);
	}
	closedir(tasks);
}

static void print_map(void)
{
	char path[32], line[512];
	FILE *map;

	snprintf(path, sizeof(path), "/proc/%d/maps", program);
	map = fopen(path, "r");
	if (map == NULL)
		fail(path);
	while (fgets(line, sizeof(line), map) != NULL)
		fputs(line, stdout);
	fclose(map);
	putchar('\n');
}

/* Delivers a pending signal, except the preemption signal. */
static int step(int sig)
{
	struct user_regs_struct regs;
	int status;

	if (ptrace(PTRACE_SINGLESTEP, program, NULL, (void *)(long)sig) != 0 ||
	    waitpid(program, &status, __WALL) != program || !WIFSTOPPED(status))
		fail("the program has ended");
	if (ptrace(PTRACE_GETREGS, program, NULL, &regs) != 0)
		fail("ptrace");
	printf("%llx\n", regs.rip);
	sig = WSTOPSIG(status);
	return sig == SIGTRAP || sig == PREEMPTION ? 0 : sig;
}

int main(int argc, char **argv)
{
	long nr = argc > 2 ? atol(argv[1]) : 0;
	int sig = 0;

	if (nr <= 0) {
		fprintf(stderr, "usage: %s NR_STEPS COMMAND...\n", argv[0]);
		return 2;
	}
	start(argv + 2);
	warm_up();
	stop_all();
	print_map();
	for (long i = 0; i < nr; i++)
		sig = step(sig);
	kill(program, SIGKILL);
	return 0;
}

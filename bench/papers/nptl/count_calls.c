/* SPDX-License-Identifier: MIT */
/*
 * usage: bench_count_calls COMMAND...
 *
 * Runs a command and counts the system calls that it and all its threads and
 * children make. Prints the sum as a line "calls NUMBER", and a line "call_N
 * NUMBER" for each system call N among them. The command's own output is
 * dropped. The exit status is the command's, 77 if it cannot be traced.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/ptrace.h>

enum {
	IMPOSSIBLE = 77,
	/* larger than any system call's number */
	MOST_CALLS = 1024,
	SYSCALL_STOP = SIGTRAP | 0x80,
	OPTIONS = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE |
		  PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
		  PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL,
};

static long nr_calls, calls[MOST_CALLS];

static void fail(const char *what)
{
	printf("impossible: %s: %s\n", what, strerror(errno));
	exit(IMPOSSIBLE);
}

/* Waits until the pipe is closed, by the parent when it traces this process. */
static void run(int pipe_end, char **argv)
{
	char byte;

	if (read(pipe_end, &byte, 1) != 0)
		_exit(IMPOSSIBLE);
	if (freopen("/dev/null", "w", stdout) != NULL)
		execvp(argv[0], argv);
	perror(argv[0]);
	_exit(127);
}

static pid_t start(char **argv)
{
	int ends[2];
	pid_t pid;

	if (pipe(ends) != 0)
		fail("pipe");
	pid = fork();
	if (pid < 0)
		fail("fork");
	if (pid == 0) {
		close(ends[1]);
		run(ends[0], argv);
	}
	close(ends[0]);
	if (ptrace(PTRACE_SEIZE, pid, NULL, (void *)(long)OPTIONS) != 0 ||
	    ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) != 0) {
		kill(pid, SIGKILL);
		fail("ptrace");
	}
	close(ends[1]);
	return pid;
}

static void count(pid_t pid)
{
	struct ptrace_syscall_info info;
	void *size = (void *)sizeof(info);

	if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, size, &info) <= 0) {
		/* The thread may have been killed meanwhile. */
		if (errno != ESRCH)
			fail("PTRACE_GET_SYSCALL_INFO");
		return;
	}
	if (info.op != PTRACE_SYSCALL_INFO_ENTRY)
		return;
	nr_calls++;
	if (info.entry.nr < MOST_CALLS)
		calls[info.entry.nr]++;
}

static void print_calls(void)
{
	printf("calls %ld\n", nr_calls);
	for (int nr = 0; nr < MOST_CALLS; nr++) {
		if (calls[nr] > 0)
			printf("call_%d %ld\n", nr, calls[nr]);
	}
}

/* Returns the signal to deliver to a stopped thread, or 0. */
static int signal_of(pid_t pid, int status)
{
	int sig = WSTOPSIG(status);

	if (sig == SYSCALL_STOP)
		count(pid);
	return sig == SYSCALL_STOP || status >> 16 != 0 ? 0 : sig;
}

/* Runs until no process is left. Returns the first process's wait status. */
static int trace(pid_t first)
{
	int status, end = 0;
	pid_t pid;

	while ((pid = waitpid(-1, &status, __WALL)) > 0) {
		if (WIFSTOPPED(status))
			ptrace(PTRACE_SYSCALL, pid, NULL,
			       (void *)(long)signal_of(pid, status));
		else if (pid == first)
			end = status;
	}
	return end;
}

int main(int argc, char **argv)
{
	int status;

	if (argc < 2) {
		fprintf(stderr, "usage: %s COMMAND...\n", argv[0]);
		return 2;
	}
	status = trace(start(argv + 1));
	if (WIFSIGNALED(status)) {
		fprintf(stderr, "signal %d\n", WTERMSIG(status));
		return 1;
	}
	print_calls();
	return WEXITSTATUS(status);
}

/* SPDX-License-Identifier: MIT */
/*
 * Runs a program under a seccomp filter:
 *
 *     filter allow NUMBER... -- PROGRAM [ARGS...]
 *     filter refuse ERROR NUMBER... -- PROGRAM [ARGS...]
 *     filter processes -- PROGRAM [ARGS...]
 *
 * Allowed alone: any other system call kills the process with SIGSYS.
 * Refused: these fail with the error number ERROR.
 * Processes that share descriptors are refused, threads are not.
 * Exit status 77: filters are not permitted.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST_CALLS = 500, HEAD = 1, EXIT_USAGE = 2, EXIT_SKIP = 77 };

#define STATEMENT(...) ((struct sock_filter)BPF_STMT(__VA_ARGS__))
#define JUMP(...) ((struct sock_filter)BPF_JUMP(__VA_ARGS__))

static struct sock_filter code[HEAD + 2 * MOST_CALLS + 1];
static unsigned short length;

static void add(struct sock_filter step)
{
	code[length++] = step;
}

/*
 * Adds the calls named up to "--", and returns its index; -1: too many names.
 */
static int name_calls(char **argv, int i, unsigned int named)
{
	for (int nr = 0; argv[i] != NULL && strcmp(argv[i], "--") != 0; i++) {
		if (++nr > MOST_CALLS)
			return -1;
		add(JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)atoi(argv[i]), 0,
			 1));
		add(STATEMENT(BPF_RET | BPF_K, named));
	}
	return i;
}

static void name_processes(void)
{
	add(JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4));
	add(STATEMENT(BPF_LD | BPF_W | BPF_ABS,
		      offsetof(struct seccomp_data, args[0])));
	add(STATEMENT(BPF_ALU | BPF_AND | BPF_K, CLONE_FILES | CLONE_THREAD));
	add(JUMP(BPF_JMP | BPF_JEQ | BPF_K, CLONE_FILES, 0, 1));
	add(STATEMENT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM));
}

/* Returns the index after the names. */
static int make_filter(int argc, char **argv)
{
	unsigned int others = SECCOMP_RET_ALLOW;
	int end = -1;

	add(STATEMENT(BPF_LD | BPF_W | BPF_ABS,
		      offsetof(struct seccomp_data, nr)));
	if (argc > 2 && strcmp(argv[1], "allow") == 0) {
		end = name_calls(argv, 2, SECCOMP_RET_ALLOW);
		others = SECCOMP_RET_KILL_PROCESS;
	} else if (argc > 3 && strcmp(argv[1], "refuse") == 0) {
		end = name_calls(argv, 3,
				 SECCOMP_RET_ERRNO | (unsigned)atoi(argv[2]));
	} else if (argc > 2 && strcmp(argv[1], "processes") == 0) {
		name_processes();
		end = 2;
	}
	add(STATEMENT(BPF_RET | BPF_K, others));
	return end;
}

int main(int argc, char **argv)
{
	struct sock_fprog filter = { .filter = code };
	int end = make_filter(argc, argv);

	if (end < 0 || end + 1 >= argc)
		return EXIT_USAGE;
	filter.len = length;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) < 0) {
		perror("seccomp");
		return EXIT_SKIP;
	}
	execv(argv[end + 1], argv + end + 1);
	perror(argv[end + 1]);
	return 127;
}

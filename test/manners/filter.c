/*
 * Runs a program under a seccomp filter:
 *
 *     manners_filter allow NUMBER... -- PROGRAM [ARGS...]
 *     manners_filter refuse NUMBER... -- PROGRAM [ARGS...]
 *
 * Allowed alone: any other system call kills the process with SIGSYS.
 * Refused: these fail with EPERM.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { MOST_CALLS = 500, HEAD = 1, EXIT_SKIP = 77 };

static struct sock_filter code[HEAD + 2 * MOST_CALLS + 1];

int main(int argc, char **argv)
{
	int is_allow = argc > 1 && strcmp(argv[1], "allow") == 0;
	unsigned int named = is_allow ? SECCOMP_RET_ALLOW :
					SECCOMP_RET_ERRNO | EPERM;
	unsigned int others = is_allow ? SECCOMP_RET_KILL_PROCESS :
					 SECCOMP_RET_ALLOW;
	struct sock_fprog filter = { .filter = code };
	unsigned short n = 0;
	int i;

	code[n++] = (struct sock_filter)BPF_STMT(
		BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (i = 2; i < argc && strcmp(argv[i], "--") != 0; i++) {
		unsigned int nr = (unsigned int)atoi(argv[i]);

		if (i - 2 >= MOST_CALLS)
			return 2;
		code[n++] = (struct sock_filter)BPF_JUMP(
			BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1);
		code[n++] =
			(struct sock_filter)BPF_STMT(BPF_RET | BPF_K, named);
	}
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, others);
	filter.len = n;
	if (i + 1 >= argc)
		return 2;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) < 0) {
		perror("seccomp");
		return EXIT_SKIP;
	}
	execv(argv[i + 1], argv + i + 1);
	perror(argv[i + 1]);
	return 127;
}

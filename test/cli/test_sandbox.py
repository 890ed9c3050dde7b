# SPDX-License-Identifier: MIT
"""A program that confines itself by a seccomp filter, with weft inside."""

import pytest

KILL_PROCESS, KILL_THREAD, TRAP = 0x80000000, 0, 0x30000
REFUSE, ALLOW = 0x50001, 0x7fff0000  # EPERM
PREADV2, PWRITEV2, READ_OF_OTHERS = 327, 328, 310  # process_vm_readv
SKIPPED = 77
WAYS = ["all", "first", "prctl"]

# The program makes none of these calls, and weft makes none for it. Arguments:
# the filter's action, and for which calls, in steps as filter compilers make
# them; and how it is set: for "all" threads, for the "first" only, or by
# "prctl".
CONFINED = r"""
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static sem_t sem;

static void *run(void *arg)
{
	sem_wait(&sem);
	return arg;
}

static void confine(struct sock_fprog *filter, const char *way)
{
	int flags = strcmp(way, "all") == 0 ? SECCOMP_FILTER_FLAG_TSYNC : 0;
	long err = 0;

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	for (int i = 0; i < 2 && err == 0; i++)
		if (strcmp(way, "prctl") == 0)
			err = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER,
				    filter);
		else
			err = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
				      flags, filter);
	if (err != 0)
		_exit(77);
}

int main(int argc, char **argv)
{
	unsigned action = strtoul(argv[1], NULL, 0), nr = atoi(argv[2]);
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 0, 9),
		BPF_STMT(BPF_LD | BPF_IMM, nr),
		BPF_STMT(BPF_ST, 3),
		BPF_STMT(BPF_LDX | BPF_MEM, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xffff),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 300, 0, 3),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_X, 0, 0, 2),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_JUMP(BPF_JMP | BPF_JA, 0, 0, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof(code) / sizeof(code[0]), code };
	pthread_t thread;

	(void)argc;
	sem_init(&sem, 0, 0);
	if (strcmp(argv[3], "all") != 0)
		confine(&filter, argv[3]);
	pthread_create(&thread, NULL, run, NULL);
	if (strcmp(argv[3], "all") == 0)
		confine(&filter, argv[3]);
	sem_post(&sem);
	pthread_join(thread, NULL);
	puts("done"); /* written by libc, and not by weft's pwritev2 */
	return 0;
}
"""


@pytest.fixture
def confined(weft, compile_c):
    program = compile_c("-pthread", source=CONFINED)

    def run(action, number, way):
        result = weft("run", "--vps", "2", program, action, number, way)
        if result.returncode == SKIPPED:
            pytest.skip("filters are not permitted")
        assert (result.returncode, result.stdout) == (0, "done\n")
        return result.stderr
    return run


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("action", [KILL_PROCESS, KILL_THREAD, TRAP])
@pytest.mark.parametrize("number, name", [(PREADV2, "preadv2"),
                                          (PWRITEV2, "pwritev2")])
def test_names_the_fatal_call(confined, action, number, name, way):
    lines = confined(action, number, way).splitlines()
    assert len(lines) == 1 and lines[0].startswith("weft: ")
    assert f"kills for {name}," in lines[0]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("action, number", [
    (REFUSE, PREADV2), (ALLOW, PREADV2), (TRAP, READ_OF_OTHERS)])
def test_harmless_filters_get_no_message(confined, action, number, way):
    assert confined(action, number, way) == ""

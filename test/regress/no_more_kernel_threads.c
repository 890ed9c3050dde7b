/* SPDX-License-Identifier: MIT */
/*
 * The kernel refuses new kernel threads, and weft tries again as long as it has
 * no spare carrier: the failed tries must not use up memory.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"
#include "threading.h"
#include "usage.h"

enum { NR_NAPPERS = 4, NR_NAPS = 1000, MOST_KIB = 65536 };

static _Atomic int nr_begun, is_ready, is_taken;

static void refuse_clone(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { 4, code };

	CHECK_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
		    SECCOMP_FILTER_FLAG_TSYNC, &program) != 0)
		SKIP("filters of system calls are refused");
}

/*
 * nice() binds this thread, which takes the spare kernel thread if there is
 * one.
 */
static void *be_nice(void *arg)
{
	nr_begun++;
	while (!is_ready)
		sleep_ms(1);
	nice(0);
	is_taken = 1;
	return arg;
}

static void *nap(void *arg)
{
	nr_begun++;
	while (!is_taken)
		sleep_ms(1);
	for (int i = 0; i < NR_NAPS; i++)
		usleep(50);
	return arg;
}

int main(void)
{
	pthread_t other, nappers[NR_NAPPERS];
	long before;

	other = thread_start(be_nice, NULL);
	threads_start(nappers, NR_NAPPERS, nap, NULL);
	await_count(&nr_begun, NR_NAPPERS + 1);
	await_rest();
	refuse_clone();
	before = usage_now().address_space_kib;
	is_ready = 1;
	threads_join(nappers, NR_NAPPERS);
	CHECK(usage_now().address_space_kib - before < MOST_KIB);
	thread_join(other);
	puts("no memory was lost");
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * A detached thread ends by a system call, as a thread does that has unmapped
 * its stack. The call also ends the carrier. If the carrier was the process's
 * first kernel thread, the other threads waited for it without end.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/syscall.h>

#include "check.h"
#include "threading.h"

enum { NR = 5 };

static atomic_int nr_gone;

static void *leave(void *arg)
{
	CHECK_EQ(pthread_detach(pthread_self()), 0);
	atomic_fetch_add(&nr_gone, 1);
	__asm__ volatile("syscall" ::"a"(SYS_exit), "D"(0)
			 : "rcx", "r11", "memory");
	return NULL;
}

int main(void)
{
	for (int i = 0; i < NR; i++) {
		thread_start(leave, NULL);
		while (atomic_load(&nr_gone) == i)
			sleep_ms(1);
		thread_join(thread_start(thread_nothing, NULL));
	}
	puts("the others went on");
	return 0;
}

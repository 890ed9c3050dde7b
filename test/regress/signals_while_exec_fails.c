/* SPDX-License-Identifier: MIT */
/*
 * Signals to threads that neither call weft nor leave their system call, while
 * another thread tries to execute a program that does not exist.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "waiting.h"

enum { NR_SIGNALS = 100 };

static _Atomic bool is_over;
static _Atomic int nr_begun;

static void *compute(void *arg)
{
	nr_begun++;
	while (!is_over)
		;
	return arg;
}

static void *wait_in_kernel(void *arg)
{
	nr_begun++;
	while (!is_over)
		syscall(SYS_poll, NULL, 0, 1000);
	return arg;
}

static void *fail_to_exec(void *arg)
{
	char *argv[] = { "nothing", NULL };

	nr_begun++;
	while (!is_over) {
		CHECK_ERRNO(execv("/nonexistent/nothing", argv), ENOENT);
		usleep(300);
	}
	return arg;
}

int main(void)
{
	pthread_t threads[2], exec;

	handle(SIGUSR1, on_signal, 0);
	threads[0] = thread_start(compute, NULL);
	threads[1] = thread_start(wait_in_kernel, NULL);
	exec = thread_start(fail_to_exec, NULL);
	await_count(&nr_begun, 3);
	for (int i = 1; i <= NR_SIGNALS; i++) {
		CHECK_EQ(pthread_kill(threads[i % 2], SIGUSR1), 0);
		await_count(&nr_handled, i);
	}
	is_over = true;
	CHECK_EQ(pthread_kill(threads[1], SIGUSR1), 0);
	threads_join(threads, 2);
	thread_join(exec);
	puts("all signals were handled");
	return 0;
}

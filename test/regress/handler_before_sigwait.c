/* SPDX-License-Identifier: MIT */
/*
 * A handler runs when its thread is about to wait for another signal. The
 * thread had lost that signal, and waited without end. The handler may itself
 * wait for signals.
 */
#include <poll.h>
#include <stdio.h>

#include "waiting.h"

enum { NR_ROUNDS = 10000 };

static _Atomic int nr_taken;

static void handle_and_wait(int sig, siginfo_t *info, void *context)
{
	const struct timespec short_time = { 0, 1000 };
	int saved_errno = errno;
	sigset_t mask;

	if (nr_handled++ % 8 == 0) {
		sigfillset(&mask);
		CHECK_EQ(ppoll(NULL, 0, &short_time, &mask), 0);
	}
	errno = saved_errno;
}

static void *take_all(void *arg)
{
	const sigset_t set = set_of(SIGUSR2);

	is_ready = 1;
	while (nr_taken < NR_ROUNDS) {
		int sig = sigwaitinfo(&set, NULL);

		if (sig == SIGUSR2)
			nr_taken++;
		else
			CHECK_EQ(errno, EINTR);
	}
	return arg;
}

int main(void)
{
	pthread_t thread;

	block(SIGUSR2);
	handle(SIGUSR1, handle_and_wait, SA_RESTART);
	thread = thread_start(take_all, NULL);
	await_count(&is_ready, 1);
	for (int i = 1; i <= NR_ROUNDS; i++) {
		CHECK_EQ(pthread_kill(thread, SIGUSR1), 0);
		/*
		 * The delay varies, so the signal meets each point of the wait.
		 */
		for (volatile int j = 0; j < i % 100 * 5; j++)
			;
		if (i % 4 != 0)
			CHECK_EQ(pthread_kill(thread, SIGUSR2), 0);
		else
			CHECK_EQ(kill(getpid(), SIGUSR2), 0);
		await_count(&nr_taken, i);
	}
	thread_join(thread);
	puts("all were taken");
	return 0;
}

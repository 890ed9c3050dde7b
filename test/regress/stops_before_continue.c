/* SPDX-License-Identifier: MIT */
/*
 * A process with waiting threads gets several stop signals and then SIGCONT: a
 * stop signal from before SIGCONT must not stop the process after it.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "threading.h"

enum { NR_ROUNDS = 300, NR_THREADS = 3 };

static int asked[2], answered[2];

static void answer(void)
{
	pthread_t threads[NR_THREADS];
	char byte;

	alarm(0);
	CHECK_EQ(setpgid(0, 0), 0);
	threads_start(threads, NR_THREADS, thread_pause_for_ever, NULL);
	while (read(asked[0], &byte, 1) == 1)
		CHECK_EQ(write(answered[1], &byte, 1), 1);
	_exit(0);
}

static void ask(void)
{
	char byte = 'a';

	CHECK_EQ(write(asked[1], &byte, 1), 1);
	CHECK_EQ(read(answered[0], &byte, 1), 1);
}

static void stop_and_go_on(pid_t child)
{
	int status;

	CHECK_EQ(kill(child, SIGTSTP), 0);
	CHECK_EQ(kill(child, SIGTTIN), 0);
	CHECK_EQ(kill(child, SIGTTOU), 0);
	CHECK_EQ(waitpid(child, &status, WUNTRACED), child);
	CHECK(WIFSTOPPED(status));
	CHECK_EQ(kill(child, SIGCONT), 0);
	CHECK_EQ(waitpid(child, &status, WCONTINUED), child);
	CHECK(WIFCONTINUED(status));
}

int main(void)
{
	pid_t child;

	CHECK_EQ(pipe(asked), 0);
	CHECK_EQ(pipe(answered), 0);
	child = child_start(answer);
	ask();
	for (int i = 0; i < NR_ROUNDS; i++) {
		stop_and_go_on(child);
		ask();
	}
	CHECK_EQ(close(asked[1]), 0);
	CHECK_EQ(kill(child, SIGKILL), 0);
	CHECK_EQ(child_wait(child), SIGKILL);
	puts("it always went on");
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * Several processes send signals at the same time to an ended thread of another
 * process. Each must get the error that there is no such thread.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "threading.h"

enum { NR_CHILDREN = 4, NR_QUESTIONS = 100 };

static pid_t parent;
static pid_t tid_of_ended;

static void *tell_tid(void *arg)
{
	tid_of_ended = gettid();
	return arg;
}

static void ask(void)
{
	for (int i = 0; i < NR_QUESTIONS; i++)
		CHECK_ERRNO(tgkill(parent, tid_of_ended, SIGUSR1), ESRCH);
}

int main(void)
{
	pid_t children[NR_CHILDREN];

	parent = getpid();
	thread_join(thread_start(tell_tid, NULL));
	for (int i = 0; i < NR_CHILDREN; i++)
		children[i] = child_start(ask);
	for (int i = 0; i < NR_CHILDREN; i++)
		CHECK_EQ(child_wait(children[i]), 0);
	puts("all know that it has ended");
	return 0;
}

/* SPDX-License-Identifier: MIT */
/* A ring of threads, each waiting for a real-time signal to itself. */
#include <signal.h>

#include "ring.h"

static pthread_t *members;
static sigset_t token;

static void prepare(long nr)
{
	members = calloc((size_t)nr, sizeof(*members));
	if (members == NULL)
		exit(1);
	sigemptyset(&token);
	sigaddset(&token, SIGRTMIN);
	pthread_sigmask(SIG_BLOCK, &token, NULL);
}

static void member_is(long me, pthread_t thread)
{
	members[me] = thread;
}

static void wait_for_token(long me)
{
	int signal;

	(void)me;
	while (sigwait(&token, &signal) != 0)
		;
}

static void pass_token(long next)
{
	pthread_kill(members[next], SIGRTMIN);
}

int main(int argc, char **argv)
{
	return ring_main(argc, argv, "signal");
}

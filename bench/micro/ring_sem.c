/* SPDX-License-Identifier: MIT */
/* A ring of threads, each waiting at a semaphore of its own. */
#include "ring.h"

static sem_t *doors;

static void prepare(long nr)
{
	doors = calloc((size_t)nr, sizeof(*doors));
	if (doors == NULL)
		exit(1);
	for (long i = 0; i < nr; i++)
		sem_init(&doors[i], 0, 0);
}

static void member_is(long me, pthread_t thread)
{
	(void)me;
	(void)thread;
}

static void wait_for_token(long me)
{
	while (sem_wait(&doors[me]) != 0)
		;
}

static void pass_token(long next)
{
	sem_post(&doors[next]);
}

int main(int argc, char **argv)
{
	return ring_main(argc, argv, "sem");
}

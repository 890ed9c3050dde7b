/* SPDX-License-Identifier: MIT */
/* Two threads take turns by two semaphores. One operation is one turn: a
 * post, a wait and a switch. */
#include <semaphore.h>

#include "crew.h"

static sem_t doors[2];

static void play(int me, long nr_ops)
{
	for (long i = 0; i < nr_ops; i++) {
		while (sem_wait(&doors[me]) != 0)
			;
		sem_post(&doors[1 - me]);
	}
}

int main(int argc, char **argv)
{
	sem_init(&doors[0], 0, 1);
	sem_init(&doors[1], 0, 0);
	crew_start(2, play);
	bench_measure(argc, argv, "ping_pong_sem", crew_run);
	return 0;
}

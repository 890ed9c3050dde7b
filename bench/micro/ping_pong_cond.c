/* SPDX-License-Identifier: MIT */
/* Two threads take turns by a mutex and a condition variable. One operation
 * is one turn: a signal, a wait and a switch. */
#include "crew.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int turn;

static void play(int me, long nr_ops)
{
	for (long i = 0; i < nr_ops; i++) {
		pthread_mutex_lock(&mutex);
		while (turn != me)
			pthread_cond_wait(&changed, &mutex);
		turn = 1 - me;
		pthread_cond_signal(&changed);
		pthread_mutex_unlock(&mutex);
	}
}

int main(int argc, char **argv)
{
	crew_start(2, play);
	bench_measure(argc, argv, "ping_pong_cond", crew_run);
	return 0;
}

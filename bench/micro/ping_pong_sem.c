/* Two threads take turns by two semaphores. One operation is one turn: a
 * post, a wait and a switch. */
#include <semaphore.h>

#include "bench.h"

static sem_t doors[2];
static long nr_turns;

static void *player(void *arg)
{
	int me = *(int *)arg;

	for (long i = 0; i < nr_turns; i++) {
		while (sem_wait(&doors[me]) != 0)
			;
		sem_post(&doors[1 - me]);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int names[2] = { 0, 1 };
	pthread_t threads[2];
	uint64_t start_ns;

	nr_turns = bench_scale(argc, argv, 50000);
	sem_init(&doors[0], 0, 1);
	sem_init(&doors[1], 0, 0);
	start_ns = bench_now_ns();
	for (int i = 0; i < 2; i++)
		bench_create(&threads[i], player, &names[i]);
	for (int i = 0; i < 2; i++)
		bench_join(threads[i]);
	bench_report("ping_pong_sem", start_ns, 2 * nr_turns);
	return 0;
}

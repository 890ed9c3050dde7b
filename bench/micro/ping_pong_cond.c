/* Two threads take turns by a mutex and a condition variable. One operation
 * is one turn: a signal, a wait and a switch. */
#include "bench.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static long nr_turns;
static int turn;

static void *player(void *arg)
{
	int me = *(int *)arg;

	for (long i = 0; i < nr_turns; i++) {
		pthread_mutex_lock(&mutex);
		while (turn != me)
			pthread_cond_wait(&changed, &mutex);
		turn = 1 - me;
		pthread_cond_signal(&changed);
		pthread_mutex_unlock(&mutex);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int names[2] = { 0, 1 };
	pthread_t threads[2];
	uint64_t start_ns;

	nr_turns = bench_scale(argc, argv, 50000);
	start_ns = bench_now_ns();
	for (int i = 0; i < 2; i++)
		bench_create(&threads[i], player, &names[i]);
	for (int i = 0; i < 2; i++)
		bench_join(threads[i]);
	bench_report("ping_pong_cond", start_ns, 2 * nr_turns);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * Two threads take turns by mutexes, each unlocked by the thread that locked
 * it. They walk around a ring of three, one step behind each other, and lock
 * the next mutex before they unlock the last. A step waits until the other
 * thread has made one. One operation is a step: a lock, an unlock, a switch.
 */
#include "../../micro/crew.h"

enum { NR = 3 };

static pthread_mutex_t mutexes[NR] = { PTHREAD_MUTEX_INITIALIZER,
				       PTHREAD_MUTEX_INITIALIZER,
				       PTHREAD_MUTEX_INITIALIZER };
static int place[2] = { 0, 1 };
static int is_placed[2];

static void walk(int me, long nr_ops)
{
	int next;

	/*
	 * The first call only places the threads: otherwise a thread that walks
	 * before the other has its place would be a round ahead.
	 */
	if (!is_placed[me]) {
		pthread_mutex_lock(&mutexes[place[me]]);
		is_placed[me] = 1;
		return;
	}
	for (long i = 0; i < nr_ops; i++) {
		next = (place[me] + 1) % NR;
		pthread_mutex_lock(&mutexes[next]);
		pthread_mutex_unlock(&mutexes[place[me]]);
		place[me] = next;
	}
}

int main(int argc, char **argv)
{
	long nr_ops = 1;

	crew_start(2, walk);
	crew_run(&nr_ops);
	bench_measure(argc, argv, "turns_mutex", crew_run);
	return 0;
}

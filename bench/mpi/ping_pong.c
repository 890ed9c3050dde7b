/* SPDX-License-Identifier: MIT */
/*
 * Two ranks with THREADS threads each. Thread i of rank 0 and thread i of rank
 * 1 send one byte to and fro for MILLISECONDS, and compute COMPUTE_US before
 * each message. Rank 0 prints the elapsed time per round trip of any thread,
 * and the CPU time of both ranks for it:
 *
 *     ping_pong THREADS MILLISECONDS COMPUTE_US
 */
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/clock.h"

enum { IMPOSSIBLE = 77 };

/* The byte of a message. */
enum { GO_ON = 1, LAST = 2 };

static int rank, nr_threads;
static uint64_t length_ns, end_ns;
/* Turns of the loop for the time to compute. */
static long turns;
static pthread_barrier_t begin;

struct work {
	pthread_t thread;
	int tag;
	long nr_rounds;
};

static void compute(long nr_turns)
{
	for (volatile long i = 0; i < nr_turns; i++)
		;
}

/* The turns that take so long on a CPU of its own. */
static long turns_for(long us)
{
	enum { TRIES = 20, TURNS = 100 * 1000 };
	uint64_t best_ns = UINT64_MAX;

	for (int i = 0; i < TRIES; i++) {
		uint64_t start_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID), ns;

		compute(TURNS);
		ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - start_ns;
		best_ns = ns < best_ns ? ns : best_ns;
	}
	return (long)((double)us * 1000 * TURNS / (double)best_ns);
}

static void send(const struct work *w, char byte)
{
	compute(turns);
	MPI_Send(&byte, 1, MPI_BYTE, 1 - rank, w->tag, MPI_COMM_WORLD);
}

static char receive(const struct work *w)
{
	char byte;

	MPI_Recv(&byte, 1, MPI_BYTE, 1 - rank, w->tag, MPI_COMM_WORLD,
		 MPI_STATUS_IGNORE);
	return byte;
}

/* Rank 0 chooses the last round. Returns whether there is another. */
static int play(struct work *w, int is_last)
{
	char byte = is_last ? LAST : GO_ON;

	if (rank == 0) {
		send(w, byte);
		receive(w);
	} else {
		byte = receive(w);
		send(w, byte);
	}
	w->nr_rounds++;
	return byte == GO_ON;
}

/* The first round makes connections and buffers, and does not count. */
static void *work(void *arg)
{
	struct work *w = arg;

	play(w, 0);
	pthread_barrier_wait(&begin);
	pthread_barrier_wait(&begin);
	w->nr_rounds = 0;
	while (play(w, clock_ns(CLOCK_MONOTONIC) >= end_ns))
		;
	return NULL;
}

static struct work *start(void)
{
	struct work *all = calloc((size_t)nr_threads, sizeof(*all));

	pthread_barrier_init(&begin, NULL, (unsigned int)nr_threads + 1);
	for (int i = 0; i < nr_threads; i++) {
		int error;

		all[i].tag = i;
		error = pthread_create(&all[i].thread, NULL, work, &all[i]);
		if (error != 0) {
			printf("impossible: pthread_create: %s\n",
			       strerror(error));
			fflush(stdout);
			MPI_Abort(MPI_COMM_WORLD, IMPOSSIBLE);
		}
	}
	return all;
}

static void report(long nr_rounds, uint64_t ns, uint64_t cpu_ns)
{
	double own = (double)cpu_ns, both = 0;

	MPI_Reduce(&own, &both, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
	if (rank == 0)
		printf("round_trip_us %.3f\ncpu_us %.3f\n",
		       (double)ns / 1e3 / (double)nr_rounds,
		       both / 1e3 / (double)nr_rounds);
}

static void measure(void)
{
	struct work *all = start();
	uint64_t start_ns, cpu_ns;
	long nr_rounds = 0;

	pthread_barrier_wait(&begin);
	MPI_Barrier(MPI_COMM_WORLD);
	start_ns = clock_ns(CLOCK_MONOTONIC);
	cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	end_ns = start_ns + length_ns;
	pthread_barrier_wait(&begin);
	for (int i = 0; i < nr_threads; i++) {
		pthread_join(all[i].thread, NULL);
		nr_rounds += all[i].nr_rounds;
	}
	report(nr_rounds, clock_ns(CLOCK_MONOTONIC) - start_ns,
	       clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns);
	free(all);
}

int main(int argc, char **argv)
{
	int level, size;

	if (argc != 4 || atoi(argv[1]) < 1 || atol(argv[2]) < 1) {
		fprintf(stderr, "usage: %s THREADS MILLISECONDS COMPUTE_US\n",
			argv[0]);
		return 2;
	}
	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (size != 2 || level != MPI_THREAD_MULTIPLE) {
		fprintf(stderr, "two ranks with MPI_THREAD_MULTIPLE needed\n");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	nr_threads = atoi(argv[1]);
	length_ns = (uint64_t)atol(argv[2]) * 1000000;
	turns = turns_for(atol(argv[3]));
	measure();
	MPI_Finalize();
	return 0;
}

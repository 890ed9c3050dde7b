/* SPDX-License-Identifier: MIT */
/*
 * Two ranks; each has THREADS threads. Thread i of rank 0 and thread i of rank
 * 1 send SIZE bytes to and fro, ROUNDS times, and check them. Rank 0 prints the
 * time of all in microseconds: then all messages have arrived.
 *
 *     network THREADS ROUNDS [stay]
 *
 * stay: the ranks wait for a signal in place of MPI_Finalize. Over a slow
 * network MPICH 4.0.2 with UCX may hang in MPI_Finalize, natively too: one rank
 * flushes its connection and needs the other, which is in the barrier of the
 * process manager.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SIZE = 1000 };

static int rank, rounds;

static void check(const unsigned char *bytes, int wanted)
{
	for (int i = 0; i < SIZE; i++) {
		if (bytes[i] != (unsigned char)(wanted + i)) {
			fprintf(stderr, "byte %d is wrong\n", i);
			MPI_Abort(MPI_COMM_WORLD, 1);
		}
	}
}

static void pass(unsigned char *bytes, int tag, int is_sender)
{
	if (is_sender)
		MPI_Send(bytes, SIZE, MPI_BYTE, 1 - rank, tag, MPI_COMM_WORLD);
	else
		MPI_Recv(bytes, SIZE, MPI_BYTE, 1 - rank, tag, MPI_COMM_WORLD,
			 MPI_STATUS_IGNORE);
}

static void *work(void *arg)
{
	int tag = *(const int *)arg;
	unsigned char bytes[SIZE];

	for (int i = 0; i < rounds; i++) {
		for (int j = 0; j < SIZE; j++)
			bytes[j] = rank == 0 ? (unsigned char)(tag + i + j) : 0;
		pass(bytes, tag, rank == 0);
		check(bytes, tag + i);
		pass(bytes, tag, rank == 1);
		check(bytes, tag + i);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int nr_threads = argc >= 3 ? atoi(argv[1]) : 0, level, size;
	pthread_t *threads = calloc((size_t)nr_threads + 1, sizeof(*threads));
	int *tags = calloc((size_t)nr_threads + 1, sizeof(*tags));
	double start;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (nr_threads < 1 || size != 2 || level != MPI_THREAD_MULTIPLE)
		MPI_Abort(MPI_COMM_WORLD, 2);
	rounds = atoi(argv[2]);
	MPI_Barrier(MPI_COMM_WORLD);
	start = MPI_Wtime();
	for (int i = 0; i < nr_threads; i++) {
		tags[i] = i;
		if (pthread_create(&threads[i], NULL, work, &tags[i]) != 0)
			MPI_Abort(MPI_COMM_WORLD, 3);
	}
	for (int i = 0; i < nr_threads; i++)
		pthread_join(threads[i], NULL);
	if (rank == 0)
		printf("%.0f\n", (MPI_Wtime() - start) * 1e6);
	fflush(stdout);
	if (argc == 4)
		pause();
	MPI_Finalize();
	free(threads);
	free(tags);
	return 0;
}

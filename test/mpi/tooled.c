/* SPDX-License-Identifier: MIT */
/*
 * Calls for the tool to count: in each rank 8 threads make 10 sends, 10
 * receives, 5 waits and 2 reductions each.
 */
#include <mpi.h>
#include <pthread.h>
#include <stddef.h>

enum { THREADS = 8, MESSAGES = 10, WAITS = 5, REDUCTIONS = 2 };

static MPI_Comm comms[THREADS];

static void *work(void *number)
{
	int tag = (int)(long)number, rank, value = 1, got;
	MPI_Comm comm = comms[tag];
	MPI_Request r;

	MPI_Comm_rank(comm, &rank);
	for (int i = 0; i < MESSAGES; i++) {
		if (rank == 0)
			MPI_Send(&value, 1, MPI_INT, 1, tag, comm);
		MPI_Recv(&got, 1, MPI_INT, 1 - rank, tag, comm,
			 MPI_STATUS_IGNORE);
		if (rank == 1)
			MPI_Send(&value, 1, MPI_INT, 0, tag, comm);
	}
	for (int i = 0; i < WAITS; i++) {
		MPI_Ibarrier(comm, &r);
		MPI_Wait(&r, MPI_STATUS_IGNORE);
	}
	for (int i = 0; i < REDUCTIONS; i++)
		MPI_Allreduce(&value, &got, 1, MPI_INT, MPI_SUM, comm);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	int level;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
	for (int i = 0; i < THREADS; i++)
		MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	MPI_Finalize();
	return 0;
}

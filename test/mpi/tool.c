/* SPDX-License-Identifier: MIT */
/*
 * A tool as profilers are: it counts the program's own calls by the names MPI_
 * and makes them by the names PMPI_. It is linked or preloaded.
 */
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>

static _Atomic int nr_sends, nr_receives, nr_waits, nr_isends, nr_tests,
	nr_reductions, nr_dups;

int MPI_Send(const void *buf, int count, MPI_Datatype type, int to, int tag,
	     MPI_Comm comm)
{
	nr_sends++;
	return PMPI_Send(buf, count, type, to, tag, comm);
}

int MPI_Recv(void *buf, int count, MPI_Datatype type, int from, int tag,
	     MPI_Comm comm, MPI_Status *status)
{
	nr_receives++;
	return PMPI_Recv(buf, count, type, from, tag, comm, status);
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
	nr_waits++;
	return PMPI_Wait(request, status);
}

/* The next three: weft makes such calls, and they are not the program's. */
int MPI_Isend(const void *buf, int count, MPI_Datatype type, int to, int tag,
	      MPI_Comm comm, MPI_Request *request)
{
	nr_isends++;
	return PMPI_Isend(buf, count, type, to, tag, comm, request);
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
	nr_tests++;
	return PMPI_Test(request, flag, status);
}

int MPI_Iallreduce(const void *in, void *out, int count, MPI_Datatype type,
		   MPI_Op op, MPI_Comm comm, MPI_Request *request)
{
	nr_reductions += 1000;
	return PMPI_Iallreduce(in, out, count, type, op, comm, request);
}

int MPI_Allreduce(const void *in, void *out, int count, MPI_Datatype type,
		  MPI_Op op, MPI_Comm comm)
{
	nr_reductions++;
	return PMPI_Allreduce(in, out, count, type, op, comm);
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *copy)
{
	nr_dups++;
	return PMPI_Comm_dup(comm, copy);
}

int MPI_Finalize(void)
{
	int rank;

	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (rank == 0)
		printf("sends %d receives %d waits %d isends %d tests %d "
		       "reductions %d dups %d\n",
		       nr_sends, nr_receives, nr_waits, nr_isends, nr_tests,
		       nr_reductions, nr_dups);
	return PMPI_Finalize();
}

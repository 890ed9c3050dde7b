/* SPDX-License-Identifier: MIT */
/*
 * The library does nothing in a program that does not get
 * MPI_THREAD_MULTIPLE: there, threads do not wait for MPI at the same time.
 *
 * All ranks have to run under the library (CALLS-2). A rank without it cannot
 * be asked. So in MPI_Init each rank with it sends an empty message to the next
 * rank, and expects one of the rank before. A rank that waits for too long
 * names the rank before and ends the job.
 *
 * Rejected: a non-blocking barrier. MPI_Comm_dup of a rank without the library
 * takes part in it, as Open MPI makes it of non-blocking calls.
 */
#include <sched.h>
#include <stddef.h>
#include <time.h>

#include "mpi/mpi.h"

enum {
	/* MPI_THREAD_MULTIPLE has this value in MPICH and Open MPI. */
	THREAD_MULTIPLE = 3,
	/* Ranks leave MPI's own MPI_Init within some ms of each other. A loaded
	 * machine may need seconds. */
	CHECK_S = 20,
	CHECK_SLEEP_NS = 100 * 1000,
	/* The largest tag that each MPI has to allow is 32767. */
	CHECK_TAG = 32701,
};

_Atomic bool wf_mpi_is_active;

static bool is_in_time(const struct timespec *start)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec - start->tv_sec <= CHECK_S;
}

/* Returns true if the request completes in time. */
static bool is_done(wf_mpi_word request, const struct timespec *start)
{
	const struct timespec pause = { .tv_nsec = CHECK_SLEEP_NS };
	int flag = 0;

	while (WF_MPI_DO("Test", (wf_mpi_word)&request, (wf_mpi_word)&flag,
			 wf_mpi_library()->status_ignore) == 0 &&
	       !flag && is_in_time(start))
		nanosleep(&pause, NULL);
	return flag != 0;
}

/* The library needs no message's content, and MPI_PACKED is a type for any. */
static wf_mpi_word begin(const char *name, int rank)
{
	wf_mpi_word world = wf_mpi_library()->comm_world, request = 0;

	wf_mpi_call(wf_mpi_library_find(name),
		    (const wf_mpi_word[WF_MPI_ARGS]){
			    0, 0, wf_mpi_library()->packed, rank, CHECK_TAG,
			    world, (wf_mpi_word)&request });
	return request;
}

static void check_ranks(void)
{
	wf_mpi_word world = wf_mpi_library()->comm_world, from, to;
	int rank = 0, nr = 1, before;
	struct timespec start;

	WF_MPI_DO("Comm_rank", world, (wf_mpi_word)&rank);
	WF_MPI_DO("Comm_size", world, (wf_mpi_word)&nr);
	if (nr == 1)
		return;
	before = (rank + nr - 1) % nr;
	clock_gettime(CLOCK_MONOTONIC, &start);
	from = begin("PMPI_Irecv", before);
	to = begin("PMPI_Isend", (rank + 1) % nr);
	if (is_done(from, &start) && is_done(to, &start))
		return;
	wf_mpi_say("--mpi: rank %d does not run with --mpi, so its calls would "
		   "not match; start all ranks with 'weft run --mpi'",
		   before);
	WF_MPI_DO("Abort", world, 1);
}

int wf_mpi_start(wf_mpi_fn init, const wf_mpi_word *args)
{
	int rc = wf_mpi_call(init, args), level = 0;

	if (rc != 0)
		return rc;
	if (WF_MPI_DO("Query_thread", (wf_mpi_word)&level) == 0 &&
	    level == THREAD_MULTIPLE) {
		check_ranks();
		wf_mpi_stats_begin();
		atomic_store_explicit(&wf_mpi_is_active, true,
				      memory_order_release);
	}
	return rc;
}

int wf_mpi_finish(wf_mpi_fn finalize, const wf_mpi_word *args)
{
	unsigned int nr = wf_mpi_poller_end();
	int rc;

	if (nr > 0)
		wf_mpi_say("--mpi: MPI_Finalize while %u thread%s in MPI "
			   "calls; these calls never return",
			   nr, nr == 1 ? " waits" : "s wait");
	rc = wf_mpi_bound_call(finalize, args);
	atomic_store_explicit(&wf_mpi_is_active, false, memory_order_release);
	wf_mpi_bound_end();
	return rc;
}

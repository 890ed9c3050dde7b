/* SPDX-License-Identifier: MIT */
/*
 * The library does nothing in a program that does not get
 * MPI_THREAD_MULTIPLE: there, threads do not wait for MPI at the same time.
 *
 * All ranks have to run under the library (CALLS-2). A rank without it cannot
 * be asked. So MPI_Init passes a non-blocking barrier, in which only ranks with
 * the library take part, and ends the job if the barrier takes too long.
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
	CHECK_SLEEP_NS = 1000 * 1000,
};

_Atomic bool wf_mpi_is_active;

static bool is_in_time(const struct timespec *start)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec - start->tv_sec <= CHECK_S;
}

/* Returns true when all ranks have reached the barrier. */
static bool have_all_come(wf_mpi_word request)
{
	const struct timespec pause = { .tv_nsec = CHECK_SLEEP_NS };
	struct timespec start;
	int has_come = 0;

	clock_gettime(CLOCK_MONOTONIC, &start);
	for (;;) {
		int rc = WF_MPI_DO("Test", (wf_mpi_word)&request,
				   (wf_mpi_word)&has_come,
				   wf_mpi_library()->status_ignore);

		if (rc != 0 || has_come)
			return rc == 0;
		if (!is_in_time(&start))
			return false;
		nanosleep(&pause, NULL);
	}
}

static void check_ranks(void)
{
	wf_mpi_word world = wf_mpi_library()->comm_world, request = 0;

	if (WF_MPI_DO("Ibarrier", world, (wf_mpi_word)&request) == 0 &&
	    have_all_come(request))
		return;
	wf_mpi_say("--mpi: not all ranks run with --mpi, so their calls "
		   "would not match; start each with 'weft run --mpi'");
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

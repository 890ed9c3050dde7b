/* SPDX-License-Identifier: MIT */
/*
 * Errors of requests. A call as MPI_Recv raises an error on its communicator,
 * which may have a handler of the program. Open MPI raises an error of a
 * request on the request's communicator. MPICH raises it on MPI_COMM_WORLD, and
 * the handler there usually ends the program. MPICH's functions raise errors by
 * a function that its library exports. This file replaces that function. Where
 * the call is known, the error is kept, and the thread raises it itself.
 *
 * For a request of the program's own, as in MPI_Wait, the error is raised as
 * MPICH does natively.
 */
#include <stddef.h>

#include "mpi/mpi.h"

/* The wait of which the thread makes the call, if it keeps errors. */
static __thread struct wf_mpi_wait *in_test;

int wf_mpi_errors_try(struct wf_mpi_wait *w)
{
	int rc;

	in_test = w->keeps_error ? w : NULL;
	rc = wf_mpi_call(w->test, w->args);
	in_test = NULL;
	return rc;
}

void wf_mpi_errors_raise(const struct wf_mpi_wait *w, wf_mpi_word comm)
{
	if (w->has_kept_error)
		WF_MPI_DO("Comm_call_errhandler", comm, w->rc);
}

/* MPICH's own: raises the error and returns the code for the caller. */
__attribute__((visibility("default"))) int
MPIR_Err_return_comm(void *comm, const char *function, int code);

int MPIR_Err_return_comm(void *comm, const char *function, int code)
{
	if (in_test == NULL)
		return wf_mpi_call(wf_mpi_library_find("MPIR_Err_return_comm"),
				   (const wf_mpi_word[WF_MPI_ARGS]){
					   (wf_mpi_word)comm,
					   (wf_mpi_word)function, code });
	in_test->has_kept_error = true;
	return code;
}

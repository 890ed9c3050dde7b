/* SPDX-License-Identifier: MIT */
/*
 * usage: ends CASE, with two ranks
 *
 * Errors, and ends of the job in which threads wait for messages.
 */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WAITING = 16, NEVER = 9999 };

static int rank;
static MPI_Comm comm;
static MPI_Request request;
static _Atomic int nr_begun, nr_handled;

static void check(int is_right, const char *what)
{
	if (is_right)
		return;
	printf("wrong: %s\n", what);
	fflush(stdout);
	_exit(3);
}
#define CHECK(condition) check(condition, #condition)

static int class_of(int code)
{
	int class = -1;

	MPI_Error_class(code, &class);
	return class;
}

static void send_long(int tag)
{
	int values[4] = { 0 };

	MPI_Send(values, 4, MPI_INT, 0, tag, comm);
}

/* Rank 1 waits for it before it sends, so that rank 0 waits, too. */
static void tell(void)
{
	MPI_Send(NULL, 0, MPI_INT, 1, 0, comm);
}

static void heed(void)
{
	MPI_Recv(NULL, 0, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE);
}

/* --- errors --- */

static void truncate_messages(void)
{
	MPI_Request r[2];
	MPI_Status s[2];
	int got[2], rc;

	MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	if (rank == 1) {
		for (int tag = 1; tag <= 4; tag++) {
			heed();
			send_long(tag);
		}
		return;
	}
	tell();
	CHECK(class_of(MPI_Recv(got, 1, MPI_INT, 1, 1, comm, s)) ==
	      MPI_ERR_TRUNCATE);
	tell();
	CHECK(class_of(MPI_Sendrecv(got, 0, MPI_INT, 0, 5, got, 1, MPI_INT, 1,
				    2, comm, s)) == MPI_ERR_TRUNCATE);
	MPI_Recv(got, 0, MPI_INT, 0, 5, comm, s);
	/* MPICH raises errors of requests there, natively, too. */
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	tell();
	MPI_Irecv(got, 1, MPI_INT, 1, 3, comm, r);
	CHECK(class_of(MPI_Wait(r, s)) == MPI_ERR_TRUNCATE);
	tell();
	MPI_Irecv(got, 1, MPI_INT, 1, 4, comm, &r[0]);
	r[1] = MPI_REQUEST_NULL;
	rc = MPI_Waitall(2, r, s);
	CHECK(class_of(rc) == MPI_ERR_IN_STATUS);
	CHECK(class_of(s[0].MPI_ERROR) == MPI_ERR_TRUNCATE);
	CHECK(class_of(MPI_Send(got, 1, MPI_INT, 7, 0, comm)) == MPI_ERR_RANK);
}

static void handle(MPI_Comm *of, int *code, ...)
{
	CHECK(*of == comm && class_of(*code) == MPI_ERR_TRUNCATE);
	nr_handled++;
}

static void call_handler(void)
{
	MPI_Errhandler handler;
	int got;

	if (rank == 1) {
		heed();
		send_long(1);
		return;
	}
	MPI_Comm_create_errhandler(handle, &handler);
	MPI_Comm_set_errhandler(comm, handler);
	tell();
	MPI_Recv(&got, 1, MPI_INT, 1, 1, comm, MPI_STATUS_IGNORE);
	CHECK(nr_handled == 1);
	MPI_Errhandler_free(&handler);
}

/* Rank 0 does not come back from MPI_Recv. */
static void end_by_error(void)
{
	int got;

	if (rank == 1) {
		heed();
		send_long(1);
		heed();
		return;
	}
	tell();
	MPI_Recv(&got, 1, MPI_INT, 1, 1, comm, MPI_STATUS_IGNORE);
	printf("wrong: came back\n");
	fflush(stdout);
}

/* --- threads that wait --- */

static void *wait_for_ever(void *unused)
{
	int got;

	(void)unused;
	atomic_fetch_add(&nr_begun, 1);
	MPI_Recv(&got, 1, MPI_INT, 1 - rank, NEVER, comm, MPI_STATUS_IGNORE);
	printf("wrong: received\n");
	return NULL;
}

static void begin_waiting(void)
{
	pthread_t t;

	for (int i = 0; i < WAITING; i++)
		pthread_create(&t, NULL, wait_for_ever, NULL);
	while (atomic_load(&nr_begun) < WAITING)
		usleep(1000);
	MPI_Barrier(comm);
}

static void abort_job(void)
{
	begin_waiting();
	if (rank == 0)
		MPI_Abort(MPI_COMM_WORLD, 5);
	MPI_Barrier(comm);
}

static void die(void)
{
	begin_waiting();
	if (rank == 0)
		kill(getpid(), SIGKILL);
	MPI_Barrier(comm);
}

static void *cancel_wait(void *unused)
{
	int is_cancelled = 0;
	MPI_Status s;

	(void)unused;
	atomic_fetch_add(&nr_begun, 1);
	MPI_Wait(&request, &s);
	MPI_Test_cancelled(&s, &is_cancelled);
	CHECK(is_cancelled);
	return NULL;
}

static void cancel(void)
{
	MPI_Request copy;
	pthread_t t;
	int got;

	MPI_Irecv(&got, 1, MPI_INT, 1 - rank, NEVER, comm, &request);
	copy = request;
	pthread_create(&t, NULL, cancel_wait, NULL);
	while (atomic_load(&nr_begun) < 1)
		usleep(1000);
	MPI_Barrier(comm);
	MPI_Cancel(&copy);
	pthread_join(t, NULL);
}

static void finalize(void)
{
	begin_waiting();
	MPI_Finalize();
	printf("finalized\n");
	fflush(stdout);
	_exit(0);
}

static void nothing(void)
{
}

static const struct {
	const char *name;
	void (*run)(void);
	int level;
} cases[] = {
	{ "truncate", truncate_messages, MPI_THREAD_MULTIPLE },
	{ "handler", call_handler, MPI_THREAD_MULTIPLE },
	{ "fatal", end_by_error, MPI_THREAD_MULTIPLE },
	{ "abort", abort_job, MPI_THREAD_MULTIPLE },
	{ "die", die, MPI_THREAD_MULTIPLE },
	{ "cancel", cancel, MPI_THREAD_MULTIPLE },
	{ "finalize", finalize, MPI_THREAD_MULTIPLE },
	{ "nothing", nothing, MPI_THREAD_MULTIPLE },
	{ "serialized", call_handler, MPI_THREAD_SERIALIZED },
};

int main(int argc, char **argv)
{
	size_t i = 0;
	int level;

	while (strcmp(cases[i].name, argv[1]) != 0)
		i++;
	MPI_Init_thread(&argc, &argv, cases[i].level, &level);
	CHECK(level == cases[i].level);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	cases[i].run();
	MPI_Comm_free(&comm);
	if (rank == 0)
		printf("ok %s\n", argv[1]);
	MPI_Finalize();
	return 0;
}

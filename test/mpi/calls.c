/* SPDX-License-Identifier: MIT */
/*
 * usage: calls CASE FILE OTHERS, with two ranks
 *
 * One thread of rank 0 is in the blocking call of the case. OTHERS others, at
 * most 63, exchange messages with rank 1 meanwhile. Rank 1 makes the matching
 * call when all of them are done. So the program does not end if the call holds
 * up other threads.
 * Prints "ok CASE" if the call's results are right.
 */
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Debian's MPICH 4.0 loses what MPI_Put writes, natively, too. */
#ifdef MPICH
enum { HAS_PUT = 0 };
#else
enum { HAS_PUT = 1 };
#endif

enum { MOST_OTHERS = 63, ROUNDS = 3, TAG = 1000, GO = 2000, VALUE = 4711 };

static int rank, nr_others;
static const char *path;
static MPI_Comm comm, control; /* of the case; of this file */
static MPI_Win window;
static int memory[2];
static MPI_File file;
static _Atomic int is_over, is_in;

static void check(int is_right, const char *what)
{
	if (is_right)
		return;
	printf("wrong: %s\n", what);
	fflush(stdout);
	MPI_Abort(MPI_COMM_WORLD, 1);
}
#define CHECK(condition) check(condition, #condition)

static void check_status(const MPI_Status *s, int tag)
{
	int nr = 0;

	MPI_Get_count(s, MPI_INT, &nr);
	CHECK(s->MPI_SOURCE == 1 - rank);
	CHECK(s->MPI_TAG == tag);
	CHECK(nr == 1);
}

/* --- cases: of rank 0, and of rank 1 --- */

static void receive(void)
{
	int got = 0;

	MPI_Recv(&got, 1, MPI_INT, 0, TAG, comm, MPI_STATUS_IGNORE);
	CHECK(got == VALUE);
}

static void send(void)
{
	int value = VALUE;

	MPI_Send(&value, 1, MPI_INT, 0, TAG, comm);
}

static void ssend(void)
{
	int value = VALUE;

	MPI_Ssend(&value, 1, MPI_INT, 1, TAG, comm);
}

static void recv(void)
{
	MPI_Status s;
	int got = 0;

	MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &s);
	check_status(&s, TAG);
	CHECK(got == VALUE);
}

static void sendrecv(void)
{
	int value = VALUE + rank, got = 0;
	MPI_Status s;

	MPI_Sendrecv(&value, 1, MPI_INT, 1 - rank, TAG + rank, &got, 1, MPI_INT,
		     1 - rank, TAG + 1 - rank, comm, &s);
	check_status(&s, TAG + 1 - rank);
	CHECK(got == VALUE + 1 - rank);
}

static void sendrecv_replace(void)
{
	int value = VALUE + rank;
	MPI_Status s;

	MPI_Sendrecv_replace(&value, 1, MPI_INT, 1 - rank, TAG + rank, 1 - rank,
			     TAG + 1 - rank, comm, &s);
	check_status(&s, TAG + 1 - rank);
	CHECK(value == VALUE + 1 - rank);
}

static void wait_one(void)
{
	MPI_Request r;
	MPI_Status s;
	int got = 0;

	MPI_Irecv(&got, 1, MPI_INT, 1, TAG, comm, &r);
	MPI_Wait(&r, &s);
	CHECK(r == MPI_REQUEST_NULL);
	check_status(&s, TAG);
	CHECK(got == VALUE);
}

static void persistent(void)
{
	MPI_Request r;
	int got = 0;

	MPI_Recv_init(&got, 1, MPI_INT, 1, TAG, comm, &r);
	MPI_Start(&r);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	CHECK(r != MPI_REQUEST_NULL);
	CHECK(got == VALUE);
	MPI_Request_free(&r);
}

static void two_receives(MPI_Request *r, int *got)
{
	MPI_Irecv(&got[0], 1, MPI_INT, 1, TAG + 1, comm, &r[0]);
	MPI_Irecv(&got[1], 1, MPI_INT, 1, TAG, comm, &r[1]);
}

static void wait_all(void)
{
	MPI_Request r[2];
	MPI_Status s[2];
	int got[2] = { 0 };

	two_receives(r, got);
	MPI_Waitall(2, r, s);
	check_status(&s[0], TAG + 1);
	check_status(&s[1], TAG);
	CHECK(got[0] == VALUE && got[1] == VALUE);
}

static void wait_any(void)
{
	int got[2] = { 0 }, index = -1;
	MPI_Request r[2];
	MPI_Status s;

	two_receives(r, got);
	MPI_Waitany(2, r, &index, &s);
	CHECK(index == 1 && got[1] == VALUE);
	check_status(&s, TAG);
	MPI_Waitany(2, r, &index, &s);
	CHECK(index == 0 && got[0] == VALUE);
	MPI_Waitany(2, r, &index, &s);
	CHECK(index == MPI_UNDEFINED);
}

static void wait_some(void)
{
	int got[2] = { 0 }, nr = 0, all = 0, index[2];
	MPI_Request r[2];

	two_receives(r, got);
	while (all < 2) {
		MPI_Waitsome(2, r, &nr, index, MPI_STATUSES_IGNORE);
		CHECK(nr == 1 || nr == 2);
		all += nr;
	}
	CHECK(got[0] == VALUE && got[1] == VALUE);
	MPI_Waitsome(2, r, &nr, index, MPI_STATUSES_IGNORE);
	CHECK(nr == MPI_UNDEFINED);
}

static void send_two(void)
{
	int value = VALUE;

	MPI_Ssend(&value, 1, MPI_INT, 0, TAG, comm);
	MPI_Ssend(&value, 1, MPI_INT, 0, TAG + 1, comm);
}

static void probe(void)
{
	MPI_Status s;

	MPI_Probe(1, MPI_ANY_TAG, comm, &s);
	check_status(&s, TAG);
	recv();
}

static void mprobe(void)
{
	MPI_Message m;
	MPI_Status s;
	int got = 0;

	MPI_Mprobe(MPI_ANY_SOURCE, TAG, comm, &m, &s);
	check_status(&s, TAG);
	MPI_Mrecv(&got, 1, MPI_INT, &m, &s);
	check_status(&s, TAG);
	CHECK(got == VALUE);
}

static void barrier(void)
{
	MPI_Barrier(comm);
}

static void allreduce(void)
{
	int value = rank + 1, sum = 0;

	MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm);
	CHECK(sum == 3);
	MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_MAX, comm);
	CHECK(value == 2);
}

static void collectives(void)
{
	int mine[2] = { rank, rank + 10 }, all[4], nr[2] = { 1, 1 };
	int at[2] = { 1, 0 }, value = rank * VALUE;

	MPI_Bcast(&value, 1, MPI_INT, 1, comm);
	CHECK(value == VALUE);
	MPI_Gather(mine, 2, MPI_INT, all, 2, MPI_INT, 0, comm);
	CHECK(rank == 1 || (all[1] == 10 && all[2] == 1 && all[3] == 11));
	MPI_Gatherv(mine, 1, MPI_INT, all, nr, at, MPI_INT, 0, comm);
	CHECK(rank == 1 || (all[0] == 1 && all[1] == 0));
	MPI_Scatter(mine, 1, MPI_INT, all, 1, MPI_INT, 1, comm);
	CHECK(all[0] == (rank == 0 ? 1 : 11));
	MPI_Scatterv(mine, nr, at, MPI_INT, all, 1, MPI_INT, 0, comm);
	CHECK(all[0] == (rank == 0 ? 10 : 0));
	MPI_Allgather(mine, 1, MPI_INT, all, 1, MPI_INT, comm);
	CHECK(all[0] == 0 && all[1] == 1);
	MPI_Allgatherv(mine, 1, MPI_INT, all, nr, at, MPI_INT, comm);
	CHECK(all[0] == 1 && all[1] == 0);
	MPI_Alltoall(mine, 1, MPI_INT, all, 1, MPI_INT, comm);
	CHECK(all[0] == (rank == 0 ? 0 : 10) && all[1] == (rank ? 11 : 1));
	MPI_Alltoallv(mine, nr, at, MPI_INT, all, nr, at, MPI_INT, comm);
	CHECK(all[1] == (rank == 0 ? 10 : 0));
	MPI_Reduce(&rank, &value, 1, MPI_INT, MPI_MAX, 0, comm);
	CHECK(rank == 1 || value == 1);
	MPI_Reduce_scatter(mine, &value, nr, MPI_INT, MPI_SUM, comm);
	CHECK(value == (rank == 0 ? 1 : 21));
	MPI_Reduce_scatter_block(mine, &value, 1, MPI_INT, MPI_SUM, comm);
	CHECK(value == (rank == 0 ? 1 : 21));
	MPI_Scan(mine + 1, &value, 1, MPI_INT, MPI_SUM, comm);
	CHECK(value == (rank == 0 ? 10 : 21));
	MPI_Exscan(mine + 1, &value, 1, MPI_INT, MPI_SUM, comm);
	CHECK(rank == 0 || value == 10);
}

static void comm_dup(void)
{
	MPI_Comm copy, half;
	int size = 0;

	MPI_Comm_dup(comm, &copy);
	MPI_Comm_size(copy, &size);
	CHECK(size == 2);
	MPI_Comm_split(copy, rank, 0, &half);
	MPI_Comm_size(half, &size);
	CHECK(size == 1);
	MPI_Comm_free(&half);
	MPI_Comm_free(&copy);
}

static void win_fence(void)
{
	int value = VALUE + rank;

	MPI_Win_fence(0, window);
	if (HAS_PUT)
		MPI_Put(&value, 1, MPI_INT, 1 - rank, 0, 1, MPI_INT, window);
	MPI_Win_fence(0, window);
	CHECK(memory[0] == VALUE + 1 - rank || !HAS_PUT);
}

/* Rank 1 tells by the group's epoch that it has written. */
static void win_wait(void)
{
	int value = VALUE, other = 1 - rank;
	MPI_Group all, group;

	MPI_Comm_group(comm, &all);
	MPI_Group_incl(all, 1, &other, &group);
	if (rank == 0) {
		MPI_Win_post(group, 0, window);
		MPI_Win_wait(window);
		CHECK(memory[0] == VALUE || !HAS_PUT);
	} else {
		MPI_Win_start(group, 0, window);
		if (HAS_PUT)
			MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
		MPI_Win_complete(window);
	}
	MPI_Group_free(&group);
	MPI_Group_free(&all);
}

static void win_lock(void)
{
	int value = VALUE, got = 0;

	MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
	if (HAS_PUT)
		MPI_Put(&value, 1, MPI_INT, 0, 1, 1, MPI_INT, window);
	MPI_Win_flush(0, window);
	if (HAS_PUT)
		MPI_Get(&got, 1, MPI_INT, 0, 1, 1, MPI_INT, window);
	MPI_Win_unlock(0, window);
	CHECK(got == VALUE || !HAS_PUT);
	MPI_Barrier(comm);
}

static void file_read(void)
{
	int value = VALUE + rank, got = 0;

	MPI_File_write_at_all(file, 4 * rank, &value, 1, MPI_INT,
			      MPI_STATUS_IGNORE);
	MPI_File_sync(file);
	MPI_File_read_at_all(file, 4 * rank, &got, 1, MPI_INT,
			     MPI_STATUS_IGNORE);
	CHECK(got == VALUE + rank);
}

static const struct {
	const char *name;
	void (*of_rank[2])(void);
} cases[] = {
	{ "ssend", { ssend, receive } },
	{ "recv", { recv, send } },
	{ "sendrecv", { sendrecv, sendrecv } },
	{ "sendrecv_replace", { sendrecv_replace, sendrecv_replace } },
	{ "wait", { wait_one, send } },
	{ "persistent", { persistent, send } },
	{ "waitall", { wait_all, send_two } },
	{ "waitany", { wait_any, send_two } },
	{ "waitsome", { wait_some, send_two } },
	{ "probe", { probe, send } },
	{ "mprobe", { mprobe, send } },
	{ "barrier", { barrier, barrier } },
	{ "allreduce", { allreduce, allreduce } },
	{ "collectives", { collectives, collectives } },
	{ "comm_dup", { comm_dup, comm_dup } },
	{ "win_fence", { win_fence, win_fence } },
	{ "win_wait", { win_wait, win_wait } },
	{ "win_lock", { win_lock, win_lock } },
	{ "file_read", { file_read, file_read } },
};

/* --- the threads --- */

static void *call(void *run)
{
	atomic_store(&is_in, 1);
	((void (*)(void))run)();
	atomic_store(&is_over, 1);
	return NULL;
}

static void *go_on(void *number)
{
	int tag = (int)(long)number, value;

	for (int i = 0; i < ROUNDS; i++) {
		value = tag + i;
		if (rank == 0)
			MPI_Send(&value, 1, MPI_INT, 1, tag, control);
		MPI_Recv(&value, 1, MPI_INT, 1 - rank, tag, control,
			 MPI_STATUS_IGNORE);
		CHECK(value == tag + i);
		if (rank == 1)
			MPI_Send(&value, 1, MPI_INT, 0, tag, control);
	}
	return NULL;
}

static void run(void (*of_rank)(void))
{
	pthread_t caller, others[MOST_OTHERS];
	int go = 0;

	if (rank == 0)
		pthread_create(&caller, NULL, call, (void *)of_rank);
	while (rank == 0 && !atomic_load(&is_in))
		sched_yield();
	for (long i = 0; i < nr_others; i++)
		pthread_create(&others[i], NULL, go_on, (void *)i);
	for (int i = 0; i < nr_others; i++)
		pthread_join(others[i], NULL);
	if (rank == 0) {
		CHECK(!atomic_load(&is_over));
		MPI_Send(&go, 1, MPI_INT, 1, GO, control);
		pthread_join(caller, NULL);
		return;
	}
	MPI_Recv(&go, 1, MPI_INT, 0, GO, control, MPI_STATUS_IGNORE);
	of_rank();
}

int main(int argc, char **argv)
{
	int level;
	size_t i = 0;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
	check(level == MPI_THREAD_MULTIPLE, "level");
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	path = argv[2];
	nr_others = atoi(argv[3]);
	while (strcmp(cases[i].name, argv[1]) != 0)
		i++;
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Comm_dup(MPI_COMM_WORLD, &control);
	MPI_Win_create(memory, sizeof(memory), sizeof(int), MPI_INFO_NULL, comm,
		       &window);
	MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR,
		      MPI_INFO_NULL, &file);
	run(cases[i].of_rank[rank]);
	MPI_File_close(&file);
	MPI_Win_free(&window);
	if (rank == 0)
		printf("ok %s\n", argv[1]);
	MPI_Finalize();
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * A farm of tasks. Each rank has THREADS workers, which ask rank 0 for a task,
 * do it, and send its result with the next question. A task is a walk through a
 * table that is spread over all ranks: each place depends on the
 * entry before. So a worker waits for messages most of its time, and the ranks
 * are busy because there are thousands of workers.
 *
 *     mpiexec -n 2 weft run --mpi farm THREADS TASKS [--check]
 *
 * Rank 0 has one more thread, the dealer, which hands out tasks. Each rank has
 * one more, the holder, which answers questions for the entries of this rank.
 * --check does all tasks once more on one thread and compares the results.
 */
#include "ranks.h"

enum {
	/* Entries of the table, and a walk's length. */
	ENTRIES = 100003,
	WALK = 8,
	/* Tags: questions to the dealer and to the holders, then one for the
	 * answers to each worker. */
	TO_DEALER = 0,
	TO_HOLDER = 1,
	TO_WORKER = 2,
};

/* A task or an entry that does not exist. */
#define NONE UINT64_MAX

/* A question of worker `worker`. To the dealer: the task that it has done, or
 * NONE, and its result. To a holder: the entry; NONE ends the holder. */
struct question {
	uint64_t worker, number, result;
};

enum { WORDS = sizeof(struct question) / sizeof(uint64_t) };

static struct ranks ranks;
static int nr_threads, nr_tasks;
/* Entry i is entries[i / ranks.nr] of rank i % ranks.nr. */
static uint64_t *entries;
/* By task, on rank 0. */
static uint64_t *results;

static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 31)) * UINT64_C(0x9e3779b97f4a7c15);
	return x ^ (x >> 29);
}

static uint64_t make_entry(uint64_t number)
{
	return mix(number + 1);
}

/* --- questions and answers ----------------------------------------------- */

static uint64_t ask(int rank, int tag, struct question q)
{
	uint64_t answer;

	MPI_Send(&q, WORDS, MPI_UINT64_T, rank, tag, MPI_COMM_WORLD);
	MPI_Recv(&answer, 1, MPI_UINT64_T, rank, TO_WORKER + (int)q.worker,
		 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	return answer;
}

static int hear(int tag, struct question *ret_q)
{
	MPI_Status status;

	MPI_Recv(ret_q, WORDS, MPI_UINT64_T, MPI_ANY_SOURCE, tag,
		 MPI_COMM_WORLD, &status);
	return status.MPI_SOURCE;
}

static void answer(int rank, const struct question *q, uint64_t number)
{
	MPI_Send(&number, 1, MPI_UINT64_T, rank, TO_WORKER + (int)q->worker,
		 MPI_COMM_WORLD);
}

/* Ends when it has refused each worker of each rank a task. */
static void *deal(void *unused)
{
	int nr_dealt = 0, nr_refused = 0;

	(void)unused;
	while (nr_refused < ranks.nr * nr_threads) {
		struct question q;
		int rank = hear(TO_DEALER, &q);

		if (q.number != NONE)
			results[q.number] = q.result;
		if (nr_dealt < nr_tasks) {
			answer(rank, &q, (uint64_t)nr_dealt++);
		} else {
			answer(rank, &q, NONE);
			nr_refused++;
		}
	}
	return NULL;
}

static void *keep(void *unused)
{
	struct question q;

	(void)unused;
	for (;;) {
		int rank = hear(TO_HOLDER, &q);

		if (q.number == NONE)
			return NULL;
		answer(rank, &q, entries[q.number / (uint64_t)ranks.nr]);
	}
}

/* --- a task -------------------------------------------------------------- */

static uint64_t look_up(uint64_t worker, uint64_t number)
{
	int owner = (int)(number % (uint64_t)ranks.nr);

	if (owner == ranks.own)
		return entries[number / (uint64_t)ranks.nr];
	return ask(owner, TO_HOLDER, (struct question){ worker, number, 0 });
}

static void *work(void *arg)
{
	struct question q = { (uint64_t)(intptr_t)arg, NONE, 0 };

	while ((q.number = ask(0, TO_DEALER, q)) != NONE) {
		q.result = mix(q.number);
		for (int i = 0; i < WALK; i++)
			q.result = mix(q.result ^
				       look_up(q.worker, q.result % ENTRIES));
	}
	return NULL;
}

/* The same task on one thread, without messages. */
static uint64_t work_alone(uint64_t task)
{
	uint64_t x = mix(task);

	for (int i = 0; i < WALK; i++)
		x = mix(x ^ make_entry(x % ENTRIES));
	return x;
}

/* --- the farm ------------------------------------------------------------ */

static void make_entries(void)
{
	entries = ranks_alloc(ENTRIES, sizeof(*entries));
	for (int i = ranks.own; i < ENTRIES; i += ranks.nr)
		entries[i / ranks.nr] = make_entry((uint64_t)i);
}

static void run(void)
{
	const struct question end = { 0, NONE, 0 };
	int nr_dealers = ranks.own == 0;
	pthread_t *holder = threads_start(1, keep);
	pthread_t *dealer = threads_start(nr_dealers, deal);

	threads_join(threads_start(nr_threads, work), nr_threads);
	threads_join(dealer, nr_dealers);
	/* No worker of any rank asks any more. */
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Send(&end, WORDS, MPI_UINT64_T, ranks.own, TO_HOLDER,
		 MPI_COMM_WORLD);
	threads_join(holder, 1);
}

static int check(void)
{
	int nr_wrong = 0;

	for (int i = 0; ranks.own == 0 && i < nr_tasks; i++)
		nr_wrong += results[i] != work_alone((uint64_t)i);
	if (ranks.own == 0 && nr_wrong == 0)
		printf("equal to one thread's\n");
	else if (ranks.own == 0)
		printf("%d tasks differ from one thread's\n", nr_wrong);
	return nr_wrong;
}

static void use_arguments(int argc, char **argv)
{
	nr_threads = argc >= 3 ? atoi(argv[1]) : 0;
	nr_tasks = argc >= 3 ? atoi(argv[2]) : 0;
	if (argc > 4 || nr_threads < 1 || nr_tasks < 1 ||
	    (argc == 4 && strcmp(argv[3], "--check") != 0))
		ranks_fail("usage", "farm THREADS TASKS [--check]");
	if (nr_threads > ranks.tag_max - TO_WORKER)
		ranks_fail("farm", "THREADS is too large for this MPI's tags");
}

int main(int argc, char **argv)
{
	int nr_wrong = 0;
	double start;

	ranks = ranks_init(&argc, &argv);
	use_arguments(argc, argv);
	make_entries();
	results = ranks_alloc((size_t)nr_tasks, sizeof(*results));
	MPI_Barrier(MPI_COMM_WORLD);
	start = MPI_Wtime();
	run();
	if (ranks.own == 0)
		printf("%d tasks on %d ranks of %d threads: %.3f s\n", nr_tasks,
		       ranks.nr, nr_threads, MPI_Wtime() - start);
	if (argc == 4)
		nr_wrong = check();
	free(entries);
	free(results);
	MPI_Finalize();
	return nr_wrong != 0;
}

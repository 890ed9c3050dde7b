/* SPDX-License-Identifier: MIT */
/*
 * The begin of both examples: MPI for many threads, and threads.
 *
 *     struct ranks ranks = ranks_init(&argc, &argv);
 *     pthread_t *threads = threads_start(nr, work);
 *
 *     threads_join(threads, nr);
 *
 * Failures end all ranks with a line that says why.
 */
#ifndef RANKS_H
#define RANKS_H

#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ranks {
	int own, nr;
	int tag_max;
};

static inline _Noreturn void ranks_fail(const char *problem, const char *why)
{
	fprintf(stderr, "%s: %s\n", problem, why);
	MPI_Abort(MPI_COMM_WORLD, 1);
	exit(1);
}

static inline struct ranks ranks_init(int *argc, char ***argv)
{
	struct ranks ranks;
	int level, *tag_max, has_max;

	MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &level);
	if (level != MPI_THREAD_MULTIPLE)
		ranks_fail("MPI_Init_thread",
			   "this MPI has no MPI_THREAD_MULTIPLE");
	MPI_Comm_rank(MPI_COMM_WORLD, &ranks.own);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks.nr);
	MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &tag_max, &has_max);
	/* Every MPI has these tags. */
	ranks.tag_max = has_max ? *tag_max : 32767;
	return ranks;
}

static inline void *ranks_alloc(size_t nr, size_t size)
{
	void *found = calloc(nr + 1, size);

	if (found == NULL)
		ranks_fail("calloc", "no memory");
	return found;
}

/* Calls work((void *)(intptr_t)number) on a thread for each number below nr. */
static inline pthread_t *threads_start(int nr, void *(*work)(void *))
{
	pthread_t *threads = ranks_alloc((size_t)nr, sizeof(*threads));

	for (int i = 0; i < nr; i++) {
		int error = pthread_create(&threads[i], NULL, work,
					   (void *)(intptr_t)i);

		if (error != 0)
			ranks_fail("pthread_create", strerror(error));
	}
	return threads;
}

static inline void threads_join(pthread_t *threads, int nr)
{
	for (int i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
	free(threads);
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Threads that loop over aio_write and aio_suspend, each on its own block.
 *
 *     bench_programs_aio FILE THREADS COUNT
 *
 * Prints "kops FIGURE": thousands of writes a second. Does not depend on weft.
 */
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../lib/clock.h"

enum { BYTES = 4096, MOST_THREADS = 256 };

struct writer {
	pthread_t thread;
	struct aiocb block;
	char bytes[BYTES];
};

static struct writer writers[MOST_THREADS];
static long count;

static void must(int is_right, const char *what)
{
	if (!is_right) {
		perror(what);
		exit(1);
	}
}

static void *write_often(void *arg)
{
	struct aiocb *block = arg;
	const struct aiocb *list[1] = { block };

	for (long i = 0; i < count; i++) {
		must(aio_write(block) == 0, "aio_write");
		while (aio_error(block) == EINPROGRESS)
			must(aio_suspend(list, 1, NULL) == 0, "aio_suspend");
		must(aio_return(block) == BYTES, "aio_return");
	}
	return NULL;
}

int main(int argc, char **argv)
{
	long nr = argc == 4 ? strtol(argv[2], NULL, 10) : 0;
	uint64_t start_ns;
	int fd;

	if (nr < 1 || nr > MOST_THREADS) {
		fprintf(stderr, "usage: %s FILE THREADS COUNT\n", argv[0]);
		return 2;
	}
	count = strtol(argv[3], NULL, 10);
	fd = open(argv[1], O_RDWR | O_CREAT, 0600);
	must(fd >= 0, argv[1]);
	start_ns = clock_ns(CLOCK_MONOTONIC);
	for (long i = 0; i < nr; i++) {
		struct writer *w = &writers[i];

		w->block.aio_fildes = fd;
		w->block.aio_buf = w->bytes;
		w->block.aio_nbytes = BYTES;
		w->block.aio_offset = i * BYTES;
		w->block.aio_sigevent.sigev_notify = SIGEV_NONE;
		must(pthread_create(&w->thread, NULL, write_often, &w->block) ==
			     0,
		     "pthread_create");
	}
	for (long i = 0; i < nr; i++)
		pthread_join(writers[i].thread, NULL);
	printf("kops %.3f\n",
	       (double)(nr * count) * 1e6 /
		       (double)(clock_ns(CLOCK_MONOTONIC) - start_ns));
	return 0;
}

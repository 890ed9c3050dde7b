/* SPDX-License-Identifier: MIT */
/*
 * Reads of a file:
 *
 *     bench_files_reads FILE cached read|pread COUNT
 *             blocks of 8 KiB one after another, all in the page cache: CPU
 *             time of the process for each, in ns
 *     bench_files_reads FILE random THREADS MS
 *             each thread reads blocks of 4 KiB at random past the page cache:
 *             thousands of reads per second
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../lib/clock.h"

enum { CACHED_BYTES = 8192, CACHED_BLOCKS = 512, RANDOM_BYTES = 4096 };

static int file;
static long count;
static bool is_placed; /* the thread reads at a position, by pread */

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void open_file(const char *path, int flags)
{
	file = open(path, O_RDONLY | flags);
	if (file < 0 && flags != 0) {
		printf("impossible: no O_DIRECT\n");
		exit(77);
	}
	if (file < 0)
		die(path);
}

static pthread_t start(void *(*run)(void *), void *arg)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, arg) != 0)
		die("pthread_create");
	return thread;
}

/* --- from the page cache -------------------------------------------------- */

static void read_blocks(long nr)
{
	static char block[CACHED_BYTES];

	for (long i = 0; i < nr; i++) {
		off_t at = i % CACHED_BLOCKS * CACHED_BYTES;
		ssize_t n;

		if (!is_placed && at == 0)
			lseek(file, 0, SEEK_SET);
		n = is_placed ? pread(file, block, CACHED_BYTES, at) :
				read(file, block, CACHED_BYTES);
		if (n != CACHED_BYTES)
			die("read");
	}
}

static void *read_cached(void *arg)
{
	uint64_t begin_ns;

	read_blocks(2 * CACHED_BLOCKS);
	begin_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	read_blocks(count);
	printf("ns %f\n",
	       (double)(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begin_ns) /
		       (double)count);
	return arg;
}

/* --- past it -------------------------------------------------------------- */

static uint64_t nr_blocks;
static _Atomic bool is_over;
static _Atomic long nr_read;

/* xorshift; the thread's number is the seed. */
static uint64_t next_of(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

static void *read_at_random(void *arg)
{
	uint64_t x = (uintptr_t)arg * 0x9e3779b97f4a7c15;
	void *block = NULL;
	long nr = 0;

	if (posix_memalign(&block, RANDOM_BYTES, RANDOM_BYTES) != 0)
		die("posix_memalign");
	for (; !is_over; nr++) {
		off_t at = (off_t)(next_of(&x) % nr_blocks) * RANDOM_BYTES;

		if (pread(file, block, RANDOM_BYTES, at) != RANDOM_BYTES)
			die("pread");
	}
	nr_read += nr;
	free(block);
	return NULL;
}

static void read_by_many(long nr_threads, long ms)
{
	pthread_t *threads = calloc((size_t)nr_threads, sizeof(*threads));
	struct timespec time = { ms / 1000, ms % 1000 * 1000000 };
	uint64_t begin_ns;
	struct stat st;

	if (threads == NULL || fstat(file, &st) < 0)
		die("fstat");
	nr_blocks = (uint64_t)st.st_size / RANDOM_BYTES;
	begin_ns = clock_ns(CLOCK_MONOTONIC);
	for (long i = 0; i < nr_threads; i++)
		threads[i] = start(read_at_random, (void *)(i + 1));
	nanosleep(&time, NULL);
	is_over = true;
	for (long i = 0; i < nr_threads; i++)
		pthread_join(threads[i], NULL);
	printf("kiops %f\n",
	       (double)nr_read * 1e6 /
		       (double)(clock_ns(CLOCK_MONOTONIC) - begin_ns));
	free(threads);
}

int main(int argc, char **argv)
{
	if (argc != 5)
		return 2;
	if (strcmp(argv[2], "random") == 0) {
		open_file(argv[1], O_DIRECT);
		read_by_many(atol(argv[3]), atol(argv[4]));
		return 0;
	}
	open_file(argv[1], 0);
	is_placed = strcmp(argv[3], "pread") == 0;
	count = atol(argv[4]);
	pthread_join(start(read_cached, NULL), NULL);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * The experiment's I/O: a file of some MiB is read or written in units, from
 * its beginning. The data is in the page cache before that, or is not.
 *
 *     struct experiment e = experiment_of(argv);
 *     while (e.done < e.total)
 *             e.done += io_unit(&e, buffer);
 */
#ifndef BENCH_PTL_N_IO_H
#define BENCH_PTL_N_IO_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EXPERIMENT_ARGS "FILE MIB UNIT_KIB read|write hit|miss spin|alone"
enum { NR_EXPERIMENT_ARGS = 6, IO_BLOCK = 4096 };

struct experiment {
	int fd;
	size_t total, unit;
	_Atomic size_t done;
	bool writes, spins;
};

static inline void die(const char *what)
{
	perror(what);
	exit(1);
}

static inline double us_of(clockid_t clock)
{
	struct timespec now;

	if (clock_gettime(clock, &now) < 0)
		die("clock");
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static inline void *new_buffer(size_t bytes)
{
	void *buffer = NULL;

	if (posix_memalign(&buffer, IO_BLOCK, bytes) != 0)
		die("buffer");
	memset(buffer, 'p', bytes);
	return buffer;
}

/* Moves one unit and returns its bytes; ends the program if that fails. */
static inline size_t io_unit(const struct experiment *e, void *buffer)
{
	ssize_t n = e->writes ? write(e->fd, buffer, e->unit) :
				read(e->fd, buffer, e->unit);

	if (n != (ssize_t)e->unit)
		die(e->writes ? "write" : "read");
	return (size_t)n;
}

/* Prepares the page cache. Without read-ahead each unit is a request. */
static inline void see_to_cache(struct experiment *e, bool is_hit)
{
	if (posix_fadvise(e->fd, 0, 0, POSIX_FADV_RANDOM) != 0)
		die("fadvise");
	if (is_hit && !e->writes) {
		void *buffer = new_buffer(e->unit);

		for (size_t done = 0; done < e->total;)
			done += io_unit(e, buffer);
		free(buffer);
		lseek(e->fd, 0, SEEK_SET);
		return;
	}
	fdatasync(e->fd);
	if (!is_hit && posix_fadvise(e->fd, 0, 0, POSIX_FADV_DONTNEED) != 0)
		die("fadvise");
}

/* A write misses the cache if it ends only when the disk has the data. */
static inline struct experiment experiment_of(char **args)
{
	bool is_hit = strcmp(args[4], "hit") == 0;
	struct experiment e = {
		.total = strtoul(args[1], NULL, 10) << 20,
		.unit = strtoul(args[2], NULL, 10) << 10,
		.writes = strcmp(args[3], "write") == 0,
		.spins = strcmp(args[5], "spin") == 0,
	};

	e.fd = open(args[0], O_RDWR | (e.writes && !is_hit ? O_DSYNC : 0));
	if (e.fd < 0)
		die(args[0]);
	if (e.unit == 0 || e.total % e.unit != 0) {
		fprintf(stderr, "the unit does not divide the file\n");
		exit(2);
	}
	see_to_cache(&e, is_hit);
	return e;
}

/* Prints the times. io_us is the CPU time without the spinning. */
static inline void print_result(double elapsed_us, double spin_us,
				double cpu_us)
{
	printf("elapsed_us %.6g\nspin_us %.6g\nio_us %.6g\n", elapsed_us,
	       spin_us, cpu_us - spin_us);
}

#endif

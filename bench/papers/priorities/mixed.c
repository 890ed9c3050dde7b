/* SPDX-License-Identifier: MIT */
/*
 * Requests of several kinds at once, beside a thread that computes: small reads
 * of which one thread waits for each, small reads under a mutex that another
 * thread wants, large reads, and large writes.
 *
 *     bench_mixed FILE MIB COPY MS
 *
 * The reads are of FILE, which has MIB MiB, at places in no order, and leave
 * nothing in the page cache. The writes go to COPY, and stay there. After MS
 * milliseconds it prints the time of a small read, median and 99th percentile,
 * and that of a turn with the mutex. It also prints the megabytes read and
 * written in each second, and the share of a CPU that the computing thread has
 * had.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

#include "../../micro/bench.h"

enum {
	SMALL = 4096,
	LARGE = 256 * 1024,
	MOST_SAMPLES = 100000,
	/*
	 * The holder's descriptor: traces recognise its requests by this
	 * number.
	 */
	HOLDERS_FD = 100,
};

struct reader {
	size_t unit;
	int fd;
	unsigned int seed;
	pthread_mutex_t *mutex; /* locked meanwhile, or NULL */
	long nr_done;
	double us[MOST_SAMPLES];
};

static const char *path, *copy_path;
static size_t total;
static _Atomic bool is_over;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct reader small = { .unit = SMALL, .seed = 1 };
static struct reader holder = { .unit = SMALL, .seed = 2, .mutex = &mutex };
static struct reader large = { .unit = LARGE, .seed = 3 };
static long nr_written, nr_turns;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static int opened(const char *name, int flags)
{
	int fd = open(name, flags, 0600);

	if (fd < 0)
		die(name);
	return fd;
}

static char *new_buffer(size_t bytes)
{
	char *buffer = calloc(1, bytes);

	if (buffer == NULL)
		die("buffer");
	return buffer;
}

static void read_unit(struct reader *r, char *buffer)
{
	size_t nr_units = total / r->unit;
	off_t at = (off_t)((size_t)rand_r(&r->seed) % nr_units * r->unit);
	uint64_t start = bench_now_ns();

	if (r->mutex != NULL)
		pthread_mutex_lock(r->mutex);
	if (pread(r->fd, buffer, r->unit, at) != (ssize_t)r->unit)
		die("pread");
	if (r->mutex != NULL)
		pthread_mutex_unlock(r->mutex);
	if (r->nr_done < MOST_SAMPLES)
		r->us[r->nr_done++] = (double)(bench_now_ns() - start) / 1e3;
	posix_fadvise(r->fd, at, (off_t)r->unit, POSIX_FADV_DONTNEED);
}

static void *read_units(void *arg)
{
	struct reader *r = arg;
	char *buffer = new_buffer(r->unit);

	while (!is_over)
		read_unit(r, buffer);
	free(buffer);
	return NULL;
}

static void *write_units(void *arg)
{
	int fd = opened(copy_path, O_WRONLY | O_CREAT);
	char *buffer = new_buffer(LARGE);

	for (size_t at = 0; !is_over; at = (at + LARGE) % total) {
		if (pwrite(fd, buffer, LARGE, (off_t)at) != LARGE)
			die("pwrite");
		nr_written++;
	}
	free(buffer);
	close(fd);
	return arg;
}

/* Takes the mutex again and again that the holder has while it reads. */
static void *take_turns(void *arg)
{
	while (!is_over) {
		pthread_mutex_lock(&mutex);
		nr_turns++;
		pthread_mutex_unlock(&mutex);
		usleep(100);
	}
	return arg;
}

static void *compute(void *arg)
{
	while (!is_over)
		;
	*(uint64_t *)arg = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	return NULL;
}

static void open_reader(struct reader *r, int fd)
{
	r->fd = fd;
	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
}

static void print_all(double seconds, uint64_t computed_ns)
{
	bench_print("small_us", bench_percentile(small.us, small.nr_done, 50));
	bench_print("small_p99_us",
		    bench_percentile(small.us, small.nr_done, 99));
	bench_print("turn_us", seconds * 1e6 / (double)nr_turns);
	bench_print("read_mb", (double)large.nr_done * LARGE / 1e6 / seconds);
	bench_print("write_mb", (double)nr_written * LARGE / 1e6 / seconds);
	bench_print("compute", (double)computed_ns / 1e9 / seconds);
}

int main(int argc, char **argv)
{
	void *(*const runs[])(void *) = { read_units,  read_units, read_units,
					  write_units, take_turns, compute };
	uint64_t computed_ns = 0, start;
	void *args[] = { &small, &holder, &large, NULL, NULL, &computed_ns };
	enum { NR = sizeof(args) / sizeof(args[0]) };
	pthread_t threads[NR];

	if (argc != 5) {
		fprintf(stderr, "usage: %s FILE MIB COPY MS\n", argv[0]);
		return 2;
	}
	path = argv[1];
	total = strtoul(argv[2], NULL, 10) << 20;
	copy_path = argv[3];
	open_reader(&small, opened(path, O_RDONLY));
	open_reader(&holder, dup2(small.fd, HOLDERS_FD));
	open_reader(&large, opened(path, O_RDONLY));
	posix_fadvise(small.fd, 0, 0, POSIX_FADV_DONTNEED);
	start = bench_now_ns();
	for (int i = 0; i < NR; i++)
		bench_create(&threads[i], runs[i], args[i]);
	usleep((useconds_t)atol(argv[4]) * 1000);
	is_over = true;
	for (int i = 0; i < NR; i++)
		bench_join(threads[i]);
	if (small.nr_done == 0 || nr_turns == 0) {
		printf("impossible: no small read ended\n");
		return 77;
	}
	print_all((double)(bench_now_ns() - start) / 1e9, computed_ns);
	return 0;
}

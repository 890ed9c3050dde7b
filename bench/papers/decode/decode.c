/* SPDX-License-Identifier: MIT */
/*
 * PTL-N's purpose: decoding while reading. A file of sound is read in units
 * and decoded, by one thread, or by one that reads and one that decodes with
 * two buffers between them.
 *
 *     bench_decode FILE MIB UNIT_KIB hit|miss PASSES plain|threads
 *
 * PASSES says how often each unit is decoded: how much a codec has to compute.
 * With 0 passes the file is only read. Prints the elapsed time, the CPU time of
 * the decoding, and the sum of all samples, which does not depend on the
 * threads.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>

#include "../ptl-n/io.h"
#include "adpcm.h"

enum { NR_BUFFERS = 2 };

static struct experiment e;
static long nr_passes;
static uint8_t *buffers[NR_BUFFERS];
static int16_t *samples;
static sem_t full, empty;
static struct adpcm state;
static int64_t sum;
static double decode_us;

static void decode(const uint8_t *unit)
{
	double start = us_of(CLOCK_THREAD_CPUTIME_ID);

	for (long pass = 0; pass < nr_passes; pass++)
		sum += adpcm_decode(&state, unit, e.unit, samples);
	decode_us += us_of(CLOCK_THREAD_CPUTIME_ID) - start;
}

static void in_one_thread(void)
{
	while (e.done < e.total) {
		e.done += io_unit(&e, buffers[0]);
		decode(buffers[0]);
	}
}

/* --- in two threads ------------------------------------------------------ */

static void wait_for(sem_t *sem)
{
	while (sem_wait(sem) != 0)
		;
}

static void *read_units(void *arg)
{
	for (size_t nr = 0; e.done < e.total; nr++) {
		wait_for(&empty);
		e.done += io_unit(&e, buffers[nr % NR_BUFFERS]);
		sem_post(&full);
	}
	return arg;
}

static void *decode_units(void *arg)
{
	for (size_t nr = 0; nr < e.total / e.unit; nr++) {
		wait_for(&full);
		decode(buffers[nr % NR_BUFFERS]);
		sem_post(&empty);
	}
	return arg;
}

static pthread_t start(void *(*run)(void *))
{
	pthread_t thread;

	errno = pthread_create(&thread, NULL, run, NULL);
	if (errno != 0)
		die("pthread_create");
	return thread;
}

static void in_two_threads(void)
{
	pthread_t reader, decoder;

	sem_init(&full, 0, 0);
	sem_init(&empty, 0, NR_BUFFERS);
	reader = start(read_units);
	decoder = start(decode_units);
	pthread_join(reader, NULL);
	pthread_join(decoder, NULL);
}

/* ------------------------------------------------------------------------- */

static struct experiment open_file(char **argv)
{
	char reading[] = "read", alone[] = "alone";
	char *args[NR_EXPERIMENT_ARGS] = { argv[1], argv[2], argv[3],
					   reading, argv[4], alone };

	return experiment_of(args);
}

int main(int argc, char **argv)
{
	bool is_plain;
	double began;

	if (argc != 7) {
		fprintf(stderr,
			"usage: %s FILE MIB UNIT_KIB hit|miss PASSES "
			"plain|threads\n",
			argv[0]);
		return 2;
	}
	e = open_file(argv);
	nr_passes = atol(argv[5]);
	is_plain = strcmp(argv[6], "plain") == 0;
	for (int i = 0; i < NR_BUFFERS; i++)
		buffers[i] = new_buffer(e.unit);
	samples = new_buffer(2 * e.unit * sizeof(*samples));
	began = us_of(CLOCK_MONOTONIC);
	if (is_plain)
		in_one_thread();
	else
		in_two_threads();
	printf("elapsed_us %.6g\ndecode_us %.6g\nsum %.17g\n",
	       us_of(CLOCK_MONOTONIC) - began, decode_us, (double)sum);
	return 0;
}

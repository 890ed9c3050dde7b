/* SPDX-License-Identifier: MIT */
/*
 * The experiment with threads: one reads or writes, another spins meanwhile.
 *
 *     bench_ptl_n_threads FILE MIB UNIT_KIB read|write hit|miss spin|alone
 */
#include <errno.h>
#include <pthread.h>

#include "io.h"

static struct experiment e;
static pthread_t spinner;
static _Atomic bool spins, is_over;
static double elapsed_us, spin_us, cpu_us;

static void *spin(void *arg)
{
	spins = true;
	while (!is_over)
		;
	return arg;
}

static double spinners_us(void)
{
	clockid_t clock;

	if (!e.spins)
		return 0;
	errno = pthread_getcpuclockid(spinner, &clock);
	if (errno != 0)
		die("the spinner's clock");
	return us_of(clock);
}

static void *do_io(void *arg)
{
	void *buffer = new_buffer(e.unit);
	double start;

	while (e.spins && !spins)
		usleep(1000);
	/* The spinners run by now. The measured time begins here. */
	start = us_of(CLOCK_MONOTONIC);
	cpu_us = us_of(CLOCK_PROCESS_CPUTIME_ID);
	spin_us = spinners_us();
	while (e.done < e.total)
		e.done += io_unit(&e, buffer);
	spin_us = spinners_us() - spin_us;
	cpu_us = us_of(CLOCK_PROCESS_CPUTIME_ID) - cpu_us;
	elapsed_us = us_of(CLOCK_MONOTONIC) - start;
	is_over = true;
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

int main(int argc, char **argv)
{
	if (argc != NR_EXPERIMENT_ARGS + 1) {
		fprintf(stderr, "usage: threads " EXPERIMENT_ARGS "\n");
		return 2;
	}
	e = experiment_of(argv + 1);
	if (e.spins)
		spinner = start(spin);
	pthread_join(start(do_io), NULL);
	if (e.spins)
		pthread_join(spinner, NULL);
	print_result(elapsed_us, spin_us, cpu_us);
	return 0;
}

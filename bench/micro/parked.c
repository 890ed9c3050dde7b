/* SPDX-License-Identifier: MIT */
/*
 * Threads that exist and wait: the cost of creating one, and its memory.
 *
 *     bench_parked [PERCENT [THREADS [STACK_KB]]]
 *
 * parked_create  ns from pthread_create until the thread waits
 * parked_wake    ns from the wake to the end of the join
 * parked_bytes   bytes that one more thread takes: resident memory and page
 *                tables. The kernel's other memory for a native thread, about
 *                24 KB, is not included.
 *
 * Natively a process has at most about 32,000 threads.
 */
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>

#include "bench.h"

static sem_t gate;
static _Atomic long nr_waiting;

static void *wait_at_gate(void *arg)
{
	atomic_fetch_add_explicit(&nr_waiting, 1, memory_order_relaxed);
	sem_wait(&gate);
	return arg;
}

int main(int argc, char **argv)
{
	long nr = argc > 2 ? atol(argv[2]) : bench_scale(argc, argv, 10000);
	long stack_kb = argc > 3 ? atol(argv[3]) : 64;
	pthread_t *threads = malloc((size_t)nr * sizeof(*threads));
	struct bench_memory before;
	pthread_attr_t attr;
	uint64_t start_ns;

	if (threads == NULL)
		return 1;
	memset(threads, 1, (size_t)nr * sizeof(*threads));
	sem_init(&gate, 0, 0);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, (size_t)stack_kb << 10);
	/*
	 * The first thread makes all one-time allocations, before the
	 * measurement.
	 */
	bench_create(&threads[0], wait_at_gate, NULL);
	while (nr_waiting < 1)
		sched_yield();
	sem_post(&gate);
	bench_join(threads[0]);
	nr_waiting = 0;

	before = bench_memory_now();
	start_ns = bench_now_ns();
	for (long i = 0; i < nr; i++) {
		if (pthread_create(&threads[i], &attr, wait_at_gate, NULL)) {
			fprintf(stderr, "only %ld threads\n", i);
			return 1;
		}
	}
	while (nr_waiting < nr)
		sched_yield();
	bench_report("parked_create", start_ns, nr);
	bench_report_memory("parked_bytes", before, nr);

	start_ns = bench_now_ns();
	for (long i = 0; i < nr; i++)
		sem_post(&gate);
	for (long i = 0; i < nr; i++)
		bench_join(threads[i]);
	bench_report("parked_wake", start_ns, nr);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/* OpenMP: libgomp waits by inline futex calls, and spins. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#define SIZE 200000

static double values[SIZE];

/* Many short parallel regions, so threads start and finish work often. */
static long many_regions(void)
{
	long total = 0;

	for (int round = 0; round < 500; round++) {
#pragma omp parallel for reduction(+ : total)
		for (int i = 0; i < 100; i++)
			total += i * round;
	}
	return total;
}

static double reduce(void)
{
	double sum = 0;

#pragma omp parallel for schedule(dynamic, 1000)
	for (int i = 0; i < SIZE; i++)
		values[i] = i % 1000;
#pragma omp parallel for reduction(+ : sum)
	for (int i = 0; i < SIZE; i++)
		sum += values[i];
	return sum;
}

static long fib(int n)
{
	long a, b;

	if (n < 2)
		return n;
#pragma omp task shared(a) if (n > 8)
	a = fib(n - 1);
#pragma omp task shared(b) if (n > 8)
	b = fib(n - 2);
#pragma omp taskwait
	return a + b;
}

static long tasks(void)
{
	long result = 0;

#pragma omp parallel
#pragma omp single
	result = fib(18);
	return result;
}

static long locks_and_barriers(void)
{
	long by_lock = 0;
	long by_section = 0;
	omp_lock_t lock;

	omp_init_lock(&lock);
#pragma omp parallel num_threads(8)
	{
		for (int i = 0; i < 100; i++) {
			omp_set_lock(&lock);
			by_lock++;
			omp_unset_lock(&lock);
#pragma omp critical
			by_section++;
			if (i % 20 == 0) {
#pragma omp barrier
			}
		}
	}
	omp_destroy_lock(&lock);
	return by_lock * by_section;
}

static long nested(void)
{
	long total = 0;

	omp_set_max_active_levels(2);
#pragma omp parallel num_threads(4) reduction(+ : total)
	{
		long inner = 0;

#pragma omp parallel num_threads(3) reduction(+ : inner)
		inner += omp_get_level();
		total += inner;
	}
	return total;
}

/*
 * Iterations in order, each run by the thread that drew it; a sum by atomics.
 */
static long in_order(void)
{
	long digits = 1;
	long sum = 0;

#pragma omp parallel for ordered schedule(dynamic, 1)
	for (int i = 0; i < 200; i++) {
#pragma omp atomic
		sum += i;
#pragma omp ordered
		digits = (digits * 31 + i) % 1000003;
	}
	return digits * 1000 + sum % 1000;
}

/* A chain of dependent tasks beside loops of tasks. */
static long dependent_tasks(void)
{
	long chain = 1;
	long loops = 0;

#pragma omp parallel
#pragma omp single
	{
		for (int i = 0; i < 100; i++) {
#pragma omp task depend(inout : chain) shared(chain)
			chain = (chain * 17 + i) % 1000003;
		}
#pragma omp taskloop reduction(+ : loops) grainsize(10)
		for (int i = 0; i < 1000; i++)
			loops += i;
	}
	return chain * 1000 + loops % 1000;
}

int main(int argc, char **argv)
{
	omp_set_num_threads(argc > 1 ? atoi(argv[1]) : 4);
	printf("regions %ld\n", many_regions());
	printf("reduce %.0f\n", reduce());
	printf("tasks %ld\n", tasks());
	printf("locks %ld\n", locks_and_barriers());
	printf("nested %ld\n", nested());
	printf("ordered %ld\n", in_order());
	printf("dependent %ld\n", dependent_tasks());
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * 200 threads that allocate, free, print and sort all the time. They put libc's
 * own locks and caches under as many switches as possible.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NR_BLOCKS 32
#define NR_SORTED 100

static atomic_long nr_bad;
static atomic_long nr_lines;
static FILE *sink;
static int nr_rounds = 3000;

static void expect(int holds)
{
	if (!holds)
		nr_bad++;
}

struct block {
	char *data;
	size_t size;
};

static void replace(struct block *block, char fill, size_t size)
{
	for (size_t i = 0; i < block->size; i += 97)
		expect(block->data[i] == fill);
	if (size % 3 == 0) {
		block->data = realloc(block->data, size);
	} else {
		free(block->data);
		block->data = malloc(size);
	}
	if (block->data == NULL)
		abort();
	block->size = size;
	memset(block->data, fill, size);
}

static void print(long me, int round)
{
	char text[100], expected[100];

	errno = (int)me;
	snprintf(text, sizeof(text), "%ld %d %.3f", me, round, 1.5);
	expect(errno == (int)me);
	strcpy(expected, text);
	fprintf(sink, "%s\n", text);
	expect(strcmp(text, expected) == 0);
	nr_lines++;
}

static int compare(const void *a, const void *b)
{
	int left = *(const int *)a;
	int right = *(const int *)b;

	return left < right ? -1 : left > right;
}

static void sort(unsigned int *random)
{
	int numbers[NR_SORTED];

	for (int i = 0; i < NR_SORTED; i++)
		numbers[i] = rand_r(random);
	qsort(numbers, NR_SORTED, sizeof(numbers[0]), compare);
	for (int i = 1; i < NR_SORTED; i++)
		expect(numbers[i - 1] <= numbers[i]);
}

static void *work(void *arg)
{
	struct block blocks[NR_BLOCKS] = { { NULL, 0 } };
	long me = (long)arg;
	unsigned int random = (unsigned int)me * 7919 + 1;
	volatile double x = (double)me;

	for (int round = 0; round < nr_rounds; round++) {
		int nr = rand_r(&random) % NR_BLOCKS;

		replace(&blocks[nr], (char)(me + nr),
			(size_t)rand_r(&random) % 5000 + 1);
		for (int i = 0; i < 100; i++)
			x = x * 1.0000001 + i;
		if (round % 20 == 0)
			print(me, round);
		if (round % 100 == 0)
			sort(&random);
	}
	for (int i = 0; i < NR_BLOCKS; i++)
		free(blocks[i].data);
	return NULL;
}

int main(int argc, char **argv)
{
	long nr_threads = argc > 1 ? atol(argv[1]) : 200;
	pthread_t *threads = calloc((size_t)nr_threads, sizeof(*threads));

	if (argc > 2)
		nr_rounds = atoi(argv[2]);
	sink = fopen("/dev/null", "w");
	setvbuf(sink, NULL, _IOLBF, 4096);
	for (long i = 0; i < nr_threads; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)i) != 0)
			return 2;
	for (long i = 0; i < nr_threads; i++)
		if (pthread_join(threads[i], NULL) != 0)
			return 2;
	fclose(sink);
	free(threads);
	printf("lines %ld bad %ld\n", nr_lines, nr_bad);
	return nr_bad != 0;
}

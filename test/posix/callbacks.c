/* SPDX-License-Identifier: MIT */
/*
 * Callbacks that libc runs, some with a lock held: they block, yield, and
 * compute for long.
 */
#include <ftw.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "child.h"
#include "threading.h"

static int fds[2];
static FILE *stream;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void compute(int nr)
{
	volatile double x = 1;

	for (int i = 0; i < nr; i++)
		x = x * 1.000001 + 1;
}

/*
 * Writes more than a pipe holds, so the thread blocks with the stream's lock.
 */
static void *hold_and_write(void *arg)
{
	char block[4096];

	memset(block, 'x', sizeof(block));
	flockfile(stream);
	for (int i = 0; i < 40; i++)
		CHECK_EQ(fwrite(block, 1, sizeof(block), stream),
			 sizeof(block));
	CHECK_EQ(fflush(stream), 0);
	funlockfile(stream);
	return arg;
}

static void *print_a_little(void *arg)
{
	for (int i = 0; i < 10; i++)
		CHECK_EQ(fprintf(stream, "%d", (int)(intptr_t)arg % 10), 1);
	return NULL;
}

static void *drain(void *arg)
{
	static char block[65536];
	ssize_t got;

	await_rest();
	while ((got = read(fds[0], block, sizeof(block))) > 0)
		*(long *)arg += got;
	return NULL;
}

TEST(stream_lock_across_a_full_pipe)
{
	pthread_t holder, printers[20], drainer;
	long total = 0;

	CHECK_EQ(pipe(fds), 0);
	stream = fdopen(fds[1], "w");
	CHECK(stream != NULL);
	holder = thread_start(hold_and_write, NULL);
	threads_start_numbered(printers, 20, print_a_little);
	drainer = thread_start(drain, &total);
	thread_join(holder);
	threads_join(printers, 20);
	CHECK_EQ(fclose(stream), 0);
	thread_join(drainer);
	CHECK_EQ(total, 40 * 4096 + 200);
}

/*
 * A stream's lock is recursive. Its owner is the thread, even if the thread
 * moves to another carrier in between.
 */
static _Atomic int nr_inside;

static void *lock_twice(void *arg)
{
	for (int i = 0; i < 20; i++) {
		flockfile(stream);
		flockfile(stream);
		CHECK_EQ(nr_inside++, 0);
		usleep(50);
		sched_yield();
		putc_unlocked('x', stream);
		nr_inside--;
		funlockfile(stream);
		funlockfile(stream);
		if (ftrylockfile(stream) == 0)
			funlockfile(stream);
	}
	return arg;
}

TEST(stream_lock_is_the_threads)
{
	pthread_t threads[20];

	stream = fopen("/dev/null", "w");
	CHECK(stream != NULL);
	threads_start(threads, 20, lock_twice, NULL);
	threads_join(threads, 20);
}

/* The write function of an fopencookie stream runs with the stream's lock. */
static ssize_t cookie_write(void *cookie, const char *data, size_t size)
{
	(void)data;
	compute(5000);
	usleep(20);
	CHECK_EQ(pthread_mutex_lock(&mutex), 0);
	*(long *)cookie += (long)size;
	sched_yield();
	CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
	return (ssize_t)size;
}

static void *print_lines(void *arg)
{
	for (int i = 0; i < 30; i++)
		CHECK_EQ(fprintf(stream, "%09d\n", i), 10);
	return arg;
}

TEST(cookie_stream)
{
	cookie_io_functions_t functions = { .write = cookie_write };
	pthread_t threads[30];
	long total = 0;

	stream = fopencookie(&total, "w", functions);
	CHECK(stream != NULL);
	CHECK_EQ(setvbuf(stream, NULL, _IOLBF, 256), 0);
	threads_start(threads, 30, print_lines, NULL);
	threads_join(threads, 30);
	CHECK_EQ(fclose(stream), 0);
	CHECK_EQ(total, 30 * 30 * 10);
}

static long nr_compared;

static int compare(const void *a, const void *b)
{
	int left = *(const int *)a;
	int right = *(const int *)b;

	CHECK_EQ(pthread_mutex_lock(&mutex), 0);
	nr_compared++;
	CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
	if ((left ^ right) % 16 == 0)
		sched_yield();
	return left < right ? -1 : left > right;
}

static void *sort(void *arg)
{
	unsigned int random = (unsigned int)(intptr_t)arg;
	int numbers[500];
	int key;

	for (int i = 0; i < 500; i++) {
		random = random * 1103515245 + 12345;
		numbers[i] = (int)(random >> 8);
	}
	qsort(numbers, 500, sizeof(numbers[0]), compare);
	for (int i = 1; i < 500; i++)
		CHECK(numbers[i - 1] <= numbers[i]);
	key = numbers[123];
	CHECK(bsearch(&key, numbers, 500, sizeof(key), compare) != NULL);
	return NULL;
}

TEST(sort_and_search)
{
	pthread_t threads[20];

	threads_start_numbered(threads, 20, sort);
	threads_join(threads, 20);
	CHECK(nr_compared > 20 * 500);
}

static int compare_strings(const void *a, const void *b)
{
	sched_yield();
	return strcmp(a, b);
}

static void *search_tree(void *arg)
{
	char words[50][16];
	void *root = NULL;

	for (int i = 0; i < 50; i++) {
		snprintf(words[i], sizeof(words[i]), "%d",
			 i * 7919 % 1000 + (int)(intptr_t)arg);
		CHECK(tsearch(words[i], &root, compare_strings) != NULL);
	}
	for (int i = 0; i < 50; i++)
		CHECK(tdelete(words[i], &root, compare_strings) != NULL);
	return NULL;
}

TEST(tree_comparison)
{
	pthread_t threads[20];

	threads_start_numbered(threads, 20, search_tree);
	threads_join(threads, 20);
}

static __thread int nr_visited;

static int visit(const char *path, const struct stat *st, int type)
{
	(void)path;
	(void)st;
	(void)type;
	if (++nr_visited % 8 == 0)
		usleep(20);
	return nr_visited == 100;
}

static void *walk(void *arg)
{
	nr_visited = 0;
	CHECK(ftw("/etc", visit, 5) >= 0);
	CHECK(nr_visited > 0 && nr_visited <= 100);
	return arg;
}

TEST(tree_walk)
{
	pthread_t threads[10];

	threads_start(threads, 10, walk, NULL);
	threads_join(threads, 10);
}

/* libc releases its lock around each exit handler, so a handler may yield. */
static void late(void)
{
	compute(100000);
	sched_yield();
	printf("l");
}

static void *register_more(void *arg)
{
	for (int i = 0; i < 10; i++)
		CHECK_EQ(atexit(late), 0);
	return arg;
}

static void leave(void)
{
	pthread_t threads[5];

	threads_start(threads, 5, register_more, NULL);
	threads_join(threads, 5);
	exit(0);
}

TEST(exit_handlers_from_threads)
{
	char text[100];

	CHECK_EQ(child_output(leave, text, sizeof(text)), 0);
	CHECK_EQ(strlen(text), 50);
}

/* SPDX-License-Identifier: MIT */
/* select with sets that are longer than libc's type. */
#include <sys/select.h>
#include <unistd.h>

#include "check.h"
#include "descriptors.h"
#include "threading.h"

static _Atomic int nr_begun;

enum { LONG_SET = 3000, FIRST_LONG = FD_SETSIZE + 100, NR_LONG = 40 };

struct long_set {
	fd_mask words[LONG_SET / NFDBITS + 1];
};

static void put_in(struct long_set *set, int fd)
{
	set->words[fd / NFDBITS] |= (fd_mask)(1UL << fd % NFDBITS);
}

static bool is_in(const struct long_set *set, int fd)
{
	return (set->words[fd / NFDBITS] & (fd_mask)(1UL << fd % NFDBITS)) != 0;
}

/* Returns a set with all descriptors of the case, from FIRST_LONG on. */
static struct long_set all_long(void)
{
	struct long_set set = { { 0 } };

	for (int i = 0; i < NR_LONG; i++)
		put_in(&set, FIRST_LONG + i);
	return set;
}

static int select_long(int nr, struct long_set *reads, struct long_set *writes,
		       struct timeval *timeout)
{
	return select(nr, (fd_set *)reads, (fd_set *)writes, NULL, timeout);
}

static int long_writers[NR_LONG];

static void make_long(void)
{
	need_descriptors(LONG_SET);
	for (int i = 0; i < NR_LONG; i++) {
		int ends[2];

		CHECK_EQ(pipe(ends), 0);
		CHECK_EQ(dup2(ends[0], FIRST_LONG + i), FIRST_LONG + i);
		CHECK_EQ(close(ends[0]), 0);
		long_writers[i] = ends[1];
	}
}

static void *write_to_long(void *number)
{
	await_rest();
	CHECK_EQ(write(long_writers[(intptr_t)number], "w", 1), 1);
	return NULL;
}

/* Selects few descriptors, or more than weft watches one by one. */
static void select_one_of(int nr, intptr_t number)
{
	struct long_set set = all_long();
	pthread_t writer = thread_start(write_to_long, (void *)number);
	char c;

	CHECK_EQ(select_long(FIRST_LONG + nr, &set, NULL, NULL), 1);
	for (int i = 0; i < nr; i++)
		CHECK_EQ(is_in(&set, FIRST_LONG + i), i == number);
	CHECK_EQ(read(FIRST_LONG + (int)number, &c, 1), 1);
	thread_join(writer);
}

TEST(select_beyond_libcs_type)
{
	struct timeval none = { 0, 0 }, some = { 0, 20000 };
	struct long_set reads, writes;

	make_long();
	select_one_of(3, 2);
	select_one_of(NR_LONG - 2, NR_LONG - 3);
	reads = all_long();
	CHECK_EQ(select_long(LONG_SET, &reads, NULL, &some), 0);
	for (int i = 0; i < NR_LONG; i++)
		CHECK(!is_in(&reads, FIRST_LONG + i));
	reads = writes = all_long();
	put_in(&writes, long_writers[0]);
	for (int i = 0; i < NR_LONG; i++)
		CHECK_EQ(write(long_writers[i], "w", 1), 1);
	CHECK_EQ(select_long(LONG_SET, &reads, &writes, NULL), NR_LONG + 1);
	CHECK(is_in(&reads, FIRST_LONG) && !is_in(&writes, FIRST_LONG));
	CHECK(is_in(&writes, long_writers[0]));
	CHECK_EQ(close(FIRST_LONG + 5), 0);
	reads = all_long();
	CHECK_ERRNO(select_long(LONG_SET, &reads, NULL, &none), EBADF);
	CHECK(is_in(&reads, FIRST_LONG + 5));
}

static void *select_for_ever(void *arg)
{
	struct long_set reads = all_long();

	nr_begun++;
	select_long(LONG_SET, &reads, NULL, NULL);
	return arg;
}

TEST(select_beyond_libcs_type_is_cancelled)
{
	pthread_t threads[20];

	make_long();
	threads_start(threads, 20, select_for_ever, NULL);
	await_count(&nr_begun, 20);
	await_rest();
	for (int i = 0; i < 20; i++) {
		CHECK_EQ(pthread_cancel(threads[i]), 0);
		CHECK(thread_join(threads[i]) == PTHREAD_CANCELED);
	}
}

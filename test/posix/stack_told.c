/* SPDX-License-Identifier: MIT */
/*
 * pthread_getattr_np returns the stack size and guard that were asked for. No
 * thread ends before the last one has begun, so that libc maps each stack anew:
 * natively a reused stack may be larger.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "threading.h"

/* libc rounds sizes down to the alignment of static TLS. */
enum { TLS_ALIGN = 64, KIB = 1024, MIB = 1024 * 1024 };

struct told {
	char *low;
	size_t bytes, guard_bytes;
	char *frame, *tcb; /* of the thread */
};

static pthread_barrier_t all_have_told;

static struct told told_of(pthread_t thread)
{
	struct told told;
	pthread_attr_t attr;
	size_t bytes;
	void *low;

	CHECK_EQ(pthread_getattr_np(thread, &attr), 0);
	CHECK_EQ(pthread_attr_getstack(&attr, &low, &told.bytes), 0);
	CHECK_EQ(pthread_attr_getstacksize(&attr, &bytes), 0);
	CHECK_EQ(bytes, told.bytes);
	CHECK_EQ(pthread_attr_getguardsize(&attr, &told.guard_bytes), 0);
	CHECK_EQ(pthread_attr_destroy(&attr), 0);
	told.low = low;
	return told;
}

static void *tell(void *arg)
{
	struct told *told = arg;

	*told = told_of(pthread_self());
	told->frame = __builtin_frame_address(0);
	told->tcb = (char *)pthread_self();
	pthread_barrier_wait(&all_have_told);
	return NULL;
}

static size_t rounded_guard(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (bytes + page - 1) / page * page;
}

static void check_told(const struct told *told, size_t bytes, size_t guard)
{
	CHECK_EQ(told->bytes, bytes / TLS_ALIGN * TLS_ALIGN);
	CHECK_EQ(told->guard_bytes, rounded_guard(guard));
	CHECK(told->frame >= told->low);
	CHECK(told->frame < told->low + told->bytes);
	/*
	 * Conservative garbage collectors search thread-local pointers there.
	 */
	CHECK(told->tcb >= told->low);
	CHECK(told->tcb < told->low + told->bytes);
}

static const size_t sizes[] = {
	16 * KIB,  20000,      20 * KIB, 64 * KIB,	 100000,
	128 * KIB, 200000,     300000,	 500001,	 1 * MIB,
	MIB + 1,   MIB + 4096, 5000000,	 12345678,	 33 * MIB,
	37000000,  65 * MIB,   99999999, 200 * MIB - 64, 200 * MIB,
};
static const size_t guards[] = { 0, 1, 4096, 8192, 64 * KIB };

enum {
	NR_SIZES = sizeof(sizes) / sizeof(*sizes),
	NR_GUARDS = sizeof(guards) / sizeof(*guards),
	NR_BOTH = NR_SIZES * NR_GUARDS,
};

static pthread_t start_with(size_t bytes, size_t guard, struct told *told)
{
	pthread_attr_t attr;
	pthread_t thread;

	CHECK_EQ(pthread_attr_init(&attr), 0);
	CHECK_EQ(pthread_attr_setstacksize(&attr, bytes), 0);
	CHECK_EQ(pthread_attr_setguardsize(&attr, guard), 0);
	CHECK_EQ(pthread_create(&thread, &attr, tell, told), 0);
	CHECK_EQ(pthread_attr_destroy(&attr), 0);
	return thread;
}

TEST(as_asked)
{
	static struct told told[NR_BOTH];
	pthread_t threads[NR_BOTH];

	CHECK_EQ(pthread_barrier_init(&all_have_told, NULL, NR_BOTH), 0);
	for (int i = 0; i < NR_BOTH; i++)
		threads[i] = start_with(sizes[i / NR_GUARDS],
					guards[i % NR_GUARDS], &told[i]);
	threads_join(threads, NR_BOTH);
	for (int i = 0; i < NR_BOTH; i++)
		check_told(&told[i], sizes[i / NR_GUARDS],
			   guards[i % NR_GUARDS]);
}

static void set_defaults(size_t bytes, size_t guard)
{
	pthread_attr_t attr;

	CHECK_EQ(pthread_attr_init(&attr), 0);
	CHECK_EQ(pthread_attr_setstacksize(&attr, bytes), 0);
	CHECK_EQ(pthread_attr_setguardsize(&attr, guard), 0);
	CHECK_EQ(pthread_setattr_default_np(&attr), 0);
	CHECK_EQ(pthread_attr_destroy(&attr), 0);
}

/*
 * The bounds are right without attributes, and with attributes without a size.
 */
TEST(as_by_default)
{
	enum { NR = 4 };
	const size_t defaults[NR] = { 8 * MIB, 1234567, 2 * MIB, 24 * KIB };
	struct told told[2 * NR];
	pthread_t threads[2 * NR];
	pthread_attr_t attr;

	CHECK_EQ(pthread_barrier_init(&all_have_told, NULL, 2 * NR), 0);
	for (int i = 0; i < NR; i++) {
		set_defaults(defaults[i], 12 * KIB);
		threads[i] = thread_start(tell, &told[i]);
		CHECK_EQ(pthread_attr_init(&attr), 0);
		CHECK_EQ(pthread_create(&threads[NR + i], &attr, tell,
					&told[NR + i]),
			 0);
	}
	threads_join(threads, 2 * NR);
	for (int i = 0; i < NR; i++) {
		check_told(&told[i], defaults[i], 12 * KIB);
		check_told(&told[NR + i], defaults[i], 1);
	}
}

/*
 * The program's stacks begin at odd addresses; all of each counts, without a
 * guard.
 */
TEST(own_stacks)
{
	enum { NR = 3 };
	char *memory = mmap(NULL, NR * MIB, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct told told[NR];
	pthread_t threads[NR];
	pthread_attr_t attr;

	CHECK(memory != MAP_FAILED);
	CHECK_EQ(pthread_barrier_init(&all_have_told, NULL, NR), 0);
	for (int i = 0; i < NR; i++) {
		CHECK_EQ(pthread_attr_init(&attr), 0);
		CHECK_EQ(pthread_attr_setstack(&attr, memory + i * (MIB + 1000),
					       100000 + (size_t)i * 777),
			 0);
		CHECK_EQ(pthread_create(&threads[i], &attr, tell, &told[i]), 0);
	}
	threads_join(threads, NR);
	for (int i = 0; i < NR; i++) {
		CHECK(told[i].low == memory + i * (MIB + 1000));
		CHECK_EQ(told[i].bytes, 100000 + i * 777);
		CHECK_EQ(told[i].guard_bytes, 0);
		CHECK(told[i].frame >= told[i].low);
		CHECK(told[i].frame < told[i].low + told[i].bytes);
	}
}

/*
 * A thread runs on the stack that another thread of nearly its size has left.
 */
TEST(in_a_row)
{
	const size_t asked[] = { 100000, 99000, 101000, 100000 };

	CHECK_EQ(pthread_barrier_init(&all_have_told, NULL, 1), 0);
	for (int i = 0; i < 40; i++) {
		struct told told;

		thread_join(start_with(asked[i % 4], 4096, &told));
		CHECK(told.bytes >= asked[i % 4] / TLS_ALIGN * TLS_ALIGN);
		CHECK(told.frame >= told.low);
		CHECK(told.frame < told.low + told.bytes);
	}
}

/* SPDX-License-Identifier: MIT */
/*
 * Memory of threads: stacks from the program, guards, locked memory, a limited
 * address space. Also the memory that many ended threads leave, and that of
 * waiting threads.
 */
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "child.h"
#include "threading.h"
#include "usage.h"

#define KIB 1024
#define MIB (1024 * KIB)

static pthread_attr_t attr;

static pthread_t start_with(void *(*f)(void *), void *arg)
{
	pthread_t t;

	CHECK_EQ(pthread_create(&t, &attr, f, arg), 0);
	return t;
}

/* --- stacks of the program's own ---------------------------------------- */

enum { MARGIN = 4096, PATTERN = 0x5a };

/* A stack of the smallest size between two margins that must stay unchanged. */
struct small_stack {
	char *block;
	size_t bytes;
	char *seen;
};

static void make_small(struct small_stack *s)
{
	s->bytes = (size_t)sysconf(_SC_THREAD_STACK_MIN);
	CHECK_EQ(posix_memalign((void **)&s->block, 64, s->bytes + 2 * MARGIN),
		 0);
	memset(s->block, PATTERN, s->bytes + 2 * MARGIN);
}

static void check_margins(const struct small_stack *s)
{
	const char *behind = s->block + MARGIN + s->bytes;

	for (int i = 0; i < MARGIN; i++) {
		CHECK_EQ(s->block[i], PATTERN);
		CHECK_EQ(behind[i], PATTERN);
	}
}

static __thread int own_value;

static void *work_a_little(void *arg)
{
	struct small_stack *s = arg;
	volatile char area[4096];

	s->seen = (char *)area;
	CHECK_EQ(own_value, 0);
	own_value = 7;
	memset((char *)area, 1, sizeof(area));
	sched_yield();
	CHECK_EQ(area[sizeof(area) - 1], 1);
	CHECK_EQ(own_value, 7);
	return arg;
}

static pthread_t start_small(struct small_stack *s, void *(*f)(void *))
{
	CHECK_EQ(pthread_attr_init(&attr), 0);
	CHECK_EQ(pthread_attr_setstack(&attr, s->block + MARGIN, s->bytes), 0);
	return start_with(f, s);
}

TEST(smallest_own_stacks)
{
	static struct small_stack stacks[100];
	pthread_t threads[100];

	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 100; i++) {
			make_small(&stacks[i]);
			threads[i] = start_small(&stacks[i], work_a_little);
		}
		for (int i = 0; i < 100; i++) {
			struct small_stack *s = &stacks[i];
			char *low = s->block + MARGIN;

			CHECK(thread_join(threads[i]) == s);
			CHECK(s->seen >= low && s->seen < low + s->bytes);
			check_margins(s);
			/*
			 * After the join the program may write to the stack
			 * again.
			 */
			memset(s->block, 0xee, s->bytes + 2 * MARGIN);
			free(s->block);
		}
	}
}

static void *wait_for_cancel(void *arg)
{
	pause();
	return arg;
}

TEST(cancelled_on_own_stack)
{
	struct small_stack s;
	pthread_t t;

	make_small(&s);
	for (int i = 0; i < 20; i++) {
		t = start_small(&s, wait_for_cancel);
		CHECK_EQ(pthread_cancel(t), 0);
		CHECK(thread_join(t) == PTHREAD_CANCELED);
	}
	check_margins(&s);
	free(s.block);
}

/* Threads with their own stacks alternate with other threads. */
TEST(own_stack_or_not)
{
	struct small_stack s;

	make_small(&s);
	for (int i = 0; i < 100; i++) {
		thread_join(start_small(&s, work_a_little));
		thread_join(thread_start(work_a_little, &s));
	}
	check_margins(&s);
	free(s.block);
}

TEST(own_stack_too_small)
{
	static char stack[4096];

	CHECK_EQ(pthread_attr_init(&attr), 0);
	CHECK_EQ(pthread_attr_setstack(&attr, stack, sizeof(stack)), EINVAL);
}

/* --- guards ------------------------------------------------------------- */

static size_t distance;

/*
 * Writes where a frame that is large enough to skip the guard would lie. There
 * may be two pages more than the attribute asks for.
 */
static void *reach_below(void *arg)
{
	pthread_attr_t own;
	size_t bytes;
	void *low;

	CHECK_EQ(pthread_getattr_np(pthread_self(), &own), 0);
	CHECK_EQ(pthread_attr_getstack(&own, &low, &bytes), 0);
	*((volatile char *)low - distance) = 1;
	return arg;
}

static void fault_in_guard(void)
{
	CHECK_EQ(pthread_attr_init(&attr), 0);
	CHECK_EQ(pthread_attr_setstacksize(&attr, 256 * KIB), 0);
	CHECK_EQ(pthread_attr_setguardsize(&attr, 128 * KIB), 0);
	thread_join(start_with(reach_below, NULL));
}

TEST(whole_guard_faults)
{
	static const size_t distances[] = { 8 * KIB + 1, 13000, 70 * KIB,
					    128 * KIB };

	for (int i = 0; i < 4; i++) {
		distance = distances[i];
		CHECK_EQ(child_signal(fault_in_guard), SIGSEGV);
	}
}

TEST(guard_of_odd_size)
{
	size_t bytes;

	CHECK_EQ(pthread_attr_init(&attr), 0);
	CHECK_EQ(pthread_attr_setguardsize(&attr, 5000), 0);
	CHECK_EQ(pthread_attr_getguardsize(&attr, &bytes), 0);
	CHECK_EQ(bytes, 5000);
	thread_join(start_with(work_a_little, &(struct small_stack){ 0 }));
}

/* --- stacks of waiting threads -------------------------------------------- */

enum { NR_WAITING = 100, NR_ROUNDS = 12 };

/* Reads like a server's thread, with a buffer in its frame. */
static void *answer(void *arg)
{
	int fd = *(int *)arg;
	char bytes[KIB];
	ssize_t n;

	while ((n = read(fd, bytes, sizeof(bytes))) > 0)
		CHECK_EQ(write(fd, bytes, (size_t)n), n);
	CHECK_EQ(n, 0);
	return NULL;
}

static size_t pages_of_stack(pthread_t t)
{
	size_t bytes, page = (size_t)sysconf(_SC_PAGESIZE), nr = 0;
	unsigned char is_there[64];
	pthread_attr_t own;
	void *low;

	CHECK_EQ(pthread_getattr_np(t, &own), 0);
	CHECK_EQ(pthread_attr_getstack(&own, &low, &bytes), 0);
	CHECK_EQ(pthread_attr_destroy(&own), 0);
	CHECK(bytes <= sizeof(is_there) * page);
	CHECK_EQ(mincore(low, bytes, is_there), 0);
	for (size_t i = 0; i < (bytes + page - 1) / page; i++)
		nr += is_there[i] & 1;
	return nr;
}

/*
 * Each thread touches one page for its frames and one for libc's data. Few are
 * preempted; these touch one more for the signal's frame.
 */
TEST(little_of_a_stack_is_touched)
{
	int pairs[NR_WAITING][2];
	pthread_t threads[NR_WAITING];
	int nr_larger = 0;
	char byte = 'x';

	CHECK_EQ(pthread_attr_init(&attr), 0);
	CHECK_EQ(pthread_attr_setstacksize(&attr, 64 * KIB), 0);
	for (int i = 0; i < NR_WAITING; i++) {
		CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[i]), 0);
		threads[i] = start_with(answer, &pairs[i][1]);
	}
	for (int round = 0; round < NR_ROUNDS; round++) {
		for (int i = 0; i < NR_WAITING; i++)
			CHECK_EQ(write(pairs[i][0], &byte, 1), 1);
		for (int i = 0; i < NR_WAITING; i++)
			CHECK_EQ(read(pairs[i][0], &byte, 1), 1);
	}
	for (int i = 0; i < NR_WAITING; i++)
		nr_larger += pages_of_stack(threads[i]) > 2;
	CHECK(nr_larger <= NR_WAITING / 4);
	for (int i = 0; i < NR_WAITING; i++) {
		close(pairs[i][0]);
		thread_join(threads[i]);
		close(pairs[i][1]);
	}
}

/* --- sizes -------------------------------------------------------------- */

TEST(more_than_there_can_be)
{
	pthread_t t;

	CHECK_EQ(pthread_attr_init(&attr), 0);
	for (int shift = 47; shift <= 60; shift += 13) {
		CHECK_EQ(pthread_attr_setstacksize(&attr, (size_t)1 << shift),
			 0);
		CHECK_EQ(pthread_create(&t, &attr, work_a_little, NULL),
			 EAGAIN);
	}
	CHECK_EQ(pthread_attr_setstacksize(&attr, MIB), 0);
	thread_join(start_with(work_a_little, &(struct small_stack){ 0 }));
}

/* A refused creation leaves no memory in use. */
TEST(refused_again_and_again)
{
	long before;
	pthread_t t;

	CHECK_EQ(pthread_attr_init(&attr), 0);
	CHECK_EQ(pthread_attr_setstacksize(&attr, (size_t)1 << 47), 0);
	CHECK_EQ(pthread_create(&t, &attr, work_a_little, NULL), EAGAIN);
	before = usage_now().resident_kib;
	for (int i = 0; i < 50000; i++)
		CHECK_EQ(pthread_create(&t, &attr, work_a_little, NULL),
			 EAGAIN);
	CHECK(usage_now().resident_kib < before + 4 * KIB);
}

/* --- locked memory ------------------------------------------------------ */

static void lock_all(int flags)
{
	struct rlimit limit;

	CHECK_EQ(getrlimit(RLIMIT_MEMLOCK, &limit), 0);
	if (mlockall(flags) != 0 ||
	    (geteuid() != 0 && limit.rlim_cur != RLIM_INFINITY))
		SKIP("memory cannot be locked");
	CHECK_EQ(pthread_attr_init(&attr), 0);
	CHECK_EQ(pthread_attr_setstacksize(&attr, 128 * KIB), 0);
}

static void run_some(int nr)
{
	static struct small_stack seen[200];
	pthread_t threads[200];

	for (int i = 0; i < nr; i++)
		threads[i] = start_with(work_a_little, &seen[i]);
	threads_join(threads, nr);
}

TEST(locked_before_the_first_thread)
{
	lock_all(MCL_CURRENT | MCL_FUTURE);
	run_some(200);
	/* 26 MB of stacks, and not everything that was set aside. */
	CHECK(usage_now().resident_kib < 200 * KIB);
}

TEST(locked_with_threads)
{
	CHECK_EQ(pthread_attr_init(&attr), 0);
	run_some(100);
	lock_all(MCL_CURRENT);
	run_some(200);
	CHECK(usage_now().resident_kib < 1200 * KIB);
}

static void fault_when_locked(void)
{
	lock_all(MCL_CURRENT | MCL_FUTURE);
	distance = 13000;
	CHECK_EQ(pthread_attr_init(&attr), 0);
	CHECK_EQ(pthread_attr_setguardsize(&attr, 128 * KIB), 0);
	thread_join(start_with(reach_below, NULL));
}

TEST(guard_in_locked_memory)
{
	lock_all(MCL_CURRENT);
	CHECK_EQ(munlockall(), 0);
	CHECK_EQ(child_signal(fault_when_locked), SIGSEGV);
}

/* --- a limited address space -------------------------------------------- */

static pthread_barrier_t all_are_there;

static void *meet(void *arg)
{
	work_a_little(arg);
	pthread_barrier_wait(&all_are_there);
	return arg;
}

/* Creates threads until one is refused; at least 20 must fit. */
TEST(until_refused)
{
	static struct small_stack seen[4096];
	static pthread_t threads[4096];
	int nr, err = 0;

	if (getenv("LIMITED") == NULL)
		SKIP("to be run by the cases below");
	CHECK_EQ(pthread_attr_init(&attr), 0);
	CHECK_EQ(pthread_attr_setstacksize(&attr, 2 * MIB), 0);
	for (int round = 0; round < 2; round++) {
		CHECK_EQ(pthread_barrier_init(&all_are_there, NULL, 20), 0);
		for (nr = 0; nr < 19; nr++)
			threads[nr] = start_with(meet, &seen[nr]);
		pthread_barrier_wait(&all_are_there);
		threads_join(threads, nr);
	}
	/* These threads wait until all exist, which is never. */
	CHECK_EQ(pthread_barrier_init(&all_are_there, NULL, 5000), 0);
	for (nr = 0; nr < 4096 && err == 0; nr++)
		err = pthread_create(&threads[nr], &attr, meet, &seen[nr]);
	CHECK_EQ(err, EAGAIN);
	CHECK(nr > 20);
	_exit(42);
}

static rlim_t limit_bytes;

static void run_limited(void)
{
	struct rlimit limit = { limit_bytes, limit_bytes };
	char self[4096] = { 0 };

	CHECK(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
	/* setenv needs memory, which the limit has to leave. */
	CHECK_EQ(setenv("LIMITED", "1", 1), 0);
	execl(self, self, "until_refused", NULL);
}

TEST(limited_address_space)
{
	static const rlim_t limits[] = { 256, 512, 1024, 4096 };

	for (int i = 0; i < 4; i++) {
		limit_bytes = limits[i] * MIB;
		CHECK_EQ(child_exit_status(run_limited), 42);
	}
}

/* --- memory after many threads -------------------------------------------- */

enum { NR_CROWD = 10000, NR_BLOCKS = 20 };

static void *use_memory(void *arg)
{
	volatile char area[16 * KIB];
	void *blocks[NR_BLOCKS];

	memset((char *)area, 1, sizeof(area));
	for (size_t i = 0; i < NR_BLOCKS; i++) {
		blocks[i] = malloc(100 + 40 * i);
		CHECK(blocks[i] != NULL);
	}
	pthread_barrier_wait(&all_are_there);
	for (size_t i = 0; i < NR_BLOCKS; i++)
		free(blocks[i]);
	return area[100] != 0 ? arg : NULL;
}

/* Memory in malloc's per-thread caches counts as in use. */
static long malloced(void)
{
	return (long)mallinfo2().uordblks;
}

TEST(crowd_gives_memory_back)
{
	pthread_t *threads = calloc(NR_CROWD, sizeof(*threads));
	long before, peak;

	CHECK_EQ(pthread_attr_init(&attr), 0);
	CHECK_EQ(pthread_attr_setstacksize(&attr, 64 * KIB), 0);
	thread_join(start_with(work_a_little, &(struct small_stack){ 0 }));
	before = malloced();
	CHECK_EQ(pthread_barrier_init(&all_are_there, NULL, NR_CROWD + 1), 0);
	for (int i = 0; i < NR_CROWD; i++)
		threads[i] = start_with(use_memory, threads);
	pthread_barrier_wait(&all_are_there);
	peak = usage_now().resident_kib;
	threads_join(threads, NR_CROWD);
	/*
	 * Waits until the memory is returned; hangs otherwise. Each slot keeps
	 * the bookkeeping of its TLS block.
	 */
	while (malloced() - before > NR_CROWD * 600L ||
	       usage_now().resident_kib > peak * 2 / 3)
		sleep_ms(50);
	free(threads);
}

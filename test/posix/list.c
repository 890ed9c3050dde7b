/* SPDX-License-Identifier: MIT */
/* A program lists its own threads, and gives some a kernel thread. */
#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <weft/weft.h>

#include "check.h"
#include "threading.h"

enum { NR = 100, MOST = 200 };

static struct weft_thread list[MOST];
static sem_t never, told;
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;

static void *wait_for_semaphore(void *arg)
{
	*(int *)arg = (int)gettid();
	sem_post(&told);
	sem_wait(&never);
	return NULL;
}

static void *wait_for_mutex(void *arg)
{
	*(int *)arg = (int)gettid();
	sem_post(&told);
	pthread_mutex_lock(&held);
	pthread_mutex_unlock(&held);
	return NULL;
}

static size_t read_list(void)
{
	return weft_thread_list(list, MOST, sizeof(list[0]));
}

/*
 * Returns the number of threads, without weft's reaper, which gives memory
 * back.
 */
static size_t nr_own(void)
{
	size_t nr = read_list(), own = 0;

	CHECK(nr <= MOST);
	for (size_t i = 0; i < nr; i++)
		own += strcmp(list[i].name, "weft reaper") != 0;
	return own;
}

/* The row of a thread, in a list that is read anew; or NULL. */
static const struct weft_thread *row_of(pthread_t thread)
{
	size_t nr = read_list();

	CHECK(nr <= MOST);
	for (size_t i = 0; i < nr; i++)
		if (pthread_equal(list[i].thread, thread))
			return &list[i];
	return NULL;
}

static const struct weft_thread *await_parked(pthread_t thread)
{
	const struct weft_thread *row;

	do {
		row = row_of(thread);
		CHECK(row != NULL);
		sched_yield();
	} while (row->waits_for == NULL);
	return row;
}

static uint64_t nr_binds(void)
{
	struct weft_stats stats;

	weft_stats(&stats, sizeof(stats));
	return stats.binds;
}

/* Only weft has a list. */
static void need_weft(void)
{
	pthread_t thread = thread_start(thread_yield_often, NULL);

	thread_join(thread);
	if (weft_is_active())
		return;
	CHECK_EQ(read_list(), 0);
	CHECK_EQ(weft_thread_bind(pthread_self()), ENOTSUP);
	SKIP("not on weft");
}

TEST(all_threads_are_in_the_list)
{
	pthread_t threads[NR];
	int tids[NR];

	need_weft();
	sem_init(&never, 0, 0);
	sem_init(&told, 0, 0);
	pthread_mutex_lock(&held);
	for (int i = 0; i < NR; i++) {
		threads[i] = thread_start(i % 2 == 0 ? wait_for_semaphore :
						       wait_for_mutex,
					  &tids[i]);
		CHECK_EQ(pthread_setname_np(threads[i],
					    i % 2 == 0 ? "even" : "odd"),
			 0);
		sem_wait(&told);
	}
	for (int i = 0; i < NR; i++) {
		const struct weft_thread *row = await_parked(threads[i]);

		CHECK_EQ(row->tid, tids[i]);
		CHECK(strcmp(row->state, "parked") == 0);
		CHECK(strcmp(row->waits_for,
			     i % 2 == 0 ? "semaphore" : "mutex") == 0);
		CHECK(strcmp(row->name, i % 2 == 0 ? "even" : "odd") == 0);
		CHECK(row->bound_why == NULL);
	}
	CHECK_EQ(nr_own(), NR + 1);
	CHECK(strcmp(row_of(pthread_self())->state, "running") == 0);
	CHECK(row_of(pthread_self())->waits_for == NULL);
	CHECK_EQ(row_of(pthread_self())->tid, getpid());
	pthread_mutex_unlock(&held);
	for (int i = 0; i < NR; i++)
		sem_post(&never);
	threads_join(threads, NR);
	while (nr_own() != 1)
		sched_yield(); /* the reaper has not yet named itself */
}

static void *return_at_once(void *arg)
{
	return arg;
}

TEST(exited_threads_are_there_until_they_are_joined)
{
	pthread_t thread;

	need_weft();
	thread = thread_start(return_at_once, NULL);
	while (strcmp(row_of(thread)->state, "exited") != 0)
		sched_yield();
	thread_join(thread);
	CHECK(row_of(thread) == NULL);
}

/* A program may be of an older or a newer version than the library. */
TEST(rows_of_another_size)
{
	struct {
		struct weft_thread thread;
		char more[8];
	} large[3];
	struct weft_thread one[2];
	size_t small = offsetof(struct weft_thread, state);
	pthread_t thread;
	int tid;

	need_weft();
	sem_init(&never, 0, 0);
	sem_init(&told, 0, 0);
	thread = thread_start(wait_for_semaphore, &tid);
	sem_wait(&told);
	memset(large, 1, sizeof(large));
	CHECK_EQ(weft_thread_list(&large[0].thread, 3, sizeof(large[0])), 2);
	CHECK_EQ(large[1].more[0] + large[1].more[7], 0);
	CHECK_EQ(large[2].more[0], 1);
	CHECK_EQ(large[1].thread.tid, tid);
	memset(one, 1, sizeof(one));
	CHECK_EQ(weft_thread_list(one, 1, small), 2);
	CHECK_EQ(one[0].tid, getpid());
	CHECK_EQ(((char *)one)[small], 1);
	CHECK_EQ(weft_thread_list(NULL, 0, sizeof(one[0])), 2);
	sem_post(&never);
	thread_join(thread);
}

static _Atomic int stop;

static void *churn(void *arg)
{
	while (!stop)
		thread_join(thread_start(thread_yield_often, NULL));
	return arg;
}

TEST(the_list_of_a_busy_program_has_whole_rows)
{
	pthread_t threads[4];

	need_weft();
	stop = 0;
	threads_start(threads, 4, churn, NULL);
	for (int i = 0; i < 2000; i++) {
		size_t nr = read_list();

		CHECK(nr >= 5 && nr <= MOST);
		for (size_t k = 0; k < nr; k++) {
			CHECK(list[k].tid > 0 && list[k].thread != 0);
			CHECK(list[k].state != NULL);
			CHECK(memchr(list[k].name, '\0',
				     sizeof(list[k].name)) != NULL);
		}
		sched_yield();
	}
	stop = 1;
	threads_join(threads, 4);
}

/* --- bound threads -------------------------------------------------------- */

static int kernel_tid(void)
{
	char link[64] = "";

	if (readlink("/proc/thread-self", link, sizeof(link) - 1) < 0)
		SKIP("no /proc");
	return atoi(strrchr(link, '/') + 1);
}

static void check_bound(pthread_t thread)
{
	const struct weft_thread *row = row_of(thread);

	CHECK(row != NULL && row->bound_why != NULL);
	CHECK(strcmp(row->bound_why, "asked") == 0);
}

static void *bind_self(void *arg)
{
	uint64_t before = nr_binds();

	CHECK(row_of(pthread_self())->bound_why == NULL);
	CHECK_EQ(weft_thread_bind(pthread_self()), 0);
	CHECK_EQ(nr_binds(), before + 1);
	check_bound(pthread_self());
	CHECK_EQ(weft_thread_bind(pthread_self()), 0);
	CHECK_EQ(nr_binds(), before + 1);
	thread_yield_often(NULL);
	return arg;
}

TEST(a_thread_binds_itself)
{
	need_weft();
	thread_join(thread_start(bind_self, NULL));
}

TEST(a_parked_thread_is_bound_when_it_runs)
{
	uint64_t before;
	pthread_t thread;
	int tid;

	need_weft();
	sem_init(&never, 0, 0);
	sem_init(&told, 0, 0);
	thread = thread_start(wait_for_semaphore, &tid);
	sem_wait(&told);
	await_parked(thread);
	before = nr_binds();
	CHECK_EQ(weft_thread_bind(thread), 0);
	check_bound(thread);
	CHECK_EQ(weft_thread_bind(thread), 0);
	sem_post(&never);
	thread_join(thread);
	CHECK_EQ(nr_binds(), before + 1);
}

static void *compute(void *arg)
{
	sem_post(&told);
	while (!stop)
		;
	return arg;
}

/* Threads that compute without calls: each has a kernel thread. */
TEST(a_computing_thread_is_bound)
{
	uint64_t before;
	pthread_t thread;

	need_weft();
	stop = 0;
	sem_init(&told, 0, 0);
	thread = thread_start(compute, NULL);
	sem_wait(&told);
	before = nr_binds();
	CHECK_EQ(weft_thread_bind(thread), 0);
	while (nr_binds() == before)
		sched_yield();
	check_bound(thread);
	stop = 1;
	thread_join(thread);
}

static void *check_kernel_thread(void *arg)
{
	int own;

	CHECK_EQ(weft_thread_bind(pthread_self()), 0);
	own = kernel_tid();
	for (int i = 0; i < 100; i++) {
		sched_yield();
		CHECK_EQ(kernel_tid(), own);
	}
	return arg;
}

TEST(a_bound_thread_keeps_its_kernel_thread)
{
	pthread_t threads[4];

	need_weft();
	threads_start(threads, 4, check_kernel_thread, NULL);
	threads_join(threads, 4);
}

TEST(no_such_thread)
{
	pthread_t thread;

	need_weft();
	thread = thread_start(return_at_once, NULL);
	while (strcmp(row_of(thread)->state, "exited") != 0)
		sched_yield();
	CHECK_EQ(weft_thread_bind(thread), ESRCH);
	thread_join(thread);
	CHECK_EQ(weft_thread_bind(thread), ESRCH);
}

TEST(the_first_thread_before_all_others)
{
	int err = weft_thread_bind(pthread_self());

	if (err == ENOTSUP)
		SKIP("not on weft");
	CHECK_EQ(err, 0);
	check_bound(pthread_self());
	thread_join(thread_start(bind_self, NULL));
}

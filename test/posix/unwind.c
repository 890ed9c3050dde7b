/* SPDX-License-Identifier: MIT */
/*
 * Unwinding of threads in a program that is not linked with an unwinder. libc,
 * or a C++ library, loads one when it is needed.
 */
#include <semaphore.h>

#include "modules.h"
#include "threading.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int nr_runs, nr_cleanups;

static void *nothing(void *arg)
{
	return arg;
}

TEST(not_before_it_is_needed)
{
	thread_join(thread_start(nothing, NULL));
	CHECK(dlopen("libgcc_s.so.1", RTLD_LAZY | RTLD_NOLOAD) == NULL);
}

static void exit_at_first(void)
{
	if (++nr_runs == 1)
		pthread_exit(NULL);
}

static void *run_once(void *arg)
{
	pthread_once(&once, exit_at_first);
	return arg;
}

TEST(exit_in_once)
{
	for (int i = 0; i < 3; i++) {
		thread_join(thread_start(run_once, NULL));
		CHECK_EQ(nr_runs, i == 0 ? 1 : 2);
	}
}

static void unlock(void *arg)
{
	CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
	nr_cleanups++;
}

static void *wait_for_ever(void *arg)
{
	sem_t *begun = arg;

	CHECK_EQ(pthread_mutex_lock(&mutex), 0);
	pthread_cleanup_push(unlock, NULL);
	sem_post(begun);
	for (;;)
		pthread_cond_wait(&cond, &mutex);
	pthread_cleanup_pop(0);
	return NULL;
}

TEST(cancel_in_cond_wait)
{
	pthread_t thread;
	sem_t begun;

	CHECK_EQ(sem_init(&begun, 0, 0), 0);
	thread = thread_start(wait_for_ever, &begun);
	while (sem_wait(&begun) != 0)
		;
	CHECK_EQ(pthread_cancel(thread), 0);
	CHECK(thread_join(thread) == PTHREAD_CANCELED);
	CHECK_EQ(nr_cleanups, 1);
	CHECK_EQ(pthread_mutex_trylock(&mutex), 0);
}

typedef int (*throw_fn)(void);

static void *throw(void *arg)
{
	throw_fn f = (throw_fn)module_symbol(arg, "throw_through_once");

	CHECK_EQ(f(), 42);
	return NULL;
}

TEST(exception_through_once)
{
	void *module = module_try_open("plugins/thrower.so");

	if (module == NULL)
		SKIP("there is no compiler for C++");
	thread_join(thread_start(throw, module));
}

TEST(exception_without_threads)
{
	void *module = module_try_open("plugins/thrower.so");

	if (module == NULL)
		SKIP("there is no compiler for C++");
	throw(module);
}

/* SPDX-License-Identifier: MIT */
/* Libraries that are loaded and unloaded while hundreds of threads exist. */
#include <dlfcn.h>
#include <link.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "modules.h"
#include "threading.h"

#define NR_THREADS 500
#define NR_DYNAMIC 4

typedef int (*next_fn)(void);

static pthread_barrier_t barrier;
static next_fn next[2];

static next_fn next_of(void *module)
{
	return (next_fn)module_symbol(module, "tls_next");
}

/*
 * This thread exists before the modules are loaded, and uses them afterwards.
 */
static void *wait_then_use(void *arg)
{
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 10; i++) {
		CHECK_EQ(next[0](), 5 + i);
		CHECK_EQ(next[1](), 5 + i);
		sched_yield();
	}
	return arg;
}

static void *just_use(void *arg)
{
	for (int i = 0; i < 10; i++) {
		CHECK_EQ(next[0](), 5 + i);
		CHECK_EQ(next[1](), 5 + i);
		sched_yield();
	}
	return arg;
}

static void load_beside_threads(const char *first, const char *second)
{
	static pthread_t threads[NR_THREADS];

	CHECK_EQ(pthread_barrier_init(&barrier, NULL, NR_THREADS + 1), 0);
	threads_start(threads, NR_THREADS, wait_then_use, NULL);
	pthread_barrier_wait(&barrier);
	next[0] = next_of(module_open(first));
	next[1] = next_of(module_open(second));
	pthread_barrier_wait(&barrier);
	threads_join(threads, NR_THREADS);
	/*
	 * New threads reuse memory of ended ones; they have to see the modules,
	 * too.
	 */
	threads_start(threads, NR_THREADS, just_use, NULL);
	threads_join(threads, NR_THREADS);
	just_use(NULL);
}

TEST(dynamic_tls_of_older_threads)
{
	load_beside_threads("plugins/tls_dynamic1.so",
			    "plugins/tls_dynamic2.so");
}

TEST(static_tls_of_older_threads)
{
	load_beside_threads("plugins/tls_static1.so", "plugins/tls_static2.so");
}

TEST(both_models)
{
	load_beside_threads("plugins/tls_static1.so",
			    "plugins/tls_dynamic1.so");
}

static void *open_and_close(void *arg)
{
	int me = (int)(intptr_t)arg;

	for (int i = 0; i < 40; i++) {
		char name[32];
		void *module;
		next_fn f;
		int first;

		snprintf(name, sizeof(name), "plugins/tls_dynamic%d.so",
			 1 + (me + i) % NR_DYNAMIC);
		module = module_open(name);
		f = next_of(module);
		first = f();
		CHECK(first >= 5);
		sched_yield();
		CHECK_EQ(f(), first + 1);
		CHECK_EQ(dlclose(module), 0);
	}
	return NULL;
}

TEST(storm)
{
	pthread_t threads[30];

	threads_start_numbered(threads, 30, open_and_close);
	threads_join(threads, 30);
}

static _Atomic int is_over;

static void *make_threads(void *arg)
{
	while (!is_over) {
		pthread_t threads[10];

		threads_start(threads, 10, thread_nothing, NULL);
		threads_join(threads, 10);
	}
	return arg;
}

/* Threads start and end while modules are loaded and unloaded. */
TEST(storm_beside_creation)
{
	pthread_t threads[10], makers[2];

	threads_start(makers, 2, make_threads, NULL);
	threads_start_numbered(threads, 10, open_and_close);
	threads_join(threads, 10);
	is_over = 1;
	threads_join(makers, 2);
}

static void *open_inner(void *arg)
{
	void *(*outer_open)(const char *);
	void *module;

	*(void **)&outer_open = dlsym(arg, "outer_open");
	CHECK(outer_open != NULL);
	module = outer_open("inner.so");
	CHECK(module != NULL);
	CHECK_EQ(next_of(module)(), 5);
	return NULL;
}

TEST(runpath_of_the_caller)
{
	void *outer = module_open("plugins/outer.so");

	thread_join(thread_start(thread_nothing, NULL));
	/* Only outer.so's RUNPATH leads to it, so it is not found from here. */
	CHECK(dlopen("inner.so", RTLD_NOW) == NULL);
	CHECK(dlerror() != NULL);
	open_inner(outer);
	for (int i = 0; i < 20; i++)
		thread_join(thread_start(open_inner, outer));
}

/* Each thread has its own dlerror. */
static void *fail_to_open(void *arg)
{
	char name[64];
	char *error;

	snprintf(name, sizeof(name), "no-such-library-%ld.so",
		 (long)(intptr_t)arg);
	for (int i = 0; i < 10; i++) {
		CHECK(dlopen(name, RTLD_NOW) == NULL);
		sched_yield();
		error = dlerror();
		CHECK(error != NULL && strstr(error, name) != NULL);
		CHECK(dlerror() == NULL);
	}
	return NULL;
}

TEST(errors_are_per_thread)
{
	pthread_t threads[40];

	threads_start_numbered(threads, 40, fail_to_open);
	threads_join(threads, 40);
}

/*
 * A callback that runs under the loader's lock computes, sleeps and yields
 * while other threads load and unload modules.
 */
static int linger(struct dl_phdr_info *info, size_t size, void *data)
{
	volatile double x = 1;

	(void)info;
	(void)size;
	for (int i = 0; i < 20000; i++)
		x = x * 1.000001 + 1;
	usleep(100);
	sched_yield();
	++*(int *)data;
	return 0;
}

static void *iterate(void *arg)
{
	for (int i = 0; i < 10; i++) {
		int nr = 0;

		CHECK_EQ(dl_iterate_phdr(linger, &nr), 0);
		CHECK(nr >= 3);
	}
	return arg;
}

TEST(iteration_callback_lingers)
{
	pthread_t iterators[10], openers[10];

	threads_start(iterators, 10, iterate, NULL);
	threads_start_numbered(openers, 10, open_and_close);
	threads_join(iterators, 10);
	threads_join(openers, 10);
}

static void *resolve(void *arg)
{
	for (int i = 0; i < 200; i++) {
		Dl_info info;
		void *f = dlsym(RTLD_DEFAULT, i % 2 ? "printf" : "malloc");

		CHECK(f != NULL);
		CHECK(dladdr(f, &info) != 0);
		CHECK(strstr(info.dli_fname, "libc") != NULL ||
		      info.dli_fname[0] != '\0');
	}
	return arg;
}

TEST(symbols_from_threads)
{
	pthread_t threads[50];

	threads_start(threads, 50, resolve, NULL);
	threads_join(threads, 50);
}

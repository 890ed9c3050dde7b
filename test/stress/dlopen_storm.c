/* SPDX-License-Identifier: MIT */
/*
 * Modules with thread-local variables that are loaded, used and unloaded by
 * many threads, while threads are created and end and hold libc's own locks.
 */
#include <dlfcn.h>
#include <link.h>

#include "modules.h"
#include "stress.h"

#define PLUGINS "../posix/plugins/"
#define NR_OPENERS 16
#define NR_MAKERS 3
#define NR_ITERATORS 3

typedef int (*next_fn)(void);

static _Atomic int is_over;
static next_fn static_next;
static long nr_rounds;

static next_fn next_of(void *module)
{
	return (next_fn)module_symbol(module, "tls_next");
}

static void *open_and_close(void *arg)
{
	uint64_t random = random_start((intptr_t)arg);

	for (long i = 0; i < nr_rounds; i++) {
		char name[64];
		void *module;
		next_fn next;
		int first;

		snprintf(name, sizeof(name), PLUGINS "tls_dynamic%ld.so",
			 1 + random_below(&random, 4));
		module = module_open(name);
		next = next_of(module);
		first = next();
		CHECK(first >= 5);
		stress_disturb(&random);
		CHECK_EQ(next(), first + 1);
		CHECK_EQ(dlclose(module), 0);
		if (static_next != NULL)
			CHECK(static_next() >= 5);
		stress_disturb(&random);
	}
	return NULL;
}

static void *use_static(void *arg)
{
	if (static_next != NULL) {
		CHECK_EQ(static_next(), 5);
		CHECK_EQ(static_next(), 6);
	}
	return arg;
}

static void *make_threads(void *arg)
{
	uint64_t random = random_start(100 + (intptr_t)arg);

	while (!is_over) {
		pthread_t threads[10];
		int nr = 1 + (int)random_below(&random, 10);

		threads_start(threads, nr, use_static, NULL);
		threads_join(threads, nr);
		stress_disturb(&random);
	}
	return NULL;
}

static int linger(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)size;
	CHECK(info->dlpi_name != NULL);
	stress_disturb(data);
	return 0;
}

static void *iterate(void *arg)
{
	uint64_t random = random_start(200 + (intptr_t)arg);

	while (!is_over) {
		CHECK_EQ(dl_iterate_phdr(linger, &random), 0);
		usleep(200);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t openers[NR_OPENERS], makers[NR_MAKERS];
	pthread_t iterators[NR_ITERATORS];

	stress_begin(argc, argv);
	nr_rounds = stress_scale(60);
	threads_start_numbered(openers, NR_OPENERS, open_and_close);
	threads_start_numbered(makers, NR_MAKERS, make_threads);
	threads_start_numbered(iterators, NR_ITERATORS, iterate);
	sleep_ms(2);
	static_next = next_of(module_open(PLUGINS "tls_static1.so"));
	threads_join(openers, NR_OPENERS);
	is_over = 1;
	threads_join(makers, NR_MAKERS);
	threads_join(iterators, NR_ITERATORS);
	return stress_end();
}

/* SPDX-License-Identifier: MIT */
/*
 * Hooks that run before main, like those of allocators and profilers. The
 * allocator locks, looks up symbols and keeps thread-specific data at its first
 * call, which any code may make. A constructor makes a thread.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BOOTSTRAP_BYTES 65536

_Atomic long early_nr_mallocs;
_Atomic long early_nr_threads;

static pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static void *(*real_malloc)(size_t);
static void (*real_free)(void *);
static __thread bool is_inside;

/* Serves the calls that dlsym itself makes. */
static _Alignas(16) char bootstrap[BOOTSTRAP_BYTES];
static size_t nr_bootstrap;

static void *bootstrap_malloc(size_t size)
{
	void *block = bootstrap + nr_bootstrap;

	nr_bootstrap += (size + 15) & ~(size_t)15;
	if (nr_bootstrap > BOOTSTRAP_BYTES)
		_exit(99);
	return block;
}

static bool is_bootstrap(const void *block)
{
	return (const char *)block >= bootstrap &&
	       (const char *)block < bootstrap + BOOTSTRAP_BYTES;
}

static void init(void)
{
	*(void **)&real_free = dlsym(RTLD_NEXT, "free");
	*(void **)&real_malloc = dlsym(RTLD_NEXT, "malloc");
	if (getenv("NO_SUCH_VARIABLE") != NULL)
		_exit(98);
	if (pthread_key_create(&key, NULL) != 0)
		_exit(97);
}

void *malloc(size_t size)
{
	void *block;

	if (is_inside)
		return real_malloc ? real_malloc(size) : bootstrap_malloc(size);
	is_inside = true;
	pthread_once(&once, init);
	pthread_mutex_lock(&mutex);
	early_nr_mallocs++;
	pthread_mutex_unlock(&mutex);
	pthread_setspecific(key, &key);
	block = real_malloc(size);
	is_inside = false;
	return block;
}

void free(void *block)
{
	if (!is_bootstrap(block) && real_free != NULL)
		real_free(block);
}

static void *count(void *arg)
{
	early_nr_threads++;
	free(malloc(100));
	return arg;
}

__attribute__((constructor)) static void start_early(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, count, NULL) != 0 ||
	    pthread_join(thread, NULL) != 0)
		_exit(96);
}

/* SPDX-License-Identifier: MIT */
/*
 * Operations without contention, in a process that has another thread: without
 * one glibc may leave out the atomic instructions. A pair, such as lock and
 * unlock, is one operation. The second argument names it.
 */
#include <semaphore.h>

#include "bench.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static sem_t sem;
static sem_t never;
static void *volatile sink;

/*
 * The call is by a pointer, since the compiler would make a direct call once
 * for the whole loop.
 */
static pthread_t (*volatile self)(void) = pthread_self;

static void *parked(void *arg)
{
	sem_wait(&never);
	return arg;
}

static void nothing(void)
{
}

#define LOOP(name, operation)                        \
	static uint64_t name(long *nr_ops)           \
	{                                            \
		uint64_t start_ns = bench_busy_ns(); \
                                                     \
		for (long i = 0; i < *nr_ops; i++) { \
			operation;                   \
		}                                    \
		return bench_busy_ns() - start_ns;   \
	}

LOOP(mutex_pair, pthread_mutex_lock(&mutex); pthread_mutex_unlock(&mutex))
LOOP(sem_pair, sem_post(&sem); sem_wait(&sem))
LOOP(read_pair, pthread_rwlock_rdlock(&rwlock); pthread_rwlock_unlock(&rwlock))
LOOP(write_pair, pthread_rwlock_wrlock(&rwlock); pthread_rwlock_unlock(&rwlock))
LOOP(once_call, pthread_once(&once, nothing))
LOOP(self_call, sink = (void *)self())
LOOP(tsd_get, sink = pthread_getspecific(key))

static const struct {
	const char *name;
	uint64_t (*run)(long *nr_ops);
} operations[] = {
	{ "mutex", mutex_pair },    { "sem", sem_pair },
	{ "rdlock", read_pair },    { "wrlock", write_pair },
	{ "once", once_call },	    { "self", self_call },
	{ "getspecific", tsd_get },
};

int main(int argc, char **argv)
{
	size_t nr = sizeof(operations) / sizeof(operations[0]);
	const char *wanted = argc > 2 ? argv[2] : "mutex";
	pthread_t thread;

	sem_init(&sem, 0, 0);
	sem_init(&never, 0, 0);
	pthread_key_create(&key, NULL);
	pthread_setspecific(key, &key);
	bench_create(&thread, parked, NULL);
	for (size_t i = 0; i < nr; i++) {
		if (strcmp(operations[i].name, wanted) == 0) {
			bench_measure(argc, argv, wanted, operations[i].run);
			return 0;
		}
	}
	fprintf(stderr, "%s: no operation '%s'\n", argv[0], wanted);
	return 2;
}

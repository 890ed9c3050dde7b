/* SPDX-License-Identifier: MIT */
/*
 * Sections of code that step.c interrupts at each of their instructions, while
 * other threads do the same. The program needs the tracer, which answers its
 * marks. It does not depend on which library runs its threads.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "step.h"
#include "threading.h"

enum { MAX_RIVALS = 2 };

struct section {
	const char *name;
	void (*body)(void);  /* between the marks */
	void (*check)(void); /* after each pass */
	void *(*rival)(void *);
	int nr_rivals;
	void (*stop)(void); /* ends rivals that wait; may be NULL */
};

static _Atomic int is_over;
static _Atomic long nr_turns; /* turns of all rivals */
static long nr_passes;

/* volatile: the compiler must not merge or drop the accesses. */
static volatile long pair[2];

static void use_pair(void)
{
	CHECK_EQ(pair[0], pair[1]);
	pair[0] = pair[0] + 1;
	pair[1] = pair[1] + 1;
}

static void check_pair(void)
{
	CHECK(pair[0] >= nr_passes);
}

/* --- mutex -------------------------------------------------------------- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void mutex_body(void)
{
	pthread_mutex_lock(&mutex);
	use_pair();
	pthread_mutex_unlock(&mutex);
}

static void *mutex_rival(void *arg)
{
	while (!is_over) {
		mutex_body();
		nr_turns++;
	}
	return arg;
}

/* --- semaphores, by which two threads take turns ------------------------ */

static sem_t question, reply;
static long nr_replies;

static void sem_body(void)
{
	sem_post(&question);
	while (sem_wait(&reply) != 0)
		CHECK_EQ(errno, EINTR);
}

static void *sem_rival(void *arg)
{
	for (;;) {
		while (sem_wait(&question) != 0)
			CHECK_EQ(errno, EINTR);
		if (is_over)
			return arg;
		nr_replies++;
		nr_turns++;
		sem_post(&reply);
	}
}

static void sem_check(void)
{
	int value;

	CHECK_EQ(nr_replies, nr_passes);
	CHECK_EQ(sem_getvalue(&question, &value), 0);
	CHECK_EQ(value, 0);
	CHECK_EQ(sem_getvalue(&reply, &value), 0);
	CHECK_EQ(value, 0);
}

static void sem_stop(void)
{
	sem_post(&question);
}

/* --- condition variable ------------------------------------------------- */

static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_cond_t changed_back = PTHREAD_COND_INITIALIZER;
static long nr_signals;
static int is_mine;

static void cond_body(void)
{
	pthread_mutex_lock(&mutex);
	is_mine = 0;
	pthread_cond_signal(&changed);
	while (!is_mine)
		pthread_cond_wait(&changed_back, &mutex);
	pthread_mutex_unlock(&mutex);
}

static void *cond_rival(void *arg)
{
	pthread_mutex_lock(&mutex);
	while (!is_over) {
		while (is_mine && !is_over)
			pthread_cond_wait(&changed, &mutex);
		if (!is_mine) {
			is_mine = 1;
			nr_signals++;
			nr_turns++;
			pthread_cond_signal(&changed_back);
		}
	}
	pthread_mutex_unlock(&mutex);
	return arg;
}

static void cond_check(void)
{
	CHECK_EQ(nr_signals, nr_passes);
	CHECK_EQ(is_mine, 1);
}

static void cond_stop(void)
{
	pthread_mutex_lock(&mutex);
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
}

/* --- thread-local storage ----------------------------------------------- */

static __thread volatile long local[3];

static void tls_body(void)
{
	pthread_t self = pthread_self();

	for (int i = 0; i < 3; i++) {
		errno = 100 + i;
		local[i] = local[i] + 1;
		CHECK_EQ(errno, 100 + i);
	}
	CHECK(pthread_equal(self, pthread_self()));
}

static void *tls_rival(void *arg)
{
	long turn = 0;

	while (!is_over) {
		errno = 200 + (int)(intptr_t)arg;
		turn++;
		for (int i = 0; i < 3; i++) {
			local[i] = local[i] + 1;
			CHECK_EQ(local[i], turn);
		}
		CHECK_EQ(errno, 200 + (int)(intptr_t)arg);
		nr_turns++;
	}
	return arg;
}

static void tls_check(void)
{
	for (int i = 0; i < 3; i++)
		CHECK_EQ(local[i], nr_passes);
}

/* --- memory ------------------------------------------------------------- */

static void use_memory(size_t bytes, int byte)
{
	unsigned char *p = malloc(bytes);

	CHECK(p != NULL);
	memset(p, byte, bytes);
	CHECK_EQ(p[0], byte);
	CHECK_EQ(p[bytes - 1], byte);
	free(p);
}

/* Allocates a block from the thread's cache, and one that the cache lacks. */
static void malloc_body(void)
{
	use_memory(40, 1);
	use_memory(3000, 2);
}

static void *malloc_rival(void *arg)
{
	size_t bytes = 1;

	while (!is_over) {
		use_memory(bytes, 3 + (int)(intptr_t)arg);
		bytes = bytes * 5 % 4099;
		nr_turns++;
	}
	return arg;
}

/* --- a lock of the program's own ---------------------------------------- */

static int word;

static void spin_body(void)
{
	while (__atomic_exchange_n(&word, 1, __ATOMIC_ACQUIRE) != 0)
		__builtin_ia32_pause();
	use_pair();
	__atomic_store_n(&word, 0, __ATOMIC_RELEASE);
}

static void *spin_rival(void *arg)
{
	while (!is_over) {
		spin_body();
		nr_turns++;
	}
	return arg;
}

/* --- no lock at all ----------------------------------------------------- */

static long sum, nr_added;

static void add(void)
{
	long old = __atomic_load_n(&sum, __ATOMIC_RELAXED);

	__atomic_fetch_add(&nr_added, 1, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&sum, &old, old + 3, false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		continue;
}

static void atomic_body(void)
{
	add();
	add();
}

static void *atomic_rival(void *arg)
{
	while (!is_over) {
		add();
		nr_turns++;
	}
	return arg;
}

static void atomic_check(void)
{
	CHECK(nr_added >= 2 * nr_passes);
}

/* --- stdio -------------------------------------------------------------- */

static FILE *shared_file;

static void print(long number)
{
	char text[64];

	snprintf(text, sizeof(text), "%ld %s %.3f", number, "stepped",
		 (double)number);
	CHECK_EQ(atol(text), number);
	CHECK(strstr(text, " stepped ") != NULL);
	CHECK(strcmp(text + strlen(text) - 4, ".000") == 0);
	CHECK_EQ(fprintf(shared_file, "%s\n", text), strlen(text) + 1);
}

static void printf_body(void)
{
	print(nr_passes);
}

static void *printf_rival(void *arg)
{
	for (long i = 0; !is_over; i++) {
		print(i);
		nr_turns++;
	}
	return arg;
}

/* --- threads ------------------------------------------------------------ */

static void *return_double(void *arg)
{
	return (void *)((intptr_t)arg * 2);
}

static void create(long number)
{
	CHECK_EQ((intptr_t)thread_join(
			 thread_start(return_double, (void *)number)),
		 2 * number);
}

static void create_body(void)
{
	create(nr_passes);
}

static void *create_rival(void *arg)
{
	for (long i = 0; !is_over; i++) {
		create(i);
		nr_turns++;
	}
	return arg;
}

/* ------------------------------------------------------------------------ */

static void no_check(void)
{
}

static const struct section sections[] = {
	{ "mutex", mutex_body, check_pair, mutex_rival, 2, NULL },
	{ "sem", sem_body, sem_check, sem_rival, 1, sem_stop },
	{ "cond", cond_body, cond_check, cond_rival, 1, cond_stop },
	{ "tls", tls_body, tls_check, tls_rival, 2, NULL },
	{ "malloc", malloc_body, no_check, malloc_rival, 2, NULL },
	{ "spin", spin_body, check_pair, spin_rival, 2, NULL },
	{ "atomic", atomic_body, atomic_check, atomic_rival, 2, NULL },
	{ "printf", printf_body, no_check, printf_rival, 2, NULL },
	{ "create", create_body, no_check, create_rival, 1, NULL },
};

enum { NR_SECTIONS = sizeof(sections) / sizeof(sections[0]) };

static void spin_a_little(void)
{
	for (volatile int i = 0; i < 3000; i++)
		continue;
}

static void run(long number)
{
	const struct section *s = &sections[number];
	pthread_t rivals[MAX_RIVALS];
	long nr_shared = 0, turns;

	nr_passes = 0;
	nr_turns = 0;
	is_over = 0;
	is_mine = 1;
	pair[0] = pair[1] = 0;
	threads_start_numbered(rivals, s->nr_rivals, s->rival);
	do {
		while (step_mark(STEP_BEGIN, number) == 0)
			spin_a_little();
		turns = nr_turns;
		nr_passes++;
		s->body();
		nr_shared += nr_turns != turns;
		s->check();
	} while (step_mark(STEP_END, number) != 0);
	is_over = 1;
	if (s->stop != NULL)
		s->stop();
	threads_join(rivals, s->nr_rivals);
	CHECK_EQ(pair[0], pair[1]);
	CHECK_EQ(sum, 3 * nr_added);
	fprintf(stderr, "%s: %ld passes, %ld with another thread's turn\n",
		s->name, nr_passes, nr_shared);
	printf("%s: ok\n", s->name);
}

int main(int argc, char **argv)
{
	CHECK_EQ(sem_init(&question, 0, 0), 0);
	CHECK_EQ(sem_init(&reply, 0, 0), 0);
	shared_file = fopen("/dev/null", "w");
	CHECK(shared_file != NULL);
	for (long i = 0; i < NR_SECTIONS; i++) {
		if (argc < 2 || strcmp(argv[1], sections[i].name) == 0)
			run(i);
	}
	return 0;
}

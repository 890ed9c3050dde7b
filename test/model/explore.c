/* SPDX-License-Identifier: MIT */
/*
 * Runs the threads of a case as coroutines, and tries every order of their
 * steps, depth first. An execution goes on until all threads have ended or its
 * state is known. Then the last choice that can still be changed is changed,
 * and the next execution starts from the beginning.
 *
 * EXPLORE-1. One kernel thread; each thread of the case has a stack of its own
 *     and runs from stop to stop. The explorer runs on the program's stack.
 * EXPLORE-2. path[] holds the choices of the current execution. A choice is a
 *     thread that was ready to run; choices count up, and when all were tried
 *     the step before it is changed.
 * EXPLORE-3. A thread's future depends on what it has learnt and on what is
 *     shared; a hash of both for all threads names a state.
 */
#include "explore.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum { STACK_BYTES = 64 * 1024, TABLE_BITS = 22 };

struct fiber {
	jmp_buf at;	  /* where it has stopped */
	ucontext_t first; /* the context that calls body */
	uint64_t learnt;
	bool has_begun, is_done;
	_Alignas(64) char stack[STACK_BYTES];
};

static struct fiber fibers[EXPLORE_THREADS_MAX];
static const struct explore_case *the_case;
static jmp_buf scheduler;
static int current;

static uint8_t path[EXPLORE_STEPS_MAX];	 /* EXPLORE-2 */
static uint8_t ready[EXPLORE_STEPS_MAX]; /* a bit per runnable thread */
static size_t path_len, step;

static uint64_t *table; /* open addressing; 0 is free */
static uint64_t nr_states;

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15ULL;
	return h ^ h >> 29;
}

/* --- threads ------------------------------------------------------------ */

/* _setjmp and _longjmp between stacks: no system call, unlike swapcontext. */
void explore_stop(void)
{
	if (current < 0)
		return; /* begin or end */
	if (_setjmp(fibers[current].at) == 0)
		_longjmp(scheduler, 1);
}

int explore_current(void)
{
	return current;
}

void explore_learn(uint64_t value)
{
	if (current >= 0)
		fibers[current].learnt = mix(fibers[current].learnt, value);
}

static void enter(void)
{
	the_case->body(current);
	fibers[current].is_done = true;
	_longjmp(scheduler, 1);
}

static void run_one_step(int number)
{
	struct fiber *f = &fibers[number];

	current = number;
	if (_setjmp(scheduler) == 0) {
		if (f->has_begun)
			_longjmp(f->at, 1);
		f->has_begun = true;
		setcontext(&f->first);
	}
	current = -1;
	/* a store tells the thread nothing else */
	f->learnt = mix(f->learnt, 0);
}

static void begin_all(void)
{
	current = -1;
	the_case->begin();
	for (int i = 0; i < the_case->nr_threads; i++) {
		struct fiber *f = &fibers[i];

		f->learnt = (uint64_t)i + 1;
		f->has_begun = false;
		f->is_done = false;
		getcontext(&f->first);
		f->first.uc_stack.ss_sp = f->stack;
		f->first.uc_stack.ss_size = sizeof(f->stack);
		makecontext(&f->first, enter, 0);
		run_one_step(i); /* runs to its first stop */
	}
}

/* --- states ------------------------------------------------------------- */

static uint64_t hash_state(void)
{
	const unsigned char *p = the_case->shared;
	size_t nr_words = the_case->shared_bytes / sizeof(uint64_t);
	uint64_t h = 1;

	for (size_t i = 0; i < nr_words; i++) {
		uint64_t word;

		memcpy(&word, p + i * sizeof(word), sizeof(word));
		h = mix(h, word);
	}
	for (int i = 0; i < the_case->nr_threads; i++)
		h = mix(h, fibers[i].learnt + fibers[i].is_done);
	return h != 0 ? h : 1;
}

/* Records the state. Returns true if it is a new one. */
static bool note_state(uint64_t h)
{
	size_t mask = ((size_t)1 << TABLE_BITS) - 1, i = h & mask;

	while (table[i] != 0) {
		if (table[i] == h)
			return false;
		i = (i + 1) & mask;
	}
	table[i] = h;
	if (++nr_states > mask - mask / 8)
		explore_fail("too many states; make the case smaller");
	return true;
}

/* --- the search --------------------------------------------------------- */

static unsigned int ready_now(void)
{
	unsigned int bits = 0;

	for (int i = 0; i < the_case->nr_threads; i++)
		bits |= fibers[i].is_done ? 0 : 1u << i;
	return bits;
}

/* Runs path and then first choices. Returns true if it came to the end. */
static bool execute(void)
{
	begin_all();
	for (step = 0; ready_now() != 0; step++) {
		if (step == path_len) {
			if (!note_state(hash_state())) /* EXPLORE-3 */
				return false;
			if (path_len == EXPLORE_STEPS_MAX)
				explore_fail("too many steps");
			ready[path_len] = (uint8_t)ready_now();
			path[path_len++] = (uint8_t)__builtin_ctz(ready_now());
		}
		run_one_step(path[step]);
	}
	the_case->end();
	return true;
}

/*
 * EXPLORE-2: the last choice that can still be changed; false if there is none.
 */
static bool next_path(void)
{
	for (; path_len > 0; path_len--) {
		uint8_t *choice = &path[path_len - 1];
		unsigned int left = ready[path_len - 1] & ~0u << (*choice + 1);

		if (left != 0) {
			*choice = (uint8_t)__builtin_ctz(left);
			return true;
		}
	}
	return false;
}

void explore(const struct explore_case *c, struct explore_counts *ret_counts)
{
	*ret_counts = (struct explore_counts){ 0 };
	the_case = c;
	path_len = 0;
	nr_states = 0;
	table = calloc((size_t)1 << TABLE_BITS, sizeof(*table));
	if (table == NULL)
		explore_fail("no memory");
	do {
		ret_counts->executions++;
		ret_counts->complete += execute();
	} while (next_path());
	ret_counts->states = nr_states;
	free(table);
}

void explore_fail(const char *what)
{
	printf("%s\nsteps by thread:", what);
	for (size_t i = 0; i < step; i++)
		printf(" %d", path[i]);
	printf("\n");
	exit(1);
}

/* SPDX-License-Identifier: MIT */
/*
 * More threads than CPUs hold known values in every register and in a red zone.
 * Some do so on small stacks that they have made (coroutines). An interruption
 * must change no value, and must not write to those stacks.
 */
#include <ucontext.h>

#include "registers.h"
#include "stress.h"

enum {
	DURATION_MS = 2000,
	THREADS_PER_CPU = 4,
	MAX_THREADS = 64,
	ROUNDS = 100000, /* each takes one or two nanoseconds */
	SMALL_STACK = 4096,
	/* The stack that entry, loop and registers_hold may use. */
	STACK_IN_USE = 1024,
	NR_COROUTINES = 4,
	PATTERN = 0xa7,
};

static int64_t end_ns;
static int level;
static __thread long local = 17;

static void hold(struct registers *in, struct registers *out, uint64_t *seed)
{
	const char *which;

	registers_fill(in, seed);
	registers_hold(in, out, ROUNDS, level);
	which = registers_differ(in, out, level);
	if (which != NULL)
		check_failed(__FILE__, __LINE__, which);
}

static void *hold_on_thread_stack(void *arg)
{
	long number = (long)arg;
	uint64_t seed = random_start(number);
	struct registers in, out;

	local += number;
	do {
		hold(&in, &out, &seed);
		CHECK_EQ(local, 17 + number);
	} while (now_ns() < end_ns);
	return arg;
}

/* --- on small stacks ---------------------------------------------------- */

struct crew;

struct coroutine {
	ucontext_t context;
	struct registers in, out;
	/* A stack that grows too far overwrites this first. */
	unsigned char below[SMALL_STACK];
	unsigned char stack[SMALL_STACK] __attribute__((aligned(16)));
	struct crew *crew;
};

/* A thread's coroutines take turns. */
struct crew {
	ucontext_t thread;
	struct coroutine *all;
	uint64_t seed;
};

/* The words come from makecontext, which passes int arguments. */
static void run_coroutine(unsigned int high, unsigned int low)
{
	struct coroutine *me =
		(struct coroutine *)((uintptr_t)high << 32 | low);

	for (;;) {
		registers_hold(&me->in, &me->out, ROUNDS, level);
		swapcontext(&me->context, &me->crew->thread);
	}
}

static void start_coroutine(struct crew *crew, struct coroutine *c)
{
	uintptr_t word = (uintptr_t)c;

	memset(c->below, PATTERN, sizeof(c->below));
	memset(c->stack, PATTERN, sizeof(c->stack));
	c->crew = crew;
	CHECK_EQ(getcontext(&c->context), 0);
	c->context.uc_stack.ss_sp = c->stack;
	c->context.uc_stack.ss_size = sizeof(c->stack);
	c->context.uc_link = NULL;
	makecontext(&c->context, (void (*)(void))run_coroutine, 2,
		    (unsigned int)(word >> 32), (unsigned int)word);
}

static void check_coroutine(const struct coroutine *c)
{
	const char *which = registers_differ(&c->in, &c->out, level);

	if (which != NULL)
		check_failed(__FILE__, __LINE__, which);
	for (size_t i = 0; i < sizeof(c->below); i++)
		CHECK_EQ(c->below[i], PATTERN);
	for (size_t i = 0; i < sizeof(c->stack) - STACK_IN_USE; i++)
		CHECK_EQ(c->stack[i], PATTERN);
}

static void *hold_on_small_stacks(void *arg)
{
	struct crew crew = { .seed = random_start((long)arg) };

	crew.all = calloc(NR_COROUTINES, sizeof(*crew.all));
	CHECK(crew.all != NULL);
	for (int i = 0; i < NR_COROUTINES; i++)
		start_coroutine(&crew, &crew.all[i]);
	do {
		for (int i = 0; i < NR_COROUTINES; i++) {
			struct coroutine *c = &crew.all[i];

			registers_fill(&c->in, &crew.seed);
			CHECK_EQ(swapcontext(&crew.thread, &c->context), 0);
			check_coroutine(c);
		}
	} while (now_ns() < end_ns);
	free(crew.all);
	return arg;
}

int main(int argc, char **argv)
{
	long nr = sysconf(_SC_NPROCESSORS_ONLN) * THREADS_PER_CPU;
	pthread_t threads[MAX_THREADS];

	stress_begin(argc, argv);
	nr = nr < MAX_THREADS ? nr : MAX_THREADS;
	level = registers_best_level();
	end_ns = now_ns() + stress_scale(DURATION_MS) * NS_PER_MS;
	for (long i = 0; i < nr; i++)
		threads[i] = thread_start(i % 2 == 0 ? hold_on_thread_stack :
						       hold_on_small_stacks,
					  (void *)i);
	threads_join(threads, (int)nr);
	return stress_end();
}

/* SPDX-License-Identifier: MIT */
/*
 * Checks state that the kernel keeps for each kernel thread: threads set
 * different values, yield often, and each reads its own value back. The other
 * threads still have the value that the process had.
 *
 *     check_each(&(struct state){ set_slack, get_slack, { 1000, 2000 }, 2 });
 */
#ifndef OWN_VALUES_H
#define OWN_VALUES_H

#include <errno.h>
#include <sched.h>

#include "check.h"
#include "threading.h"

enum { NR_SETTERS = 4, NR_OTHERS = 4, NR_YIELDS = 100 };

/*
 * set and get return the results of their calls. Thread i sets values[i % nr].
 */
struct state {
	long (*set)(long value);
	long (*get)(void);
	long values[NR_SETTERS];
	int nr;
};

static const struct state *state;
static long before;

static void *has_before(void *arg)
{
	for (int i = 0; i < NR_YIELDS; i++) {
		CHECK_EQ(state->get(), before);
		sched_yield();
	}
	return arg;
}

static void *set_own(void *arg)
{
	long value = state->values[(intptr_t)arg % state->nr];

	CHECK(state->set(value) >= 0);
	for (int i = 0; i < NR_YIELDS; i++) {
		CHECK_EQ(state->get(), value);
		sched_yield();
	}
	return arg;
}

/* In a child: a value that cannot be set may also be unreadable. */
static void need(const struct state *s)
{
	if (s->get() < 0 && errno != 0)
		SKIP("the kernel cannot tell");
}

static void *try_in_thread(void *arg)
{
	if (state->set(state->values[0]) < 0 ||
	    state->get() != state->values[0])
		SKIP("it cannot be set here");
	return arg;
}

static inline void check_each(const struct state *s)
{
	pthread_t setters[NR_SETTERS], others[NR_OTHERS];

	state = s;
	errno = 0;
	need(s);
	before = s->get();
	thread_join(thread_start(try_in_thread, NULL));
	threads_start(others, NR_OTHERS / 2, has_before, NULL);
	threads_start_numbered(setters, NR_SETTERS, set_own);
	threads_start(others + NR_OTHERS / 2, NR_OTHERS / 2, has_before, NULL);
	threads_join(setters, NR_SETTERS);
	threads_join(others, NR_OTHERS);
	thread_join(thread_start(has_before, NULL));
	has_before(NULL);
}

#endif

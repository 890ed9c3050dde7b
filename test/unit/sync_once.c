/* SPDX-License-Identifier: MIT */
/* src/sync/once.c: a routine runs once. src/sync/spin.c: spin locks exclude. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <sched.h>

#include "fake_wait.h"
#include "sync/once.h"
#include "sync/spin.h"

static _Atomic int nr_runs, nr_inside;

static void routine(void)
{
	fake_check(nr_inside++ == 0);
	for (int i = 0; i < 10; i++)
		fake_delay();
	nr_inside--;
	nr_runs++;
}

static void run_it(void *arg, int number)
{
	fake_delay();
	wf_once_run(arg, routine);
	fake_check(nr_runs == 1);
}

static void test_runs_once(void **state)
{
	for (int i = 0; i < 500; i++) {
		struct wf_once once = { PTHREAD_ONCE_INIT };

		nr_runs = 0;
		fake_run(5, run_it, &once);
		assert_int_equal(nr_runs, 1);
		assert_int_equal(once.word, WF_ONCE_DONE);
	}
}

static void leave_by_exit(void)
{
	fake_check(nr_inside++ == 0);
	fake_delay();
	nr_inside--;
	if (fake_random(3) != 0)
		pthread_exit(NULL); /* unwinds like an exception */
	nr_runs++;
}

static void run_unwinding(void *arg, int number)
{
	wf_once_run(arg, leave_by_exit);
}

static void test_unwinding_resets(void **state)
{
	int nr_done = 0;

	for (int i = 0; i < 300; i++) {
		struct wf_once once = { 0 };

		nr_runs = 0;
		fake_run(5, run_unwinding, &once);
		assert_in_range(nr_runs, 0, 1);
		assert_int_equal(once.word, nr_runs ? WF_ONCE_DONE : 0);
		nr_done += nr_runs;
	}
	assert_true(nr_done > 0);
}

static void test_fork_child_runs_again(void **state)
{
	struct wf_once once = { .word = WF_ONCE_RUNNING };
	struct wf_once waited = { .word = WF_ONCE_RUNNING | WF_ONCE_WAITED };
	struct wf_once done = { .word = WF_ONCE_DONE };

	wf_once_fork_child();
	nr_runs = 0;
	wf_once_run(&once, routine);
	wf_once_run(&waited, routine);
	wf_once_run(&done, routine);
	assert_int_equal(nr_runs, 2);
	assert_int_equal(once.word, WF_ONCE_DONE);
}

struct spinning {
	struct wf_spinlock lock;
	int counter; /* protected by lock */
};

static void spin_and_count(void *arg, int number)
{
	struct spinning *s = arg;

	for (int i = 0; i < 20000; i++) {
		if (number & 1)
			while (wf_spinlock_trylock(&s->lock) != 0)
				sched_yield();
		else
			wf_spinlock_lock(&s->lock);
		s->counter++;
		wf_spinlock_unlock(&s->lock);
	}
}

static void test_spin_lock(void **state)
{
	struct spinning s = { .counter = 0 };

	wf_spinlock_init(&s.lock);
	assert_int_equal(wf_spinlock_trylock(&s.lock), 0);
	assert_int_equal(wf_spinlock_trylock(&s.lock), -EBUSY);
	wf_spinlock_unlock(&s.lock);
	fake_run(4, spin_and_count, &s);
	assert_int_equal(s.counter, 80000);
}

/* A spin lock shared with a native process has libc's values. */
static void test_spin_lock_is_libcs(void **state)
{
	struct wf_spinlock s;
	pthread_spinlock_t *theirs = (pthread_spinlock_t *)&s.word;

	pthread_spin_init(theirs, PTHREAD_PROCESS_SHARED);
	assert_int_equal(wf_spinlock_trylock(&s), 0);
	assert_int_equal(pthread_spin_trylock(theirs), EBUSY);
	wf_spinlock_unlock(&s);
	assert_int_equal(pthread_spin_trylock(theirs), 0);
	assert_int_equal(wf_spinlock_trylock(&s), -EBUSY);
	pthread_spin_unlock(theirs);
	assert_int_equal(wf_spinlock_lock(&s), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_runs_once),
		cmocka_unit_test(test_unwinding_resets),
		cmocka_unit_test(test_fork_child_runs_again),
		cmocka_unit_test(test_spin_lock),
		cmocka_unit_test(test_spin_lock_is_libcs),
	};

	fake_seed();
	fake_interrupt_every = 10;
	return cmocka_run_group_tests(tests, NULL, NULL);
}

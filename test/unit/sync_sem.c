/* SPDX-License-Identifier: MIT */
/*
 * src/sync/sem.c: no permit is lost, results, and a waiter that frees the
 * semaphore.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fake_wait.h"
#include "os/clock.h"
#include "sync/sem.h"

static void test_results(void **state)
{
	struct timespec past = { 0 };
	struct timespec bad = { .tv_nsec = -1 };
	struct wf_sem s;
	uint64_t calls = fake_calls();

	fake_interrupt_every = 0;
	assert_int_equal(wf_sem_init(&s, SEM_VALUE_MAX + 1u), -EINVAL);
	assert_int_equal(wf_sem_init(&s, 1), 0);
	assert_false(wf_sem_is_shared(&s));
	assert_int_equal(wf_sem_value(&s), 1);
	assert_int_equal(wf_sem_wait(&s), 0);
	assert_int_equal(wf_sem_trywait(&s), -EAGAIN);
	assert_int_equal(wf_sem_post(&s), 0);
	assert_int_equal(wf_sem_clockwait(&s, CLOCK_REALTIME, &past), 0);
	assert_int_equal(fake_calls(), calls); /* no wait and no wake so far */
	assert_int_equal(wf_sem_clockwait(&s, CLOCK_REALTIME, &past),
			 -ETIMEDOUT);
	assert_int_equal(wf_sem_clockwait(&s, CLOCK_REALTIME, &bad), -EINVAL);
	assert_int_equal(wf_sem_clockwait(&s, CLOCK_TAI, &past), -EINVAL);
	assert_int_equal(wf_sem_value(&s), 0);
	assert_int_equal(wf_sem_init(&s, SEM_VALUE_MAX), 0);
	assert_int_equal(wf_sem_post(&s), -EOVERFLOW);
	assert_int_equal(wf_sem_value(&s), SEM_VALUE_MAX);
	fake_interrupt_every = 10;
}

static void test_libc_layout(void **state)
{
	struct wf_sem s = { 0 };

	sem_init(&s.libc, 1, 5); /* as libc makes it */
	assert_true(wf_sem_is_shared(&s));
	sem_init(&s.libc, 0, 5);
	assert_false(wf_sem_is_shared(&s));
	assert_int_equal(wf_sem_value(&s), 5);
}

static void test_interrupted(void **state)
{
	struct wf_sem s;

	wf_sem_init(&s, 0);
	fake_interrupt_every = 1;
	assert_int_equal(wf_sem_wait(&s), -EINTR);
	fake_interrupt_every = 10;
	assert_int_equal(wf_sem_value(&s), 0);
}

/*
 * A wait leaves a mark in the word. The mark is not a permit and does not
 * hinder a post.
 */
static void test_no_waiter_is_left(void **state)
{
	struct timespec ts = fake_time(CLOCK_MONOTONIC, 1000);
	struct wf_sem s;
	int rc;

	wf_sem_init(&s, 0);
	do {
		rc = wf_sem_clockwait(&s, CLOCK_MONOTONIC, &ts);
	} while (rc == -EINTR);
	assert_int_equal(rc, -ETIMEDOUT);
	assert_int_equal(wf_sem_value(&s), 0);
	assert_int_equal(wf_sem_trywait(&s), -EAGAIN);
	assert_int_equal(wf_sem_post(&s), 0);
	assert_int_equal(wf_sem_value(&s), 1);
	assert_int_equal(wf_sem_post(&s), 0);
	assert_int_equal(wf_sem_value(&s), 2);
	assert_int_equal(wf_sem_trywait(&s), 0);
	assert_int_equal(wf_sem_wait(&s), 0);
	assert_int_equal(wf_sem_trywait(&s), -EAGAIN);
}

static void wait_once(void *arg, int number)
{
	while (wf_sem_wait(arg) != 0)
		continue;
}

/*
 * A thread that returns a permit may take it again, so the woken waiter
 * competes.
 */
static void test_given_back(void **state)
{
	struct fake_crew *crew;
	struct wf_sem s;

	wf_sem_init(&s, 1);
	assert_int_equal(wf_sem_wait(&s), 0);
	fake_interrupt_every = 0;
	crew = fake_start(1, wait_once, &s);
	fake_await_waiters(&s.word, 1);
	assert_int_equal(wf_sem_post(&s), 0);
	/*
	 * Either the waiter took the permit, or this thread takes it and the
	 * waiter waits again.
	 */
	if (wf_sem_trywait(&s) == 0) {
		fake_await_waiters(&s.word, 1);
		assert_int_equal(wf_sem_post(&s), 0);
	}
	fake_join(crew);
	fake_interrupt_every = 10;
	assert_int_equal(wf_sem_value(&s), 0);
	assert_int_equal(wf_sem_trywait(&s), -EAGAIN);
}

/*
 * The waiter gets the posted permit, even if another thread calls wait first.
 */
static void test_handed_over(void **state)
{
	struct fake_crew *crew;
	struct wf_sem s;

	wf_sem_init(&s, 0);
	wf_thread_self()->hint = 0;
	fake_interrupt_every = 0;
	crew = fake_start(2, wait_once, &s);
	fake_await_waiters(&s.word, 2);
	for (int left = 1; left >= 0; left--) {
		assert_int_equal(wf_sem_post(&s), 0);
		assert_int_equal(wf_sem_trywait(&s), -EAGAIN);
		assert_int_equal(fake_waiters(&s.word), left);
	}
	fake_join(crew);
	fake_interrupt_every = 10;
}

struct permits {
	struct wf_sem s;
	_Atomic int nr_left_to_take;
	_Atomic int nr_taken;
	_Atomic int nr_timed_out;
};

#define POSTS 3000

static void take_one(struct permits *p)
{
	struct timespec ts = fake_time(CLOCK_MONOTONIC, fake_random(50000));
	int rc;

	do {
		rc = fake_random(3) == 0 ?
			     wf_sem_clockwait(&p->s, CLOCK_MONOTONIC, &ts) :
			     wf_sem_wait(&p->s);
		if (rc == -ETIMEDOUT) {
			p->nr_timed_out++;
			ts = fake_time(CLOCK_MONOTONIC, fake_random(50000));
		}
	} while (rc != 0);
	p->nr_taken++;
}

static void post_or_take(void *arg, int number)
{
	struct permits *p = arg;

	if (number < 3) {
		for (int i = 0; i < POSTS; i++) {
			fake_check(wf_sem_post(&p->s) == 0);
			fake_delay();
		}
		return;
	}
	while (atomic_fetch_sub(&p->nr_left_to_take, 1) > 0)
		take_one(p);
}

static void test_permits_are_conserved(void **state)
{
	for (int i = 0; i < 5; i++) {
		struct permits p = { .nr_left_to_take = 3 * POSTS };

		wf_sem_init(&p.s, 0);
		fake_run(3 + 6, post_or_take, &p);
		assert_int_equal(p.nr_taken, 3 * POSTS);
		assert_int_equal(wf_sem_value(&p.s), 0);
		assert_int_equal(fake_waiters(&p.s.word), 0);
	}
}

static void post_once(void *arg, int number)
{
	fake_delay();
	fake_check(wf_sem_post(arg) == 0);
}

static void test_freed_after_the_wait(void **state)
{
	for (int i = 0; i < 3000; i++) {
		struct wf_sem *s = fake_page();
		struct fake_crew *crew = fake_start(1, post_once, s);

		while (wf_sem_wait(s) != 0)
			continue;
		fake_page_free(s);
		fake_join(crew);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_results),
		cmocka_unit_test(test_libc_layout),
		cmocka_unit_test(test_interrupted),
		cmocka_unit_test(test_no_waiter_is_left),
		cmocka_unit_test(test_handed_over),
		cmocka_unit_test(test_given_back),
		cmocka_unit_test(test_permits_are_conserved),
		cmocka_unit_test(test_freed_after_the_wait),
	};

	fake_seed();
	fake_interrupt_every = 10;
	return cmocka_run_group_tests(tests, NULL, NULL);
}

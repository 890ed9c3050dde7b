/* SPDX-License-Identifier: MIT */
/*
 * src/sync/mutex.c: types, results, mutual exclusion, hand-off, and an owner
 * that frees the mutex.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "fake_wait.h"
#include "os/clock.h"
#include "sync/mutex.h"

static struct wf_mutex with_kind(int kind)
{
	struct wf_mutex m;

	wf_mutex_init(&m, kind, 0);
	return m;
}

static void test_uncontended_needs_no_call(void **state)
{
	struct wf_mutex m = { .libc = PTHREAD_MUTEX_INITIALIZER };
	uint64_t calls = fake_calls();

	for (int i = 0; i < 1000; i++) {
		assert_int_equal(wf_mutex_lock(&m), 0);
		assert_int_equal(wf_mutex_unlock(&m), 0);
	}
	assert_int_equal(fake_calls(), calls);
}

static void test_static_initialisers(void **state)
{
	struct wf_mutex recursive = {
		.libc = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP
	};
	struct wf_mutex errorcheck = {
		.libc = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP
	};
	struct wf_mutex adaptive = {
		.libc = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP
	};

	assert_true(wf_mutex_checks_owner(&recursive));
	assert_true(wf_mutex_checks_owner(&errorcheck));
	assert_false(wf_mutex_checks_owner(&adaptive));
	assert_int_equal(wf_mutex_lock(&recursive), 0);
	assert_int_equal(wf_mutex_lock(&recursive), 0);
	assert_int_equal(wf_mutex_lock(&errorcheck), 0);
	assert_int_equal(wf_mutex_lock(&errorcheck), -EDEADLK);
	assert_int_equal(wf_mutex_lock(&adaptive), 0);
	assert_int_equal(wf_mutex_trylock(&adaptive), -EBUSY);
}

static void test_normal(void **state)
{
	struct wf_mutex m = with_kind(PTHREAD_MUTEX_NORMAL);
	struct timespec past = { 0 };
	struct timespec bad = { .tv_nsec = 1000000000 };

	assert_int_equal(wf_mutex_clocklock(&m, CLOCK_REALTIME, &bad), 0);
	assert_int_equal(wf_mutex_trylock(&m), -EBUSY);
	assert_int_equal(wf_mutex_clocklock(&m, CLOCK_REALTIME, &bad), -EINVAL);
	assert_int_equal(wf_mutex_clocklock(&m, CLOCK_REALTIME, &past),
			 -ETIMEDOUT);
	assert_int_equal(wf_mutex_clocklock(&m, CLOCK_MONOTONIC, &past),
			 -ETIMEDOUT);
	assert_int_equal(wf_mutex_fini(&m), -EBUSY);
	assert_int_equal(wf_mutex_unlock(&m), 0);
	/* unlocking a free one is allowed, as in libc */
	assert_int_equal(wf_mutex_unlock(&m), 0);
	assert_int_equal(wf_mutex_trylock(&m), 0);
	assert_int_equal(wf_mutex_unlock(&m), 0);
	assert_int_equal(wf_mutex_fini(&m), 0);
	assert_true(wf_mutex_is_libc(&m)); /* libc returns EINVAL */
}

static void test_recursive(void **state)
{
	struct wf_mutex m = with_kind(PTHREAD_MUTEX_RECURSIVE);

	assert_int_equal(wf_mutex_unlock(&m), -EPERM);
	for (int i = 0; i < 3; i++)
		assert_int_equal(wf_mutex_trylock(&m), 0);
	m.depth = UINT32_MAX;
	assert_int_equal(wf_mutex_lock(&m), -EAGAIN);
	m.depth = 2;
	for (int i = 0; i < 3; i++)
		assert_int_equal(wf_mutex_unlock(&m), 0);
	assert_int_equal(wf_mutex_unlock(&m), -EPERM);
	assert_int_equal(wf_mutex_fini(&m), 0);
}

static void test_errorcheck(void **state)
{
	struct wf_mutex m = with_kind(PTHREAD_MUTEX_ERRORCHECK);
	struct timespec past = { 0 };

	assert_int_equal(wf_mutex_unlock(&m), -EPERM);
	assert_int_equal(wf_mutex_lock(&m), 0);
	assert_int_equal(wf_mutex_lock(&m), -EDEADLK);
	assert_int_equal(wf_mutex_trylock(&m), -EBUSY);
	assert_int_equal(wf_mutex_clocklock(&m, CLOCK_REALTIME, &past),
			 -EDEADLK);
	assert_int_equal(wf_mutex_unlock(&m), 0);
}

static void try_as_other(void *arg, int number)
{
	struct wf_mutex *m = arg;

	fake_check(wf_mutex_trylock(m) == -EBUSY);
	fake_check(wf_mutex_unlock(m) == -EPERM);
}

static void test_owner_is_the_thread(void **state)
{
	struct wf_mutex recursive = with_kind(PTHREAD_MUTEX_RECURSIVE);
	struct wf_mutex errorcheck = with_kind(PTHREAD_MUTEX_ERRORCHECK);

	wf_mutex_lock(&recursive);
	wf_mutex_lock(&errorcheck);
	fake_run(1, try_as_other, &recursive);
	fake_run(1, try_as_other, &errorcheck);
}

static void test_ceiling(void **state)
{
	struct wf_mutex m;
	int ceiling;

	wf_mutex_init(&m, WF_MUTEX_PROTECT, 7);
	assert_int_equal(wf_mutex_ceiling(&m, &ceiling), 0);
	assert_int_equal(ceiling, 7);
	assert_int_equal(wf_mutex_set_ceiling(&m, 9, &ceiling), 0);
	assert_int_equal(ceiling, 7);
	assert_int_equal(wf_mutex_ceiling(&m, &ceiling), 0);
	assert_int_equal(ceiling, 9);
	assert_int_equal(m.word, WF_MUTEX_FREE);
	wf_mutex_init(&m, 0, 0);
	assert_int_equal(wf_mutex_ceiling(&m, &ceiling), -EINVAL);
}

/* --- exclusion ---------------------------------------------------------- */

struct shared {
	struct wf_mutex m;
	int nr_rounds;
	int inside;	  /* protected by m */
	uint64_t counter; /* protected by m */
	_Atomic uint64_t nr_locked;
	_Atomic uint64_t nr_timed_out;
};

static int lock_somehow(struct wf_mutex *m)
{
	struct timespec ts;

	switch (fake_random(4)) {
	case 0:
		return wf_mutex_trylock(m);
	case 1:
		ts = fake_time(CLOCK_MONOTONIC, fake_random(200000));
		return wf_mutex_clocklock(m, CLOCK_MONOTONIC, &ts);
	default:
		return wf_mutex_lock(m);
	}
}

static void contend(void *arg, int number)
{
	struct shared *s = arg;

	for (int i = 0; i < s->nr_rounds; i++) {
		int rc = lock_somehow(&s->m);

		if (rc == -ETIMEDOUT)
			s->nr_timed_out++;
		if (rc != 0) {
			fake_check(rc == -EBUSY || rc == -ETIMEDOUT);
			continue;
		}
		fake_check(s->inside++ == 0);
		s->counter++;
		fake_delay();
		fake_check(--s->inside == 0);
		s->nr_locked++;
		fake_check(wf_mutex_unlock(&s->m) == 0);
		fake_delay();
	}
}

static void test_exclusion(void **state)
{
	static const int kinds[] = { PTHREAD_MUTEX_NORMAL,
				     PTHREAD_MUTEX_RECURSIVE,
				     PTHREAD_MUTEX_ERRORCHECK,
				     PTHREAD_MUTEX_ADAPTIVE_NP };

	for (size_t i = 0; i < WF_ARRAY_LEN(kinds); i++) {
		struct shared s = { .m = with_kind(kinds[i]),
				    .nr_rounds = 4000 };

		fake_run(8, contend, &s);
		assert_int_equal(s.counter, s.nr_locked);
		assert_int_equal(fake_waiters(&s.m.word), 0);
		assert_int_equal(wf_mutex_lock(&s.m), 0);
		assert_int_equal(wf_mutex_unlock(&s.m), 0);
		assert_int_equal(s.m.word, WF_MUTEX_FREE);
	}
}

/* --- hand-off ----------------------------------------------------------- */

static void cpu_bound(void *arg, int number)
{
	struct shared *s = arg;

	/*
	 * Releases the lock only for an instant, so a woken thread always loses
	 * the race.
	 */
	while (wf_load_relaxed(&s->nr_locked) == 0) {
		int64_t until = wf_os_now() + 50 * WF_NS_PER_US;

		wf_mutex_lock(&s->m);
		while (wf_os_now() < until)
			continue;
		wf_mutex_unlock(&s->m);
	}
}

static void test_starving_thread_is_handed_the_mutex(void **state)
{
	for (int i = 0; i < 20; i++) {
		struct shared s = { .m = with_kind(0) };
		struct fake_crew *computing = fake_start(3, cpu_bound, &s);

		wf_mutex_lock(&s.m);
		s.nr_locked = 1;
		wf_mutex_unlock(&s.m);
		fake_join(computing);
		assert_int_equal(s.m.word & WF_MUTEX_LOCKED, 0);
		assert_int_equal(fake_waiters(&s.m.word), 0);
	}
}

static void wait_for_turn(void *arg, int number)
{
	struct shared *s = arg;

	fake_check(wf_mutex_lock(&s->m) == 0);
	fake_check(s->inside++ == 0);
	s->inside--;
	fake_check(wf_mutex_unlock(&s->m) == 0);
}

static void test_hand_off_keeps_the_word_locked(void **state)
{
	struct shared s = { .m = with_kind(0) };
	struct fake_crew *crew;

	wf_mutex_lock(&s.m);
	crew = fake_start(4, wait_for_turn, &s);
	fake_await_waiters(&s.m.word, 4);
	atomic_fetch_or(&s.m.word, WF_MUTEX_HANDOFF);
	wf_mutex_unlock(&s.m);
	fake_join(crew);
	assert_int_equal(s.m.word, WF_MUTEX_FREE);

	/* No thread waits, so the hand-off leaves the mutex free. */
	wf_mutex_lock(&s.m);
	atomic_fetch_or(&s.m.word, WF_MUTEX_CONTENDED | WF_MUTEX_HANDOFF);
	wf_mutex_unlock(&s.m);
	assert_int_equal(s.m.word, WF_MUTEX_FREE);
}

/* Wakes the waiter while the mutex is locked, as if it had lost a race. */
static void let_it_lose(struct wf_mutex *m, int nr_waiters)
{
	assert_int_equal(wf_ufutex_wake(&m->word, 1, WF_UFUTEX_ANY), 1);
	fake_await_waiters(&m->word, nr_waiters);
}

static void note_word(void *arg, int number)
{
	struct shared *s = arg;

	fake_check(wf_mutex_lock(&s->m) == 0);
	s->counter = s->counter << 4 | wf_load_relaxed(&s->m.word);
	fake_check(wf_mutex_unlock(&s->m) == 0);
}

static void test_starving_thread_asks_for_hand_off(void **state)
{
	struct shared s = { .m = with_kind(0) };
	struct timespec ts = { .tv_nsec = 2 * WF_NS_PER_MS };
	struct fake_crew *starving, *first, *last;

	fake_interrupt_every = 0;
	wf_mutex_lock(&s.m);
	starving = fake_start(1, note_word, &s);
	fake_await_waiters(&s.m.word, 1);
	let_it_lose(&s.m, 1);
	assert_int_equal(s.m.word & WF_MUTEX_HANDOFF, 0);
	first = fake_start(1, note_word, &s);
	fake_await_waiters(&s.m.word, 2);
	nanosleep(&ts, NULL);
	/* this is the starving thread, which then waits behind `first` */
	let_it_lose(&s.m, 2);
	assert_int_equal(s.m.word & WF_MUTEX_HANDOFF, WF_MUTEX_HANDOFF);
	last = fake_start(1, note_word, &s);
	fake_await_waiters(&s.m.word, 3);
	wf_mutex_unlock(&s.m);
	fake_join(first);
	fake_join(starving);
	fake_join(last);
	/*
	 * They lock in order. The starving thread ends the hand-off mode, and
	 * the last thread finds no other waiter.
	 */
	assert_int_equal(s.counter, 0x731);
	fake_interrupt_every = 10;
}

static void lock_in_vain(void *arg, int number)
{
	struct timespec ts = fake_time(CLOCK_MONOTONIC, 50 * WF_NS_PER_MS);

	fake_check(wf_mutex_clocklock(arg, CLOCK_MONOTONIC, &ts) == -ETIMEDOUT);
}

static void test_starving_thread_times_out(void **state)
{
	struct wf_mutex m = with_kind(0);
	struct timespec ts = { .tv_nsec = 2 * WF_NS_PER_MS };
	struct fake_crew *crew;

	fake_interrupt_every = 0;
	wf_mutex_lock(&m);
	crew = fake_start(1, lock_in_vain, &m);
	fake_await_waiters(&m.word, 1);
	let_it_lose(&m, 1);
	nanosleep(&ts, NULL);
	let_it_lose(&m, 1);
	assert_int_equal(m.word & WF_MUTEX_HANDOFF, WF_MUTEX_HANDOFF);
	fake_join(crew);
	assert_int_equal(m.word & WF_MUTEX_HANDOFF, 0);
	wf_mutex_unlock(&m);
	assert_int_equal(m.word, WF_MUTEX_FREE);
	fake_interrupt_every = 10;
}

/* --- the next owner may free it ----------------------------------------- */

struct counted {
	struct wf_mutex m;
	int nr_refs; /* protected by m */
};

static void drop_ref(void *arg, int number)
{
	struct counted *c = arg;
	int left;

	fake_delay();
	wf_mutex_lock(&c->m);
	left = --c->nr_refs;
	if (fake_random(4) == 0)
		atomic_fetch_or(&c->m.word, WF_MUTEX_HANDOFF);
	wf_mutex_unlock(&c->m);
	if (left == 0)
		fake_page_free(c);
}

static void test_unlock_does_not_touch_a_freed_mutex(void **state)
{
	for (int i = 0; i < 2000; i++) {
		struct counted *c = fake_page();

		c->nr_refs = 3;
		fake_run(3, drop_ref, c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_uncontended_needs_no_call),
		cmocka_unit_test(test_static_initialisers),
		cmocka_unit_test(test_normal),
		cmocka_unit_test(test_recursive),
		cmocka_unit_test(test_errorcheck),
		cmocka_unit_test(test_owner_is_the_thread),
		cmocka_unit_test(test_ceiling),
		cmocka_unit_test(test_exclusion),
		cmocka_unit_test(test_starving_thread_is_handed_the_mutex),
		cmocka_unit_test(test_hand_off_keeps_the_word_locked),
		cmocka_unit_test(test_starving_thread_asks_for_hand_off),
		cmocka_unit_test(test_starving_thread_times_out),
		cmocka_unit_test(test_unlock_does_not_touch_a_freed_mutex),
	};

	fake_seed();
	fake_interrupt_every = 10;
	return cmocka_run_group_tests(tests, NULL, NULL);
}

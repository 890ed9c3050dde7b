/* SPDX-License-Identifier: MIT */
/*
 * src/sync/rwlock.c: readers or one writer, preferences, results, and a holder
 * that frees the lock.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fake_wait.h"
#include "os/clock.h"
#include "sync/rwlock.h"

static void test_uncontended_needs_no_call(void **state)
{
	struct wf_rwlock l = { .libc = PTHREAD_RWLOCK_INITIALIZER };
	uint64_t calls = fake_calls();

	assert_int_equal(wf_rwlock_rdlock(&l), 0);
	assert_int_equal(wf_rwlock_rdlock(&l), 0);
	assert_int_equal(wf_rwlock_unlock(&l), 0);
	assert_int_equal(wf_rwlock_unlock(&l), 0);
	assert_int_equal(wf_rwlock_wrlock(&l), 0);
	assert_int_equal(wf_rwlock_unlock(&l), 0);
	/* unlocking a free lock is harmless */
	assert_int_equal(wf_rwlock_unlock(&l), 0);
	assert_int_equal(l.word, WF_RWLOCK_FREE);
	assert_int_equal(fake_calls(), calls);
}

static void test_results(void **state)
{
	struct timespec past = { 0 };
	struct timespec bad = { .tv_nsec = 1000000000 };
	struct wf_rwlock l;

	wf_rwlock_init(&l, PTHREAD_RWLOCK_DEFAULT_NP);
	assert_int_equal(wf_rwlock_clockrdlock(&l, CLOCK_REALTIME, &bad),
			 -EINVAL);
	assert_int_equal(wf_rwlock_clockwrlock(&l, CLOCK_TAI, &past), -EINVAL);
	assert_int_equal(wf_rwlock_trywrlock(&l), 0);
	assert_int_equal(wf_rwlock_wrlock(&l), -EDEADLK);
	assert_int_equal(wf_rwlock_rdlock(&l), -EDEADLK);
	assert_int_equal(wf_rwlock_clockwrlock(&l, CLOCK_REALTIME, &past),
			 -EDEADLK);
	assert_int_equal(wf_rwlock_tryrdlock(&l), -EBUSY);
	assert_int_equal(wf_rwlock_trywrlock(&l), -EBUSY);
	wf_rwlock_unlock(&l);
	assert_int_equal(wf_rwlock_tryrdlock(&l), 0);
	assert_int_equal(wf_rwlock_trywrlock(&l), -EBUSY);
	assert_int_equal(wf_rwlock_clockwrlock(&l, CLOCK_REALTIME, &past),
			 -ETIMEDOUT);
	wf_rwlock_unlock(&l);
	assert_int_equal(wf_rwlock_trywrlock(&l), 0);
	wf_rwlock_unlock(&l);
	l.word = WF_RWLOCK_READERS;
	assert_int_equal(wf_rwlock_rdlock(&l), -EAGAIN);
	assert_int_equal(wf_rwlock_tryrdlock(&l), -EAGAIN);
	wf_rwlock_unlock(&l);
	assert_int_equal(wf_rwlock_rdlock(&l), 0);
}

/* --- preferences -------------------------------------------------------- */

static void write_once(void *arg, int number)
{
	struct wf_rwlock *l = arg;

	fake_check(wf_rwlock_wrlock(l) == 0);
	wf_rwlock_unlock(l);
}

static void test_readers_pass_a_waiting_writer(void **state)
{
	struct wf_rwlock l = { 0 };
	struct fake_crew *crew;

	wf_rwlock_rdlock(&l);
	crew = fake_start(1, write_once, &l);
	fake_await_waiters(&l.word, 1);
	assert_int_equal(wf_rwlock_tryrdlock(&l), 0);
	assert_int_equal(wf_rwlock_rdlock(&l), 0);
	for (int i = 0; i < 3; i++)
		wf_rwlock_unlock(&l);
	fake_join(crew);
}

static void test_preferred_writer_keeps_readers_out(void **state)
{
	struct wf_rwlock l = {
		.libc = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP
	};
	struct timespec past = { 0 };
	struct fake_crew *crew;

	wf_rwlock_rdlock(&l);
	crew = fake_start(1, write_once, &l);
	fake_await_waiters(&l.word, 1);
	assert_int_equal(wf_rwlock_tryrdlock(&l), -EBUSY);
	assert_int_equal(wf_rwlock_clockrdlock(&l, CLOCK_REALTIME, &past),
			 -ETIMEDOUT);
	wf_rwlock_unlock(&l);
	fake_join(crew);
}

static void read_once(void *arg, int number)
{
	struct wf_rwlock *l = arg;

	fake_check(wf_rwlock_rdlock(l) == 0);
	wf_rwlock_unlock(l);
}

/*
 * When a preferred writer times out, the readers that it held back get the
 * lock.
 */
static void test_preferred_writer_times_out(void **state)
{
	struct wf_rwlock l;
	struct timespec soon = fake_time(CLOCK_MONOTONIC, 20 * WF_NS_PER_MS);
	struct fake_crew *crew;

	wf_rwlock_init(&l, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	wf_rwlock_rdlock(&l);
	atomic_fetch_or(&l.word, WF_RWLOCK_WRITERS_WAIT);
	crew = fake_start(3, read_once, &l);
	fake_await_waiters(&l.word, 3);
	assert_int_equal(wf_rwlock_clockwrlock(&l, CLOCK_MONOTONIC, &soon),
			 -ETIMEDOUT);
	fake_join(crew); /* this thread holds it for reading */
	wf_rwlock_unlock(&l);
	assert_int_equal(l.word & ~WF_RWLOCK_READERS_WAIT, WF_RWLOCK_FREE);
}

/*
 * The kind of waiter that is woken first has left, so the other kind is woken.
 */
static void test_stale_bit_does_not_hide_the_others(void **state)
{
	struct timespec past = { 0 };
	struct wf_rwlock l;
	struct fake_crew *crew;

	wf_rwlock_init(&l, PTHREAD_RWLOCK_DEFAULT_NP);
	wf_rwlock_trywrlock(&l);
	atomic_fetch_or(&l.word, WF_RWLOCK_READERS_WAIT);
	crew = fake_start(2, write_once, &l);
	fake_await_waiters(&l.word, 2);
	wf_rwlock_unlock(&l);
	fake_join(crew);

	wf_rwlock_init(&l, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	wf_rwlock_trywrlock(&l);
	assert_int_equal(wf_rwlock_clockwrlock(&l, CLOCK_REALTIME, &past),
			 -EDEADLK);
	atomic_fetch_or(&l.word, WF_RWLOCK_WRITERS_WAIT);
	crew = fake_start(3, read_once, &l);
	fake_await_waiters(&l.word, 3);
	wf_rwlock_unlock(&l);
	fake_join(crew);
}

/* --- exclusion ---------------------------------------------------------- */

struct shared {
	struct wf_rwlock l;
	_Atomic int nr_readers, nr_writers;
	uint64_t counter; /* protected by l */
	_Atomic uint64_t nr_written;
};

static int lock_somehow(struct wf_rwlock *l, bool for_writing)
{
	struct timespec ts = fake_time(CLOCK_MONOTONIC, fake_random(200000));

	switch (fake_random(4)) {
	case 0:
		return for_writing ? wf_rwlock_trywrlock(l) :
				     wf_rwlock_tryrdlock(l);
	case 1:
		return for_writing ?
			       wf_rwlock_clockwrlock(l, CLOCK_MONOTONIC, &ts) :
			       wf_rwlock_clockrdlock(l, CLOCK_MONOTONIC, &ts);
	default:
		return for_writing ? wf_rwlock_wrlock(l) : wf_rwlock_rdlock(l);
	}
}

static void use_it(struct shared *s, bool for_writing)
{
	if (for_writing) {
		fake_check(s->nr_writers++ == 0);
		fake_check(s->nr_readers == 0);
		s->counter++;
		s->nr_written++;
		fake_delay();
		s->nr_writers--;
	} else {
		uint64_t before = s->counter;

		s->nr_readers++;
		fake_check(s->nr_writers == 0);
		fake_delay();
		fake_check(s->counter == before);
		s->nr_readers--;
	}
}

static void contend(void *arg, int number)
{
	struct shared *s = arg;

	for (int i = 0; i < 3000; i++) {
		bool for_writing = fake_random(number < 4 ? 2 : 10) == 0;
		int rc = lock_somehow(&s->l, for_writing);

		if (rc != 0) {
			fake_check(rc == -EBUSY || rc == -ETIMEDOUT);
			continue;
		}
		use_it(s, for_writing);
		wf_rwlock_unlock(&s->l);
		fake_delay();
	}
}

static void test_exclusion(void **state)
{
	static const int flags[] = {
		PTHREAD_RWLOCK_DEFAULT_NP,
		PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP,
	};

	for (int i = 0; i < 8; i++) {
		struct shared s = { .counter = 0 };

		wf_rwlock_init(&s.l, flags[i & 1]);
		fake_run(8, contend, &s);
		assert_int_equal(s.counter, s.nr_written);
		assert_int_equal(fake_waiters(&s.l.word), 0);
		assert_int_equal(wf_rwlock_trywrlock(&s.l), 0);
	}
}

/* --- the next holder may free it ---------------------------------------- */

struct counted {
	struct wf_rwlock l;
	int nr_refs; /* protected by l */
};

static void drop_ref(void *arg, int number)
{
	struct counted *c = arg;
	int left;

	fake_delay();
	wf_rwlock_rdlock(&c->l);
	wf_rwlock_unlock(&c->l);
	wf_rwlock_wrlock(&c->l);
	left = --c->nr_refs;
	wf_rwlock_unlock(&c->l);
	if (left == 0)
		fake_page_free(c);
}

static void test_unlock_does_not_touch_a_freed_lock(void **state)
{
	for (int i = 0; i < 2000; i++) {
		struct counted *c = fake_page();

		wf_rwlock_init(&c->l, i & 1 ? 2 : 0);
		c->nr_refs = 3;
		fake_run(3, drop_ref, c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_uncontended_needs_no_call),
		cmocka_unit_test(test_results),
		cmocka_unit_test(test_readers_pass_a_waiting_writer),
		cmocka_unit_test(test_preferred_writer_keeps_readers_out),
		cmocka_unit_test(test_preferred_writer_times_out),
		cmocka_unit_test(test_stale_bit_does_not_hide_the_others),
		cmocka_unit_test(test_exclusion),
		cmocka_unit_test(test_unlock_does_not_touch_a_freed_lock),
	};

	fake_seed();
	fake_interrupt_every = 10;
	return cmocka_run_group_tests(tests, NULL, NULL);
}

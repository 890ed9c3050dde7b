/* SPDX-License-Identifier: MIT */
/*
 * src/sync/cond.c: no signal is lost; time-outs, requeued waiters, destruction.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "fake_wait.h"
#include "os/clock.h"
#include "os/mem.h"
#include "sync/cond.h"
#include "sync/inherit.h"
#include "sync/shared.h"

/* libc's mutexes are not tested here. */
bool wf_shared_is_ours(const pthread_mutex_t *m)
{
	return false;
}

int wf_shared_trylock(pthread_mutex_t *m)
{
	return pthread_mutex_trylock(m);
}

int wf_shared_unlock(pthread_mutex_t *m)
{
	return pthread_mutex_unlock(m);
}

void wf_shared_end(pthread_mutex_t *m)
{
}

int wf_inherit_lock(pthread_mutex_t *m, clockid_t clock,
		    const struct timespec *abstime)
{
	return pthread_mutex_lock(m);
}

int wf_inherit_unlock(pthread_mutex_t *m)
{
	return pthread_mutex_unlock(m);
}

static void test_without_waiters_it_is_no_call(void **state)
{
	struct wf_cond c = { .libc = PTHREAD_COND_INITIALIZER };
	uint64_t calls = fake_calls();

	assert_int_equal(wf_cond_signal(&c), 0);
	assert_int_equal(wf_cond_broadcast(&c), 0);
	assert_int_equal(wf_cond_fini(&c), 0);
	assert_int_equal(fake_calls(), calls);
	assert_int_equal(wf_cond_clock(&c), CLOCK_REALTIME);
	assert_int_equal(wf_cond_init(&c, CLOCK_MONOTONIC), 0);
	assert_int_equal(wf_cond_clock(&c), CLOCK_MONOTONIC);
	assert_false(wf_cond_is_shared(&c));
	assert_int_equal(wf_cond_init(&c, CLOCK_TAI), -EINVAL);
}

static void test_errors(void **state)
{
	struct wf_cond c = { 0 };
	struct wf_mutex m;

	wf_mutex_init(&m, PTHREAD_MUTEX_ERRORCHECK, 0);
	assert_int_equal(wf_cond_wait(&c, &m, WF_FOREVER), -EPERM);
	assert_int_equal(c.waiters, 0);
	assert_int_equal(wf_mutex_lock(&m), 0);
	assert_int_equal(wf_cond_wait(&c, &m, 0), -ETIMEDOUT);
	assert_int_equal(wf_cond_wait(&c, &m, wf_os_now() + 1000000),
			 -ETIMEDOUT);
	/* locked by this thread */
	assert_int_equal(wf_mutex_lock(&m), -EDEADLK);
	assert_int_equal(c.waiters, 0);
}

/* --- tokens: each signal lets somebody have one ------------------------- */

struct queue {
	struct wf_mutex m;
	struct wf_cond c;
	int nr_tokens;	 /* protected by m, like the following fields */
	int nr_expected; /* by consumers, in total */
	int nr_taken;
	int nr_rounds;
	bool use_broadcast;
	bool signal_with_lock;
};

static void consume(struct queue *q)
{
	wf_mutex_lock(&q->m);
	for (;;) {
		int64_t deadline = WF_FOREVER;
		int rc;

		if (q->nr_taken == q->nr_expected)
			break;
		if (q->nr_tokens > 0) {
			q->nr_tokens--;
			q->nr_taken++;
			if (q->nr_taken == q->nr_expected)
				wf_cond_broadcast(&q->c);
			continue;
		}
		/*
		 * Only some waits have a deadline: a time-out must not hide a
		 * lost signal.
		 */
		if (fake_random(4) == 0)
			deadline = wf_os_now() + fake_random(300000);
		rc = wf_cond_wait(&q->c, &q->m, deadline);
		fake_check(rc == 0 || rc == -ETIMEDOUT);
		fake_check(wf_load_relaxed(&q->m.owner) == wf_owner_self());
		if (rc == -ETIMEDOUT)
			fake_check(wf_os_now() >= deadline);
	}
	wf_mutex_unlock(&q->m);
}

static void produce(struct queue *q)
{
	for (int i = 0; i < q->nr_rounds; i++) {
		int n = q->use_broadcast ? 1 + (int)fake_random(3) : 1;

		wf_mutex_lock(&q->m);
		q->nr_tokens += 1;
		if (!q->signal_with_lock)
			wf_mutex_unlock(&q->m);
		if (q->use_broadcast && n > 1)
			wf_cond_broadcast(&q->c);
		else
			wf_cond_signal(&q->c);
		if (q->signal_with_lock)
			wf_mutex_unlock(&q->m);
		fake_delay();
	}
}

static void run_queue(void *arg, int number)
{
	if (number < 3)
		produce(arg);
	else
		consume(arg);
}

static void test_no_signal_is_lost(void **state)
{
	for (int i = 0; i < 24; i++) {
		struct queue q = { .nr_rounds = 400,
				   .nr_expected = 3 * 400,
				   .use_broadcast = i & 1,
				   .signal_with_lock = i & 2 };

		if (i & 4)
			wf_mutex_init(&q.m, PTHREAD_MUTEX_ERRORCHECK, 0);
		fake_run(3 + 6, run_queue, &q);
		assert_int_equal(q.nr_taken, q.nr_expected);
		assert_int_equal(q.c.waiters, 0);
		assert_int_equal(q.m.word & WF_MUTEX_LOCKED, 0);
		assert_int_equal(fake_waiters(&q.c.seq), 0);
		assert_int_equal(fake_waiters(&q.m.word), 0);
	}
}

/*
 * Each waiter gets one signal after it has begun to wait. If a signal went to a
 * later waiter, one of these would hang.
 */
static void wait_once(void *arg, int number)
{
	struct queue *q = arg;

	wf_mutex_lock(&q->m);
	q->nr_taken++;
	while (q->nr_tokens == 0)
		wf_cond_wait(&q->c, &q->m, WF_FOREVER);
	q->nr_tokens--;
	wf_mutex_unlock(&q->m);
}

static void test_one_signal_each(void **state)
{
	for (int i = 0; i < 200; i++) {
		struct queue q = { 0 };
		struct fake_crew *crew = fake_start(5, wait_once, &q);

		for (int n = 0; n < 5;) {
			wf_mutex_lock(&q.m);
			if (q.nr_taken > n) {
				q.nr_tokens++;
				n++;
				wf_cond_signal(&q.c);
			}
			wf_mutex_unlock(&q.m);
		}
		fake_join(crew);
	}
}

/* --- broadcast moves ---------------------------------------------------- */

static void wait_for_go(void *arg, int number)
{
	struct queue *q = arg;

	wf_mutex_lock(&q->m);
	while (q->nr_tokens == 0)
		fake_check(wf_cond_wait(&q->c, &q->m,
					wf_os_now() + WF_NS_PER_S * 60) == 0);
	q->nr_taken++;
	wf_mutex_unlock(&q->m);
}

static void test_broadcast_moves_to_the_held_mutex(void **state)
{
	struct queue q = { 0 };
	struct fake_crew *crew = fake_start(6, wait_for_go, &q);

	fake_await_waiters(&q.c.seq, 6);
	wf_mutex_lock(&q.m);
	q.nr_tokens = 1;
	wf_cond_broadcast(&q.c);
	assert_int_equal(fake_waiters(&q.m.word), 6);
	assert_int_equal(q.c.waiters, 0);
	/* fini succeeds although the waiters still want the mutex. */
	assert_int_equal(wf_cond_fini(&q.c), 0);
	wf_mutex_unlock(&q.m);
	fake_join(crew);
	assert_int_equal(q.nr_taken, 6);
}

static void test_broadcast_without_the_mutex(void **state)
{
	for (int i = 0; i < 300; i++) {
		struct queue q = { 0 };
		struct fake_crew *crew = fake_start(6, wait_for_go, &q);

		fake_delay();
		wf_mutex_lock(&q.m);
		q.nr_tokens = 1;
		wf_mutex_unlock(&q.m);
		wf_cond_broadcast(&q.c);
		fake_join(crew);
		assert_int_equal(q.nr_taken, 6);
		assert_int_equal(fake_waiters(&q.m.word), 0);
	}
}

static void wait_briefly(void *arg, int number)
{
	struct queue *q = arg;
	int64_t deadline = wf_os_now() + 5 * WF_NS_PER_MS;
	int rc = 0;

	wf_mutex_lock(&q->m);
	while (q->nr_tokens == 0 && rc == 0)
		rc = wf_cond_wait(&q->c, &q->m, deadline);
	fake_check(rc == 0);
	wf_mutex_unlock(&q->m);
}

static void test_moved_waiter_was_woken_not_timed_out(void **state)
{
	struct timespec ts = { .tv_nsec = 10 * WF_NS_PER_MS };
	struct queue q = { 0 };
	struct fake_crew *crew;

	fake_interrupt_every = 0;
	crew = fake_start(2, wait_briefly, &q);
	fake_await_waiters(&q.c.seq, 2);
	wf_mutex_lock(&q.m);
	q.nr_tokens = 1;
	wf_cond_broadcast(&q.c);
	/* the deadline passes while they wait for the mutex */
	nanosleep(&ts, NULL);
	fake_await_waiters(&q.m.word, 2);
	wf_mutex_unlock(&q.m);
	fake_join(crew);
	assert_int_equal(q.c.waiters, 0);
	fake_interrupt_every = 10;
}

struct ending {
	struct wf_mutex m;
	struct queue *q; /* on its own page; the pointer is protected by m */
	int nr_inside;	 /* protected by m */
};

static void wait_until_freed(void *arg, int number)
{
	struct ending *e = arg;

	wf_mutex_lock(&e->m);
	e->nr_inside++;
	while (e->q != NULL && e->q->nr_tokens == 0) {
		int64_t deadline = WF_FOREVER;

		if (number != 0 && fake_random(2) == 0)
			deadline = wf_os_now() + fake_random(100000);
		wf_cond_wait(&e->q->c, &e->m, deadline);
	}
	wf_mutex_unlock(&e->m);
}

static void test_moved_waiter_is_interrupted(void **state)
{
	struct ending e = { .q = fake_page() };
	struct queue *q = e.q;
	struct fake_crew *crew;

	fake_interrupt_every = 0;
	crew = fake_start(1, wait_until_freed, &e);
	fake_await_waiters(&q->c.seq, 1);
	wf_mutex_lock(&e.m);
	e.q = NULL;
	wf_cond_broadcast(&q->c);
	fake_page_free(q);
	fake_await_waiters(&e.m.word, 1);
	fake_interrupt(&e.m.word);
	fake_await_waiters(&e.m.word, 1); /* waits for the mutex only */
	wf_mutex_unlock(&e.m);
	fake_join(crew);
	fake_interrupt_every = 10;
}

/* --- two mutexes, which POSIX forbids ----------------------------------- */

struct other {
	struct queue q;
	struct wf_mutex second;
};

static void wait_with_own_mutex(void *arg, int number)
{
	struct other *o = arg;
	struct wf_mutex *m = number & 1 ? &o->second : &o->q.m;

	wf_mutex_lock(m);
	while (wf_load_relaxed((_Atomic int *)&o->q.nr_tokens) == 0)
		wf_cond_wait(&o->q.c, m, WF_FOREVER);
	wf_mutex_unlock(m);
}

static void test_waiters_with_two_mutexes(void **state)
{
	for (int i = 0; i < 100; i++) {
		struct other o = { 0 };
		struct fake_crew *crew = fake_start(4, wait_with_own_mutex, &o);

		while (fake_waiters(&o.q.c.seq) < 4)
			continue;
		wf_mutex_lock(&o.q.m);
		wf_mutex_lock(&o.second);
		wf_store_relaxed((_Atomic int *)&o.q.nr_tokens, 1);
		wf_cond_broadcast(&o.q.c);
		wf_mutex_unlock(&o.second);
		wf_mutex_unlock(&o.q.m);
		fake_join(crew);
	}
}

/* --- destroying right after the wake ------------------------------------ */

static void test_destroy_after_broadcast(void **state)
{
	for (int i = 0; i < 1000; i++) {
		struct ending e = { .q = fake_page() };
		struct queue *q = e.q;
		struct fake_crew *crew = fake_start(4, wait_until_freed, &e);

		for (int inside = 0; inside < 2;) {
			wf_mutex_lock(&e.m);
			inside = e.nr_inside;
			wf_mutex_unlock(&e.m);
		}
		wf_mutex_lock(&e.m);
		e.q = NULL;
		wf_cond_broadcast(&q->c);
		if (i & 1)
			wf_mutex_unlock(&e.m);
		wf_cond_fini(&q->c);
		fake_page_free(q);
		if (!(i & 1))
			wf_mutex_unlock(&e.m);
		fake_join(crew);
	}
}

/* COND-8: the counted waiter has left and freed its mutex. */
static void test_broadcast_after_the_waiter_left(void **state)
{
	struct wf_mutex *m = mmap(NULL, WF_PAGE, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct wf_cond c = { 0 };

	assert_ptr_not_equal(m, MAP_FAILED);
	assert_int_equal(wf_mutex_lock(m), 0);
	assert_int_equal(wf_cond_wait(&c, m, 0), -ETIMEDOUT);
	assert_int_equal(munmap(m, WF_PAGE), 0);
	wf_cond_broadcast_slow(&c);
	assert_int_equal(c.waiters, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without_waiters_it_is_no_call),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_no_signal_is_lost),
		cmocka_unit_test(test_one_signal_each),
		cmocka_unit_test(test_broadcast_moves_to_the_held_mutex),
		cmocka_unit_test(test_broadcast_without_the_mutex),
		cmocka_unit_test(test_moved_waiter_was_woken_not_timed_out),
		cmocka_unit_test(test_moved_waiter_is_interrupted),
		cmocka_unit_test(test_waiters_with_two_mutexes),
		cmocka_unit_test(test_destroy_after_broadcast),
		cmocka_unit_test(test_broadcast_after_the_waiter_left),
	};

	fake_seed();
	fake_interrupt_every = 10;
	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "sync/sem.h"

#include <string.h>

#include "wait/sleep.h"

/*
 * Semaphore, slow paths.
 *
 * S1. A permit is in the value or has been taken by exactly one CAS; nothing
 *     else carries permits. So no race of a post with a time-out, a signal or
 *     another waiter can lose one.
 * S2. A post touches the object with one atomic, which also tells whether
 *     there are waiters; after that only the address is used, as a key. The
 *     thread that got the permit may free the semaphore.
 * S3. A waiter is registered before it parks and parks only while the value
 *     is 0. So a post that finds no waiter came before the registration, and
 *     the waiter sees its permit; one that finds a waiter wakes the first
 *     that is parked. A woken thread that finds the value taken again waits
 *     again; whoever took it needed no wake.
 * S4. Taking a permit and deregistering are one CAS, after which the waiter
 *     does not touch the object either.
 *
 * Data   v, n -> v + 1, n      [wf_sem_post]
 *        v, n -> v - 1, n      [wf_sem_trywait]
 *        v, n -> v, n + 1      [wf_sem_wait_slow, registers]
 *        v, n -> v - 1, n - 1  [try_leave]
 *        v, n -> v, n - 1      [wf_sem_wait_slow, gives up]
 *
 * Rejected: giving the permit to the woken thread directly. It would keep the
 * order, but each post to a waiter would cost a switch.
 */

/* Does not block. For process-private ones. */
int wf_sem_init(struct wf_sem *s, unsigned int value)
{
	if (value > SEM_VALUE_MAX)
		return -EINVAL;
	memset(s, 0, sizeof(*s));
	atomic_store_explicit(&s->data, value, memory_order_relaxed);
	return 0;
}

/* A registered waiter takes a permit if there is one. S4 */
static bool try_leave(struct wf_sem *s)
{
	uint64_t data = wf_load_relaxed(&s->data);

	while ((data & WF_SEM_VALUE_MASK) != 0)
		/* acquire: pairs with the release in wf_sem_post. */
		if (wf_cas_acq_rel(&s->data, &data, data - 1 - WF_SEM_WAITER))
			return true;
	return false;
}

WF_COLD int wf_sem_wait_slow(struct wf_sem *s, int64_t deadline_ns)
{
	/* relaxed: the user futex compares under a lock. S3 */
	atomic_fetch_add_explicit(&s->data, WF_SEM_WAITER,
				  memory_order_relaxed);
	while (!try_leave(s)) {
		int rc = wf_ufutex_wait(&s->value, 0, WF_UFUTEX_ANY,
					deadline_ns);

		if (rc != -ETIMEDOUT && rc != -EINTR && rc != -ECANCELED)
			continue;
		/* S1: a permit that came just now stays in the value. A
		 * cancellation point tests here, registered. */
		atomic_fetch_sub_explicit(&s->data, WF_SEM_WAITER,
					  memory_order_relaxed);
		return rc;
	}
	return 0;
}

WF_COLD int wf_sem_clockwait_slow(struct wf_sem *s, clockid_t clock,
				  const struct timespec *ts)
{
	int64_t deadline_ns;
	int rc = wf_deadline_from_abs(clock, ts, &deadline_ns);

	return rc != 0 ? rc : wf_sem_wait_slow(s, deadline_ns);
}

WF_COLD void wf_sem_wake_slow(struct wf_sem *s)
{
	wf_ufutex_wake(&s->value, 1, WF_UFUTEX_ANY);
}

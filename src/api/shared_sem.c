/*
 * libc's word: the value in its lower half, which is the futex, the number of
 * waiters in its upper half. A post adds to the value and wakes one if there
 * are waiters.
 *
 * Q1. Who may sleep has counted itself in. Taking a permit and counting oneself
 *     out is one step, so the number of waiters is never too small.
 * Q2. A handler ends the wait with EINTR also if the sleep ended otherwise
 *     meanwhile, as it does when the I/O server that sleeps for the thread is
 *     killed. Then somebody may have woken this waiter and no other, so it
 *     looks at the value first. [wait_for_value]
 */
#include "api/shared_sem.h"

#include <errno.h>
#include <linux/futex.h>

#include "base/atomic.h"
#include "io/futex.h"
#include "sched/runtime.h"
#include "wait/sleep.h"
#include "wait/ufutex.h"

#define VALUE UINT64_C(0xffffffff)
#define ONE_WAITER (UINT64_C(1) << 32)

_Static_assert(sizeof(sem_t) >= 16 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	       "the value lies in the first four bytes");

/* For a value other than 0. -EAGAIN: look at the value. */
static int wait_for_value(_Atomic uint64_t *data, int64_t deadline_ns,
			  uint32_t nr_handlers)
{
	int rc;

	if (wf_thread_self()->interrupted) /* Q2 */
		return -EINTR;
	rc = wf_io_futex_wait(data, 0, FUTEX_BITSET_MATCH_ANY, deadline_ns);
	if (deadline_ns != WF_FOREVER)
		rc = wf_sleep_outcome(rc, nr_handlers);
	return rc == 0 || rc == -ERESTART ? -EAGAIN : rc;
}

int wf_shared_sem_wait(sem_t *sem, int64_t deadline_ns)
{
	_Atomic uint64_t *data = (_Atomic uint64_t *)sem;
	uint64_t now = atomic_load_explicit(data, memory_order_relaxed);
	uint32_t nr_handlers;

	while ((now & VALUE) != 0)
		/* acquire: pairs with the release in sem_post. */
		if (wf_cas_acq_rel(data, &now, now - 1))
			return 0;
	now = atomic_fetch_add(data, ONE_WAITER) + ONE_WAITER; /* Q1 */
	nr_handlers = wf_thread_self()->nr_handlers;
	wf_thread_self()->interrupted = false;
	for (;;) {
		int rc = -EAGAIN;

		if ((now & VALUE) == 0)
			rc = wait_for_value(data, deadline_ns, nr_handlers);
		else if (wf_cas_acq_rel(data, &now, now - 1 - ONE_WAITER))
			return 0;
		if (rc != -EAGAIN) {
			atomic_fetch_sub(data, ONE_WAITER);
			return rc;
		}
		now = atomic_load_explicit(data, memory_order_relaxed);
	}
}

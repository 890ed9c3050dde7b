/* SPDX-License-Identifier: MIT */
/*
 * Process-shared semaphores, on libc's word and by its rules, since a process
 * without weft may use the same semaphore. The word has 64 bits. Its lower half
 * is the value, and the futex that threads sleep on. The upper half counts the
 * waiters. A post increments the value, and wakes one thread if there are
 * waiters.
 *
 * SHARED_SEM-1. A thread counts itself as a waiter before it sleeps. It takes a
 *     permit and leaves the count in one step. So the count is never too low.
 * SHARED_SEM-2. A signal handler ends the wait with EINTR, even if the sleep
 *     ended for another reason, as the death of the I/O worker that sleeps for
 *     the thread. A post may have woken only this thread, so it tries to take a
 *     permit first. [wait_for_value]
 * SHARED_SEM-3. A thread that leaves its wait by a jump or by its exit leaves
 *     the count. A post may have woken it, so it wakes another thread if the
 *     value is not 0. [leave_wait]
 */
#include "shared/sem.h"

#include <errno.h>
#include <linux/futex.h>

#include "base/atomic.h"
#include "io/call/futex.h"
#include "libc/cleanup.h"
#include "os/sys.h"
#include "sched/runtime.h"
#include "wait/sleep.h"
#include "wait/ufutex.h"

#define VALUE UINT64_C(0xffffffff)
#define ONE_WAITER (UINT64_C(1) << 32)

_Static_assert(sizeof(sem_t) >= 16 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	       "the value lies in the first four bytes");

/*
 * Waits until the value is not 0. Returns -EAGAIN if the caller has to check it
 * again.
 */
static int wait_for_value(_Atomic uint64_t *data, int64_t deadline_ns,
			  uint32_t nr_handlers)
{
	int rc;

	if (wf_thread_self()->interrupted) /* SHARED_SEM-2: a handler ran */
		return -EINTR;
	rc = wf_io_futex_wait(data, 0, FUTEX_BITSET_MATCH_ANY, deadline_ns);
	if (deadline_ns != WF_FOREVER)
		rc = wf_sleep_result(rc, nr_handlers);
	return rc == 0 || rc == -ERESTART ? -EAGAIN : rc;
}

struct waiter {
	_Atomic uint64_t *data;
	bool is_counted; /* is in the count of waiters */
};

/*
 * Cleans up after a thread that leaves its wait by a jump or its exit.
 * SHARED_SEM-3
 */
static void leave_wait(void *waiter)
{
	struct waiter *w = waiter;

	if (!w->is_counted)
		return;
	if ((atomic_fetch_sub(w->data, ONE_WAITER) & VALUE) != 0)
		wf_sys(SYS_futex, w->data, FUTEX_WAKE, 1);
}

static int await_permit(struct waiter *w, int64_t deadline_ns)
{
	uint32_t nr_handlers = wf_thread_self()->nr_handlers;
	_Atomic uint64_t *data = w->data;
	uint64_t now;

	wf_thread_self()->interrupted = false;
	w->is_counted = true;
	/* SHARED_SEM-1: counts itself before it sleeps. */
	now = atomic_fetch_add(data, ONE_WAITER) + ONE_WAITER;
	for (;;) {
		int rc = -EAGAIN;

		if ((now & VALUE) == 0)
			rc = wait_for_value(data, deadline_ns, nr_handlers);
		else if (wf_cas_acq_rel(data, &now, now - 1 - ONE_WAITER))
			rc = 0;
		if (rc != -EAGAIN) {
			w->is_counted = false;
			if (rc != 0)
				atomic_fetch_sub(data, ONE_WAITER);
			return rc;
		}
		now = atomic_load_explicit(data, memory_order_relaxed);
	}
}

int wf_shared_sem_wait(sem_t *sem, int64_t deadline_ns)
{
	WF_CLEANUP struct wf_cleanup cleanup = WF_CLEANUP_NONE;
	struct waiter w = { .data = (_Atomic uint64_t *)sem };
	uint64_t now = atomic_load_explicit(w.data, memory_order_relaxed);
	int rc;

	while ((now & VALUE) != 0)
		/* acquire: pairs with the release in sem_post. */
		if (wf_cas_acq_rel(w.data, &now, now - 1))
			return 0;
	wf_cleanup_begin_own(&cleanup, leave_wait, &w);
	rc = await_permit(&w, deadline_ns);
	wf_cleanup_end(&cleanup);
	return rc;
}

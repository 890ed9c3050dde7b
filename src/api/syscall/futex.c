/* SPDX-License-Identifier: MIT */
/*
 * futex(2) for programs that call it by syscall(). A thread that waits with the
 * private flag parks in the table of the user futex. Only wakes by this process
 * can end its wait. All other waits are the kernel's, since other processes or
 * the kernel may end them. So a wake may have to wake waiters of both kinds. It
 * wakes those of the table first, then calls the kernel for the remaining
 * number.
 *
 * FUTEX-1. A wait with the private flag is ended by wakes through this function
 *     only: the kernel does not know of it.
 * FUTEX-2. A word of the program is read or changed with in_runtime 0 before
 *     the user futex reads it under its lock. So a page fault, or a fault that
 *     kills the program, happens outside the runtime.
 * FUTEX-3. Wakes that the kernel makes itself (thread exit, robust lists) have
 *     no private flag. The waits for them have none either, and are the
 *     kernel's.
 * FUTEX-4. A wait without the private flag is the kernel's, since a process
 *     without weft may end it. The VP's ring makes it where it can.
 * FUTEX-5. A thread that waits for one of several words, or for a word with an
 *     owner, waits in the kernel, also with the private flag. While a thread
 *     does, private wakes call the kernel, too. The count of those threads is
 *     incremented before the kernel reads the words. A waker reads it after it
 *     has changed a word, with a full barrier in between.
 * FUTEX-6. A requeue of waiters of both kinds is two requeues, and each of them
 *     compares. If the word changes between the two, the kernel's waiters stay.
 */
#include "api/syscall/futex.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "arch/arch.h"
#include "base/atomic.h"
#include "io/call/futex.h"
#include "os/sys.h"
#include "signal/memory.h"
#include "sync/deadline.h"
#include "sync/inherit.h"
#include "thread/kernel_state.h"
#include "wait/sleep.h"
#include "wait/ufutex.h"

static _Atomic int nr_in_kernel; /* FUTEX-5 */

static bool is_aligned(const uint32_t *addr)
{
	return ((uintptr_t)addr & 3) == 0;
}

/* The kernel wakes one thread also for numbers below 1. */
static int at_least_one(uint32_t nr)
{
	return (int)nr > 0 ? (int)nr : 1;
}

/* `timeout` is relative for FUTEX_WAIT, else absolute; NULL: no deadline. */
static int deadline_of(int op, const struct timespec *timeout, int64_t *ret_ns)
{
	clockid_t clock = op & FUTEX_CLOCK_REALTIME ? CLOCK_REALTIME :
						      CLOCK_MONOTONIC;
	struct timespec ts;

	*ret_ns = WF_FOREVER;
	if (timeout == NULL)
		return 0;
	if (wf_memory_get(&ts, timeout, sizeof(ts)) < 0)
		return -EFAULT;
	if (!wf_deadline_is_valid(clock, &ts) || ts.tv_sec < 0)
		return -EINVAL;
	if ((op & FUTEX_CMD_MASK) == FUTEX_WAIT)
		return wf_deadline_from_rel(&ts, ret_ns);
	return wf_deadline_from_abs(clock, &ts, ret_ns);
}

static long wait(const uint32_t *addr, int op, uint32_t val,
		 const struct timespec *ts, uint32_t bits)
{
	bool is_private = (op & FUTEX_PRIVATE_FLAG) != 0;
	uint32_t nr_handlers = wf_thread_self()->nr_handlers;
	int64_t deadline_ns;
	int rc = deadline_of(op, ts, &deadline_ns);

	if (rc != 0)
		return rc;
	if (bits == 0 || !is_aligned(addr))
		return -EINVAL;
	if (is_private && !wf_memory_is_readable(addr, sizeof(*addr)))
		return -EFAULT;
	do {
		rc = is_private ?
			     wf_ufutex_wait(WF_WAIT_FUTEX, addr, val, bits,
					    deadline_ns) :
			     wf_io_futex_wait(addr, val, bits, deadline_ns);
		if (deadline_ns != WF_FOREVER)
			rc = wf_sleep_result(rc, nr_handlers);
	} while (rc == -ERESTART);
	return rc > 0 ? 0 : rc;
}

/* May the kernel have waiters for a wake with these flags? */
static bool concerns_kernel(int flags)
{
	if (!(flags & FUTEX_PRIVATE_FLAG))
		return true;
	atomic_thread_fence(memory_order_seq_cst); /* FUTEX-5 */
	return atomic_load_explicit(&nr_in_kernel, memory_order_relaxed) != 0;
}

/* Wakes nr waiters: those of the table first, then the kernel's. */
static long wake_both(const uint32_t *addr, int flags, uint32_t nr,
		      uint32_t bits)
{
	long left = at_least_one(nr);
	long n, rc;

	if (bits == 0 || !is_aligned(addr))
		return -EINVAL;
	n = wf_ufutex_wake(addr, (int)left, bits);
	if (n == left || !concerns_kernel(flags))
		return n;
	rc = wf_syscall6(SYS_futex, (long)addr, FUTEX_WAKE_BITSET | flags,
			 left - n, 0, 0, (long)bits);
	if (rc < 0)
		return n > 0 ? n : rc;
	return n + rc;
}

static long wake(const uint32_t *addr, uint32_t nr, uint32_t bits)
{
	return wake_both(addr, FUTEX_PRIVATE_FLAG, nr, bits);
}

/*
 * FUTEX-6. Requeues the kernel's waiters, after nr waiters of the table were
 * woken or moved. nr_wake and nr_requeue count the waiters of both kinds.
 */
static long requeue_in_kernel(uint32_t *from, const uint32_t *expected,
			      long nr_wake, uint32_t *to, long nr_requeue,
			      long nr)
{
	int op = expected != NULL ? FUTEX_CMP_REQUEUE : FUTEX_REQUEUE;
	long woken = nr < nr_wake ? nr : nr_wake;
	long rc = wf_syscall6(SYS_futex, (long)from, op | FUTEX_PRIVATE_FLAG,
			      nr_wake - woken, nr_requeue - (nr - woken),
			      (long)to, expected != NULL ? *expected : 0);

	if (rc < 0)
		return nr > 0 ? nr : rc;
	return nr + rc;
}

static long requeue(uint32_t *from, const uint32_t *expected, uint32_t nr_wake,
		    uint32_t *to, uint32_t nr_requeue)
{
	long rc;

	if (!is_aligned(from) || !is_aligned(to) || (int)nr_wake < 0 ||
	    (int)nr_requeue < 0)
		return -EINVAL;
	/* Without an expected value the kernel does not read the word. */
	if (!wf_memory_is_readable(from, sizeof(*from)))
		return expected != NULL ? -EFAULT : 0;
	do {
		uint32_t now = *(volatile uint32_t *)from; /* FUTEX-2 */

		rc = wf_ufutex_requeue(from, expected ? *expected : now,
				       (int)nr_wake, to, (int)nr_requeue);
	} while (rc == -EAGAIN && expected == NULL);
	if (rc < 0 || !concerns_kernel(FUTEX_PRIVATE_FLAG))
		return rc;
	return requeue_in_kernel(from, expected, nr_wake, to, nr_requeue, rc);
}

/*
 * FUTEX_CMP_REQUEUE_PI. A waiter that may be moved names the second word, by
 * FUTEX_WAIT_REQUEUE_PI, and waits in the kernel. Waiters of the table have not
 * named it: -EINVAL, as the kernel's.
 */
static long requeue_owned(uint32_t *from, int op, uint32_t nr_wake,
			  uint32_t *to, long nr_requeue, uint32_t expected)
{
	long rc = wf_syscall6(SYS_futex, (long)from, op, (long)nr_wake,
			      nr_requeue, (long)to, (long)expected);

	if (rc == 0 && (op & FUTEX_PRIVATE_FLAG) && wf_ufutex_is_waited(from))
		return -EINVAL;
	return rc;
}

/* Carries out the operation of FUTEX_WAKE_OP. *ret_old is the old value. */
static int wake_op_apply(uint32_t *addr, uint32_t code, uint32_t *ret_old)
{
	_Atomic uint32_t *word = (_Atomic uint32_t *)addr;
	uint32_t arg = (uint32_t)((int32_t)(code << 8) >> 20);

	if (code >> 28 & FUTEX_OP_OPARG_SHIFT)
		arg = 1U << (arg & 31);
	switch (code >> 28 & ~FUTEX_OP_OPARG_SHIFT) {
	case FUTEX_OP_SET:
		*ret_old = atomic_exchange(word, arg);
		return 0;
	case FUTEX_OP_ADD:
		*ret_old = atomic_fetch_add(word, arg);
		return 0;
	case FUTEX_OP_OR:
		*ret_old = atomic_fetch_or(word, arg);
		return 0;
	case FUTEX_OP_ANDN:
		*ret_old = atomic_fetch_and(word, ~arg);
		return 0;
	case FUTEX_OP_XOR:
		*ret_old = atomic_fetch_xor(word, arg);
		return 0;
	}
	return -ENOSYS;
}

static int wake_op_compare(uint32_t code, uint32_t old_value)
{
	int32_t old = (int32_t)old_value;
	int32_t arg = (int32_t)(code << 20) >> 20;

	switch (code >> 24 & 15) {
	case FUTEX_OP_CMP_EQ:
		return old == arg;
	case FUTEX_OP_CMP_NE:
		return old != arg;
	case FUTEX_OP_CMP_LT:
		return old < arg;
	case FUTEX_OP_CMP_GE:
		return old >= arg;
	case FUTEX_OP_CMP_LE:
		return old <= arg;
	case FUTEX_OP_CMP_GT:
		return old > arg;
	}
	return -ENOSYS;
}

static long wake_op(uint32_t *addr, uint32_t nr, uint32_t *addr2, uint32_t nr2,
		    uint32_t code)
{
	uint32_t old = 0;
	int matches, rc;
	long n;

	if (!is_aligned(addr) || !is_aligned(addr2))
		return -EINVAL;
	if (!wf_memory_is_writable(addr2, sizeof(*addr2)))
		return -EFAULT;
	rc = wake_op_apply(addr2, code, &old);
	if (rc != 0)
		return rc;
	matches = wake_op_compare(code, old);
	if (matches < 0)
		return matches;
	n = wake(addr, nr, WF_UFUTEX_ANY);
	if (matches)
		n += wake(addr2, nr2, WF_UFUTEX_ANY);
	return n;
}

static long private_call(uint32_t *addr, int op, uint32_t val,
			 const struct timespec *ts, uint32_t *addr2,
			 uint32_t val3)
{
	uint32_t val2 = (uint32_t)(uintptr_t)ts;

	switch (op & FUTEX_CMD_MASK) {
	case FUTEX_WAIT:
		return wait(addr, op, val, ts, FUTEX_BITSET_MATCH_ANY);
	case FUTEX_WAIT_BITSET:
		return wait(addr, op, val, ts, val3);
	case FUTEX_WAKE:
		return wake(addr, val, FUTEX_BITSET_MATCH_ANY);
	case FUTEX_WAKE_BITSET:
		return wake(addr, val, val3);
	case FUTEX_REQUEUE:
		return requeue(addr, NULL, val, addr2, val2);
	case FUTEX_CMP_REQUEUE:
		return requeue(addr, &val3, val, addr2, val2);
	default:
		return wake_op(addr, val, addr2, val2, val3);
	}
}

/* Operations that weft makes on its table if they have the private flag. */
static bool is_ours(int cmd)
{
	switch (cmd) {
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET:
	case FUTEX_WAKE:
	case FUTEX_WAKE_BITSET:
	case FUTEX_REQUEUE:
	case FUTEX_CMP_REQUEUE:
	case FUTEX_WAKE_OP:
		return true;
	}
	return false;
}

/* Operations with which the kernel records its own thread as an owner. */
static bool is_owned_by_caller(int cmd)
{
	return cmd == FUTEX_LOCK_PI || cmd == FUTEX_LOCK_PI2 ||
	       cmd == FUTEX_TRYLOCK_PI || cmd == FUTEX_WAIT_REQUEUE_PI;
}

/*
 * FUTEX-5. If a handler leaves the wait by a jump, the count stays too high:
 * from then on private wakes call the kernel without need.
 */
static long wait_in_kernel(long nr, long a, long b, long c, long d, long e,
			   long f)
{
	long rc;

	nr_in_kernel++;
	rc = wf_syscall6(nr, a, b, c, d, e, f);
	nr_in_kernel--;
	return rc;
}

long wf_futex_syscall(uint32_t *addr, int op, uint32_t val,
		      const struct timespec *timeout_or_val2, uint32_t *addr2,
		      uint32_t val3)
{
	int cmd = op & FUTEX_CMD_MASK;

	if ((op & FUTEX_CLOCK_REALTIME) && is_ours(cmd) &&
	    cmd != FUTEX_WAIT_BITSET)
		return -ENOSYS;
	if ((op & FUTEX_PRIVATE_FLAG) && is_ours(cmd))
		return private_call(addr, op, val, timeout_or_val2, addr2,
				    val3);
	if (cmd == FUTEX_WAIT && wf_io_can_wait_futex())
		return wait(addr, op, val, timeout_or_val2,
			    FUTEX_BITSET_MATCH_ANY);
	if (cmd == FUTEX_WAIT_BITSET && wf_io_can_wait_futex())
		return wait(addr, op, val, timeout_or_val2, val3);
	if (cmd == FUTEX_WAKE)
		return wake_both(addr, 0, val, FUTEX_BITSET_MATCH_ANY);
	if (cmd == FUTEX_WAKE_BITSET)
		return wake_both(addr, 0, val, val3);
	if (cmd == FUTEX_CMP_REQUEUE_PI)
		return requeue_owned(addr, op, val, addr2,
				     (long)timeout_or_val2, val3);
	if (is_owned_by_caller(cmd)) {
		wf_inherit_note_native();
		if (wf_kernel_state_begin(WF_BOUND_PI_FUTEX) < 0)
			return -EAGAIN;
		return wait_in_kernel(SYS_futex, (long)addr, op, (long)val,
				      (long)timeout_or_val2, (long)addr2,
				      (long)val3);
	}
	return wf_syscall6(SYS_futex, (long)addr, op, (long)val,
			   (long)timeout_or_val2, (long)addr2, (long)val3);
}

long wf_futex_waitv(const long *args)
{
	return wait_in_kernel(SYS_futex_waitv, args[0], args[1], args[2],
			      args[3], args[4], 0);
}

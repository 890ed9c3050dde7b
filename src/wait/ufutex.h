/* SPDX-License-Identifier: MIT */
/*
 * User futex: a thread compares a 32-bit word with a value and parks on it, and
 * another thread wakes it by the word's address.
 *
 *     while (!try_to_get(word))
 *             wf_ufutex_wait(WF_WAIT_MUTEX, word, WORD_CONTENDED,
 *                            WF_UFUTEX_ANY, deadline);
 *     ...
 *     wf_ufutex_wake(word, 1, WF_UFUTEX_ANY);
 *
 * The calls enter and leave the runtime themselves. The caller has in_runtime 0
 * and is on the thread's own stack or in a signal handler of the program. The
 * calls work for every kind of thread, also before the runtime has started.
 * They do not change errno. A waker uses addr only as a key and never reads it.
 * So the memory at addr may already have been freed.
 */
#ifndef WEFT_WAIT_UFUTEX_H
#define WEFT_WAIT_UFUTEX_H

#include <stdbool.h>
#include <stdint.h>

#include "sched/thread.h"

#define WF_UFUTEX_ANY UINT32_MAX
#define WF_FOREVER INT64_MAX

/*
 * Parks the caller while *addr == expected. The wait ends when a waker wakes
 * addr with a bit of `bits`, or at the deadline (os/deadline.h). `kind` is for
 * readers outside the process.
 *
 * Returns the waker's token (0 from plain wakes), or
 *   -EAGAIN     *addr differed
 *   -ERESTART   interrupted, but no handler without SA_RESTART ran: the caller
 *               waits again
 *   -ETIMEDOUT  the deadline passed and no thread woke the caller
 *   -EINTR      a signal handler of the program without SA_RESTART ran: the
 *               caller checks its condition and waits again, unless POSIX lets
 *               it fail with EINTR
 *   -ECANCELED  at a cancellation point only: the caller undoes its changes and
 *               returns the error, then the thread ends
 * Exactly one of wake, time-out and interruption ends a wait. A wake that the
 * waker has counted is never reported as a time-out.
 */
int wf_ufutex_wait(enum wf_wait_kind kind, const void *addr, uint32_t expected,
		   uint32_t bits, int64_t deadline_ns);

/*
 * The result of a wait, kept for a clean-up (libc/cleanup.h). A handler that
 * runs after the wait, or that interrupts it, may leave by a jump and never
 * return to the waiter. The note lies in the waiter's frame. The runtime writes
 * it before any handler runs.
 */
struct wf_ufutex_note {
	/* as wf_ufutex_wait returns it, but -EINTR for all errors other than
	 * -EAGAIN and -ETIMEDOUT */
	int32_t result;
	bool was_moved; /* requeued to another word meanwhile */
	bool is_asleep; /* sleeps in the kernel: the result is not yet known */
};
#define WF_UFUTEX_NOTE_NONE      \
	{                        \
		.result = -EINTR \
	}

/*
 * As wf_ufutex_wait, but writes the result to a note. Several waits of one call
 * may share a note.
 */
int wf_ufutex_wait_noted(enum wf_wait_kind kind, const void *addr,
			 uint32_t expected, uint32_t bits, int64_t deadline_ns,
			 struct wf_ufutex_note *note);

/*
 * Called when a jump or an exit has left the frame that the note is in, so that
 * the wait cannot continue. Ends the wait if it is in flight, and returns its
 * result. The caller has in_runtime 0.
 */
int wf_ufutex_leave(struct wf_ufutex_note *note);

/*
 * As wf_ufutex_wait_noted with WF_UFUTEX_ANY, for a thread that starves for a
 * mutex since since_ns (CLOCK_MONOTONIC). It queues before the waiters of its
 * priority that do not starve or that starve for less time. With the plain wait
 * it would queue last again after each interruption or wake in vain.
 */
int wf_ufutex_wait_starving(const void *addr, uint32_t expected,
			    int64_t deadline_ns, int64_t since_ns,
			    struct wf_ufutex_note *note);

/*
 * As wf_ufutex_wait_noted, but without a comparison: parks if commit() returns
 * true. commit() runs under the bucket's lock, as decide() below. Returns
 * -EAGAIN if commit() returns false. If commit() was not called, returns
 * -EINTR, -ERESTART or -ECANCELED.
 */
typedef bool wf_ufutex_commit_fn(void *arg);
int wf_ufutex_wait_commit(enum wf_wait_kind kind, const void *addr,
			  wf_ufutex_commit_fn *commit, void *arg,
			  int64_t deadline_ns, struct wf_ufutex_note *note);

/*
 * Waits for a word that other processes wake by the kernel's shared futex. The
 * caller is a bound thread; it sleeps in the kernel. Returns as wf_ufutex_wait,
 * or -EFAULT. Call it only if wf_os_futex_can_wait_beside returns true.
 */
int wf_ufutex_wait_shared(const void *shared, uint32_t expected,
			  int64_t deadline_ns);

/*
 * Wakes up to nr waiters and returns their number. Higher priorities come
 * first, then starving threads, then the order of arrival.
 */
int wf_ufutex_wake(const void *addr, int nr, uint32_t bits);

/*
 * Wakes at most one waiter. decide() runs under the bucket's lock, after the
 * waiter is chosen and before it is woken, also if there is no waiter: `first`
 * is NULL then. decide() may store to the object's word: no thread can begin or
 * end a wait on addr meanwhile. It returns the token that the waiter's
 * wf_ufutex_wait returns, 0 or more. It must not fault or block.
 */
typedef int wf_ufutex_decide_fn(void *arg, const struct wf_thread *first);
/* Only for decide(): do other threads wait for addr besides `first`? */
bool wf_ufutex_has_more(const struct wf_thread *first);
int wf_ufutex_wake_one(const void *addr, wf_ufutex_decide_fn *decide,
		       void *arg);

/* True if any thread waits for addr. */
bool wf_ufutex_is_waited(const void *addr);

/* Runs change() under the lock of addr's bucket. */
typedef void wf_ufutex_change_fn(void *arg);
void wf_ufutex_change(const void *addr, wf_ufutex_change_fn *change, void *arg);

/*
 * If *from == expected: wakes up to nr_wake waiters of from and moves up to
 * nr_requeue further ones to `to`. Returns the number woken plus moved, or
 * -EAGAIN.
 */
int wf_ufutex_requeue(const void *from, uint32_t expected, int nr_wake,
		      const void *to, int nr_requeue);

/*
 * Wakes the first waiters of from and moves the other waiters to `to`, in one
 * step. plan() returns how many to wake, or -EAGAIN, which the call then
 * returns. gone() gets the number of threads woken or moved. Both run under the
 * locks, as decide() above.
 */
struct wf_ufutex_move {
	const void *from, *to;
	int (*plan)(void *arg);
	void (*gone)(void *arg, int nr);
	void *arg;
};
int wf_ufutex_wake_or_move(const struct wf_ufutex_move *move);

#endif

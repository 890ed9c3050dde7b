/* SPDX-License-Identifier: MIT */
/*
 * User futex: compare and park on a 32-bit word, wake by address.
 *
 *     while (!try_to_get(word))
 *             wf_ufutex_wait(word, WORD_CONTENDED, WF_UFUTEX_ANY, deadline);
 *     ...
 *     wf_ufutex_wake(word, 1, WF_UFUTEX_ANY);
 *
 * The calls enter and leave the runtime themselves; call them with in_runtime
 * 0, on the thread's own stack or in a signal handler of the program's. They
 * work for every kind of thread, also before the runtime has started. errno
 * is not touched. A waker uses addr only as a key and never reads it, so it
 * may have been freed.
 */
#ifndef WEFT_WAIT_UFUTEX_H
#define WEFT_WAIT_UFUTEX_H

#include <stdbool.h>
#include <stdint.h>

#define WF_UFUTEX_ANY UINT32_MAX
#define WF_FOREVER INT64_MAX

/*
 * Parks the caller while *addr == expected, until woken through addr with an
 * intersecting bit set, or until the deadline (os/deadline.h).
 *
 * Returns the waker's token (0 from plain wakes), or
 *   -EAGAIN     *addr differed
 *   -ERESTART   interrupted, but no handler ran that says EINTR: wait on
 *   -ETIMEDOUT  the deadline passed and nobody woke the caller
 *   -EINTR      a signal handler of the program's ran that was set without
 *               SA_RESTART: the caller re-checks its condition and waits on
 *               unless POSIX lets it fail with EINTR
 *   -ECANCELED  at a cancellation point only: the caller undoes what it has
 *               begun and hands the error out, for the thread to end
 * Exactly one of wake, time-out and interruption ends a wait; a wake that
 * was counted by the waker is never reported as a time-out.
 */
int wf_ufutex_wait(const void *addr, uint32_t expected, uint32_t bits,
		   int64_t deadline_ns);

/*
 * How a wait has ended, kept for a clean-up (libc/cleanup.h): a handler that
 * runs when it has ended, or that has ended it, may not return to it. Lies in
 * the waiter's frame, and is written in the runtime, before any handler runs.
 */
struct wf_ufutex_note {
	int32_t result; /* as a wait returns it, but -EINTR for all that are
			 * no wake, -EAGAIN or -ETIMEDOUT */
	bool was_moved; /* by wf_ufutex_wake_or_move or a requeue */
	bool is_asleep; /* in the kernel: the result is not known yet */
};
#define WF_UFUTEX_NOTE_NONE      \
	{                        \
		.result = -EINTR \
	}

/* The same, noted. Each wait of a call may use one note. */
int wf_ufutex_wait_noted(const void *addr, uint32_t expected, uint32_t bits,
			 int64_t deadline_ns, struct wf_ufutex_note *note);

/*
 * The caller's wait does not go on, for its frame has been left: ends it if it
 * is in flight, and returns its result. in_runtime 0.
 */
int wf_ufutex_leave(struct wf_ufutex_note *note);

/*
 * The same with WF_UFUTEX_ANY, before all of its priority that do not starve or
 * that have done so for less time (CLOCK_MONOTONIC): a thread that has waited
 * before, in vain or interrupted, would be the last of them again and again.
 */
int wf_ufutex_wait_starving(const void *addr, uint32_t expected,
			    int64_t deadline_ns, int64_t since_ns,
			    struct wf_ufutex_note *note);

/*
 * The same without a comparison: parks if commit() returns true, which runs
 * under the bucket's lock (as decide() below). -EAGAIN if it does not; if it
 * was not asked, -EINTR, -ERESTART or -ECANCELED.
 */
typedef bool wf_ufutex_commit_fn(void *arg);
int wf_ufutex_wait_commit(const void *addr, wf_ufutex_commit_fn *commit,
			  void *arg, int64_t deadline_ns,
			  struct wf_ufutex_note *note);

/*
 * A wait of a bound thread for a word that other processes wake by the kernel's
 * futex without the private flag. As wf_ufutex_wait, or -EFAULT. Only where
 * wf_os_futex_can_wait_beside says so.
 */
int wf_ufutex_wait_shared(const void *shared, uint32_t expected,
			  int64_t deadline_ns);

/*
 * Wakes up to nr waiters, those of the highest priority first, of equals who
 * starves or came first; returns how many.
 */
int wf_ufutex_wake(const void *addr, int nr, uint32_t bits);

/*
 * Wakes at most one waiter. decide() runs under the bucket's lock, after the
 * choice and before the wake, whether or not there was a waiter: it may store
 * to the object's word (nobody can begin or end a wait on addr meanwhile) and
 * returns the token that the waiter's wf_ufutex_wait returns (>= 0).
 * `more` says that others still wait. decide must not fault or block.
 */
typedef int wf_ufutex_decide_fn(void *arg, bool found, bool more);
int wf_ufutex_wake_one(const void *addr, wf_ufutex_decide_fn *decide,
		       void *arg);

/* Does anybody wait for addr? */
bool wf_ufutex_is_waited(const void *addr);

/* Runs change() under the lock of addr's bucket, and does nothing else. */
typedef void wf_ufutex_change_fn(void *arg);
void wf_ufutex_change(const void *addr, wf_ufutex_change_fn *change, void *arg);

/*
 * If *from == expected: wakes up to nr_wake waiters of from and makes up to
 * nr_requeue others wait on `to` instead. Returns the number woken plus
 * requeued, or -EAGAIN.
 */
int wf_ufutex_requeue(const void *from, uint32_t expected, int nr_wake,
		      const void *to, int nr_requeue);

/*
 * Wakes the first waiters of from and makes all others wait on `to` instead,
 * in one step: plan() says how many are woken, or -EAGAIN, which is returned;
 * gone() is told how many were woken or moved. Both run under the lock, as
 * decide() above.
 */
struct wf_ufutex_move {
	const void *from, *to;
	int (*plan)(void *arg);
	void (*gone)(void *arg, int nr);
	void *arg;
};
int wf_ufutex_wake_or_move(const struct wf_ufutex_move *move);

#endif

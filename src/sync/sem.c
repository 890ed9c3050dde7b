/* SPDX-License-Identifier: MIT */
/*
 * Semaphore, slow paths. A thread that finds no permit marks the word with W
 * and parks. A post that finds W takes the bucket's lock and gives its permit
 * to the first waiter. If the semaphore is used as a lock, the permit goes to
 * the value and the waiter competes for it.
 *
 *     Word   v -> v + 1, v -> v - 1  [wf_sem_post, wf_sem_trywait]
 *            0 -> W                  [wf_sem_wait_slow, before parking]
 *            v | W -> v - 1 | W      [wf_sem_trywait]
 *            v | W -> v + 1 | W      [post_locked, wakes one of several]
 *            v | W -> v + 1          [post_locked, wakes the last or none]
 *
 * SEM-1. A permit is in the value, or handed to exactly one thread by the end
 *     of its wait. So no race of a post with a time-out, a signal or another
 *     waiter can lose a permit.
 * SEM-2. A thread parks only while the word is W, which is compared under the
 *     bucket's lock. W is cleared only under that lock, when no thread stays
 *     parked. So if a thread is parked, W is set, and each post takes the lock
 *     and finds the thread. If the value is above 0 then, at least as many
 *     threads have been woken and have not yet tried. Each takes a permit or
 *     finds none.
 * SEM-3. A post's last access to the object stores the permit, or comes before
 *     the thread that gets the permit can run. That thread may free the
 *     semaphore; its own wait does not access it again.
 * SEM-4. W stays when the last waiter is handed a permit: threads that hand
 *     permits to each other set it again soon. One post without a waiter clears
 *     it.
 * SEM-5. A thread that posts the semaphore from which it took last uses it as a
 *     lock. Then the permit goes to the value and the first waiter competes for
 *     it. Otherwise each use would cost a switch once a thread had to wait. The
 *     thread's hint is a guess, and only speed depends on it.
 * SEM-6. A thread that leaves its wait by a jump or by its exit posts a permit
 *     that it was handed. If it was woken to compete, it takes a permit, if
 *     there is one, and posts it: that wakes another thread (SEM-2).
 *     [leave_wait]
 *
 * Rejected: always competing. Two threads that alternate would pay two more
 * atomics for each turn.
 */
#include "sync/sem.h"

#include <string.h>

#include "libc/cleanup.h"
#include "sched/runtime.h"
#include "wait/sleep.h"
#include "wait/ufutex_internal.h"

enum {
	COMPETE = 0,
	HANDED = 1, /* token of a wake that brings a permit */
};

/* For process-private semaphores. Does not block. */
int wf_sem_init(struct wf_sem *s, unsigned int value)
{
	if (value > SEM_VALUE_MAX)
		return -EINVAL;
	memset(s, 0, sizeof(*s));
	wf_store_relaxed(&s->word, value);
	return 0;
}

struct waiter {
	struct wf_sem *sem;
	struct wf_ufutex_note note;
};

/* Cleans up after a waiter that leaves by a jump or its exit. SEM-6 */
static void leave_wait(void *waiter)
{
	struct waiter *w = waiter;
	int result = wf_ufutex_leave(&w->note);

	if (result == HANDED ||
	    (result == COMPETE && wf_sem_trywait(w->sem) == 0))
		wf_sem_post(w->sem);
}

/*
 * Sets W if the word is 0. Returns true if the word is W: then the caller may
 * park.
 */
WF_INLINE bool is_waited(struct wf_sem *s)
{
	uint32_t word = wf_load_relaxed(&s->word);

	return word == WF_SEM_WAITED ||
	       (word == 0 && wf_cas_acq_rel(&s->word, &word, WF_SEM_WAITED));
}

static int await(struct waiter *w, int64_t deadline_ns)
{
	uint32_t nr_handlers = wf_thread_self()->nr_handlers;
	struct wf_sem *s = w->sem;

	for (;;) {
		int rc;

		if (!is_waited(s)) {
			if (wf_sem_trywait(s) == 0)
				return 0;
			continue;
		}
		rc = wf_ufutex_wait_noted(WF_WAIT_SEM, &s->word, WF_SEM_WAITED,
					  WF_UFUTEX_ANY, deadline_ns,
					  &w->note); /* SEM-2: while W */
		if (rc == HANDED)
			return 0; /* SEM-3: no access any more */
		if (deadline_ns != WF_FOREVER)
			rc = wf_sleep_result(rc, nr_handlers);
		if (rc == -ETIMEDOUT || rc == -EINTR || rc == -ECANCELED)
			return rc;
	}
}

/*
 * Waits for a permit outside of the runtime, so that SEM-6 holds from here on.
 * result: how t's wait in the runtime ended, where no handler runs. -EAGAIN: it
 * has not waited.
 */
static WF_NOINLINE int wait_on(struct wf_sem *s, int64_t deadline_ns,
			       struct wf_thread *t, int result)
{
	WF_CLEANUP struct wf_cleanup cleanup = WF_CLEANUP_NONE;
	struct waiter w = { .sem = s, .note = WF_UFUTEX_NOTE_NONE };
	int rc = 0;

	if (result != -EAGAIN)
		w.note.result = result;
	wf_cleanup_begin_own(&cleanup, leave_wait, &w);
	wf_runtime_leave(t);
	result = wf_ufutex_result(t, result);
	if (result == -EINTR || result == -ECANCELED)
		rc = result;
	else if (result != HANDED)
		rc = await(&w, deadline_ns);
	wf_cleanup_end(&cleanup);
	if (rc == 0)
		wf_sem_note(wf_thread_self(), s);
	return rc;
}

WF_LINK_INLINE int wf_sem_wait_slow(struct wf_thread *self, struct wf_sem *s,
				    int64_t deadline_ns)
{
	struct wf_thread *t = wf_apart(self);
	int result = -EAGAIN;

	wf_runtime_enter_as(t);
	if (deadline_ns == WF_FOREVER && t->kind == WF_THREAD_MULTIPLEXED &&
	    is_waited(s))
		/* SEM-2: only while it is W */
		result = wf_ufutex_park(t, &s->word, WF_SEM_WAITED);
	/* A permit was handed over: the wake makes the poster's writes
	 * visible. */
	if (WF_UNLIKELY(result != HANDED) || wf_runtime_has_work(t))
		return wait_on(s, deadline_ns, t, result);
	wf_sem_note(t, s);
	wf_runtime_leave(t); /* SEM-3: no access to s from here on */
	return 0;
}

WF_COLD int wf_sem_clockwait_slow(struct wf_sem *s, clockid_t clock,
				  const struct timespec *ts)
{
	int64_t deadline_ns;
	int rc = wf_deadline_from_abs(clock, ts, &deadline_ns);

	return rc != 0 ? rc :
			 wf_sem_wait_slow(wf_thread_self(), s, deadline_ns);
}

struct post {
	struct wf_sem *sem;
	bool gives_back; /* used as a lock: SEM-5 */
	bool is_too_many;
};

WF_INLINE int post_locked(void *arg, const struct wf_thread *first)
{
	struct post *post = arg;
	_Atomic uint32_t *word = &post->sem->word;
	uint32_t mark, old;

	if (WF_LIKELY(first != NULL && !post->gives_back))
		return HANDED; /* SEM-2, SEM-4: W stays */
	mark = wf_ufutex_has_more(first) ? WF_SEM_WAITED : 0;
	old = wf_load_relaxed(word);
	do {
		post->is_too_many = (old & ~WF_SEM_WAITED) == SEM_VALUE_MAX;
		/* release: the poster's writes; pairs with the acquire in
		 * wf_sem_trywait. */
	} while (!post->is_too_many &&
		 !wf_cas_acq_rel(word, &old,
				 ((old & ~WF_SEM_WAITED) + 1) | mark));
	return COMPETE;
}

int wf_sem_post_slow(struct wf_sem *s)
{
	struct post post = {
		.sem = s,
		.gives_back = wf_thread_self()->hint == (uint32_t)(uintptr_t)s,
	};

	wf_ufutex_wake_one(&s->word, post_locked, &post);
	return WF_UNLIKELY(post.is_too_many) ? -EOVERFLOW : 0;
}

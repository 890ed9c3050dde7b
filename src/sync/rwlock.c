/* SPDX-License-Identifier: MIT */
/*
 * Reader-writer lock, slow paths. Readers and writers park on one word; the
 * user futex's bits tell them apart. A second word is not possible, since a
 * release may access the object only once. The last holder wakes all readers or
 * one writer, and the woken threads compete.
 *
 * Word: n readers or W = WRITER; RW = READERS_WAIT; WW = WRITERS_WAIT.
 *
 *     any, !W -> n + 1           [take_read, unless the preference forbids]
 *     n = 0, !W -> W             [take_write; with WW if it was woken]
 *     held -> held | RW or WW    [wait_for, before parking]
 *     n > 1 -> n - 1             [unlock]
 *     last holder -> 0, less the bit of the kind that is woken [unlock]
 *     WW -> 0, RW -> 0           [give_up: a preferred writer timed out]
 *
 * RWLOCK-1. A thread parks only while the word is what it read: held, and with
 *     the bit of its kind.
 * RWLOCK-2. The last holder's release is one CAS. It reads the preference
 *     before, and wakes by address after. The next holder may free the lock.
 * RWLOCK-3. If readers are parked, RW is set, or the thread that cleared it has
 *     yet to wake them. It always wakes all of them.
 * RWLOCK-4. If writers are parked, WW is set, or the thread that cleared it has
 *     yet to wake one, or a woken writer has yet to run. That writer takes the
 *     lock with WW, or sets WW before it parks, or stops waiting.
 * RWLOCK-5. While the lock is free and a thread is parked, a release is about
 *     to wake, or a woken thread has yet to run. A release wakes one kind and,
 *     if none of that kind was parked, the other. A woken thread takes the lock
 *     or finds it held. Either way the last holder then checks the bits.
 * RWLOCK-6. A preferred writer keeps readers out by WW alone. If it times out,
 *     WW may be set without a parked writer. So it clears both bits and wakes
 *     all threads, which check again and set theirs. A thread that leaves its
 *     wait by a jump or by its exit does the same, for RWLOCK-5.
 *
 * After a writer, parked readers are woken first unless writers are preferred.
 * After readers, a writer is woken first.
 *
 * Rejected: a second word for writers to park on. A release would have to
 * increment it after the lock is free, when the object may be freed.
 */
#include "sync/rwlock.h"

#include <limits.h>
#include <string.h>

#include "libc/cleanup.h"
#include "wait/sleep.h"

enum wait_bits {
	BIT_READER = 1 << 0,
	BIT_WRITER = 1 << 1,
};

_Static_assert(sizeof(struct wf_rwlock) == sizeof(pthread_rwlock_t),
	       "the object has libc's size");
_Static_assert(offsetof(pthread_rwlock_t, libc_flags) >=
		       offsetof(struct wf_rwlock, writer) + sizeof(uint32_t),
	       "the flags are libc's");
_Static_assert(offsetof(pthread_rwlock_t, libc_shared) >=
		       offsetof(struct wf_rwlock, writer) + sizeof(uint32_t),
	       "the sharing is libc's");

int wf_rwlock_init(struct wf_rwlock *l, int flags)
{
	memset(l, 0, sizeof(*l));
	l->libc.libc_flags = (unsigned int)flags;
	return 0;
}

static bool prefers_writers(const struct wf_rwlock *l)
{
	return l->libc.libc_flags ==
	       PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP;
}

static uint32_t readers(uint32_t word)
{
	return word & WF_RWLOCK_READERS;
}

static bool is_held(uint32_t word)
{
	return (word & WF_RWLOCK_WRITER) || readers(word) != 0;
}

static bool may_read(const struct wf_rwlock *l, uint32_t word)
{
	if (word & WF_RWLOCK_WRITER)
		return false;
	return !(word & WF_RWLOCK_WRITERS_WAIT) || readers(word) == 0 ||
	       !prefers_writers(l);
}

static bool is_mine(struct wf_rwlock *l, uint32_t word)
{
	return (word & WF_RWLOCK_WRITER) &&
	       wf_load_relaxed(&l->writer) == wf_owner_self();
}

/*
 * Takes the lock as a reader. Returns 0, -EAGAIN, or -EBUSY if the caller must
 * wait. Stores the word that it has read.
 */
static int take_read(struct wf_rwlock *l, uint32_t *word)
{
	*word = wf_load_relaxed(&l->word);
	while (may_read(l, *word)) {
		if (readers(*word) == WF_RWLOCK_READERS)
			return -EAGAIN;
		/* acquire: pairs with the release in unlock. */
		if (wf_cas_acq_rel(&l->word, word, *word + 1))
			return 0;
	}
	return -EBUSY;
}

/*
 * Takes the lock as a writer. Returns 0, or -EBUSY if the caller must wait.
 * Stores the word that it has read.
 */
static int take_write(struct wf_rwlock *l, uint32_t *word, uint32_t take)
{
	*word = wf_load_relaxed(&l->word);
	while (!is_held(*word)) {
		/* acquire: pairs with the release in unlock. */
		if (wf_cas_acq_rel(&l->word, word, *word | take)) {
			wf_store_relaxed(&l->writer, wf_owner_self());
			return 0;
		}
	}
	return -EBUSY;
}

WF_COLD int wf_rwlock_tryrdlock_slow(struct wf_rwlock *l)
{
	uint32_t word;

	return take_read(l, &word);
}

int wf_rwlock_trywrlock(struct wf_rwlock *l)
{
	uint32_t word;

	return take_write(l, &word, WF_RWLOCK_WRITER);
}

/*
 * Parks as a reader or a writer while the word is `word`, in which the lock is
 * held. RWLOCK-1
 */
static int wait_for(struct wf_rwlock *l, uint32_t word, uint32_t bit,
		    uint32_t wait_bits, int64_t deadline_ns)
{
	if (!(word & bit) && !wf_cas_acq_rel(&l->word, &word, word | bit))
		return -EAGAIN;
	return wf_ufutex_wait(bit == WF_RWLOCK_WRITERS_WAIT ?
				      WF_WAIT_RWLOCK_WRITE :
				      WF_WAIT_RWLOCK_READ,
			      &l->word, word | bit, wait_bits, deadline_ns);
}

static void wake_all(struct wf_rwlock *l)
{
	const uint32_t bits = WF_RWLOCK_READERS_WAIT | WF_RWLOCK_WRITERS_WAIT;

	atomic_fetch_and_explicit(&l->word, ~bits, memory_order_relaxed);
	/* RWLOCK-6: they set the bits again */
	wf_ufutex_wake(&l->word, INT_MAX, WF_UFUTEX_ANY);
}

/* Cleans up after a waiter that leaves by a jump or its exit. RWLOCK-6 */
static void leave_wait(void *lock)
{
	wake_all(lock);
}

static int deadline_of(clockid_t clock, const struct timespec *ts,
		       int64_t *ret_deadline_ns)
{
	if (ts != NULL)
		return wf_deadline_from_abs(clock, ts, ret_deadline_ns);
	*ret_deadline_ns = WF_FOREVER;
	return 0;
}

WF_COLD int wf_rwlock_rdlock_slow(struct wf_rwlock *l, clockid_t clock,
				  const struct timespec *ts)
{
	WF_CLEANUP struct wf_cleanup cleanup = WF_CLEANUP_NONE;
	int64_t deadline_ns;
	uint32_t word;
	int rc = take_read(l, &word);

	if (rc != -EBUSY)
		return rc;
	if (is_mine(l, word))
		return -EDEADLK;
	rc = deadline_of(clock, ts, &deadline_ns);
	if (rc != 0)
		return rc;
	wf_cleanup_begin_own(&cleanup, leave_wait, l);
	while ((rc = take_read(l, &word)) == -EBUSY) {
		rc = wait_for(l, word, WF_RWLOCK_READERS_WAIT, BIT_READER,
			      deadline_ns);
		if (rc == -ETIMEDOUT)
			break;
	}
	wf_cleanup_end(&cleanup);
	return rc;
}

/*
 * Called when a writer stops waiting: it may have been the last that kept
 * readers out.
 */
static void give_up(struct wf_rwlock *l)
{
	if (prefers_writers(l))
		wake_all(l);
}

WF_COLD int wf_rwlock_wrlock_slow(struct wf_rwlock *l, clockid_t clock,
				  const struct timespec *ts)
{
	WF_CLEANUP struct wf_cleanup cleanup = WF_CLEANUP_NONE;
	uint32_t take = WF_RWLOCK_WRITER;
	int64_t deadline_ns;
	uint32_t word;
	int rc = take_write(l, &word, take);

	if (rc == 0)
		return 0;
	if (is_mine(l, word))
		return -EDEADLK;
	rc = deadline_of(clock, ts, &deadline_ns);
	if (rc != 0)
		return rc;
	wf_cleanup_begin_own(&cleanup, leave_wait, l);
	while (take_write(l, &word, take) != 0) {
		rc = wait_for(l, word, WF_RWLOCK_WRITERS_WAIT, BIT_WRITER,
			      deadline_ns);
		if (rc >= 0)
			/* RWLOCK-4: others may be parked */
			take |= WF_RWLOCK_WRITERS_WAIT;
		if (rc == -ETIMEDOUT) {
			give_up(l);
			break;
		}
	}
	wf_cleanup_end(&cleanup);
	return rc == -ETIMEDOUT ? rc : 0;
}

/*
 * Returns the bit of the kind, readers or writers, that the last holder wakes
 * first when it releases the lock from `word`.
 */
static uint32_t first_to_wake(const struct wf_rwlock *l, uint32_t word)
{
	bool after_writer = word & WF_RWLOCK_WRITER;

	if ((word & WF_RWLOCK_READERS_WAIT) && after_writer &&
	    !prefers_writers(l))
		return WF_RWLOCK_READERS_WAIT;
	if (word & WF_RWLOCK_WRITERS_WAIT)
		return WF_RWLOCK_WRITERS_WAIT;
	return word & WF_RWLOCK_READERS_WAIT;
}

/*
 * Wakes threads of one kind. Uses only the address: the object may be freed by
 * now.
 */
static int wake(struct wf_rwlock *l, uint32_t kind)
{
	if (kind == WF_RWLOCK_READERS_WAIT)
		return wf_ufutex_wake(&l->word, INT_MAX, BIT_READER);
	return wf_ufutex_wake(&l->word, 1, BIT_WRITER);
}

WF_COLD void wf_rwlock_unlock_slow(struct wf_rwlock *l)
{
	uint32_t word = wf_load_relaxed(&l->word);
	uint32_t next, first, other;

	if (word & WF_RWLOCK_WRITER)
		wf_store_relaxed(&l->writer, WF_OWNER_NONE);
	do {
		if (!is_held(word))
			return;
		next = word & WF_RWLOCK_WRITER ? word & ~WF_RWLOCK_WRITER :
						 word - 1;
		first = is_held(next) ? 0 : first_to_wake(l, word);
		next &= ~first;
		/*
		 * release: publishes the section; pairs with the acquire in
		 * take_read and take_write. RWLOCK-2
		 */
	} while (!wf_cas_acq_rel(&l->word, &word, next));
	if (first == 0)
		return;
	other = next & (WF_RWLOCK_READERS_WAIT | WF_RWLOCK_WRITERS_WAIT);
	if (wake(l, first) == 0 && other != 0)
		/* RWLOCK-5: no thread of that kind was parked */
		wake(l, other);
}

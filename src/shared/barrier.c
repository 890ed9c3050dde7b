/* SPDX-License-Identifier: MIT */
/*
 * Process-shared barriers, on libc's words and by its rules, since a process
 * without weft may wait at the same barrier. `come` counts the threads that
 * have arrived, and `gone` those that have left. An arriving thread gets the
 * next number, beginning with 1. `done` is the last number that may leave, and
 * a thread sleeps until `done` reaches its number.
 *
 * SHARED_BARRIER-1. Threads with numbers up to `done` may leave. `done` is a
 *     multiple of the count, only grows within one use of the numbers, and
 *     reaches n only when n threads have arrived. The thread that completes a
 *     round moves it there, unless another thread already has.
 * SHARED_BARRIER-2. A thread does not access the object after it has counted
 *     itself in `gone`. The exception is the last thread of SHARED_BARRIER-3.
 * SHARED_BARRIER-3. Numbers end at the last multiple of the count below 2^31. A
 *     thread that gets a higher one waits until `come` is small again, and
 *     arrives anew. The last thread to leave sets all words to 0, `come` as the
 *     last of them.
 * SHARED_BARRIER-4. The destroying thread adds the numbers that were not given
 *     out to `gone`. So the last thread to leave does SHARED_BARRIER-3, and
 *     that ends the destroying thread's wait.
 */
#include "shared/barrier.h"

#include "libc/fields.h"
#include "shared/word.h"

enum { NUMBERS = INT_MAX };

static uint32_t last_number(uint32_t count)
{
	/* SHARED_BARRIER-3: the last number */
	return NUMBERS - NUMBERS % count;
}

/*
 * Returns the caller's number of arrival. acq_rel: pairs with itself and with
 * the release in leave(). The threads that leave see all that was done before
 * an arrival.
 */
static uint32_t come(struct wf_libc_barrier *b, uint32_t last)
{
	uint32_t number, seen;

	while ((number = atomic_fetch_add(&b->come, 1) + 1) > last) {
		/* SHARED_BARRIER-3: waits until the words are reset. */
		while ((seen = wf_load_acquire(&b->come)) > last)
			wf_shared_word_wait(&b->come, seen, WF_FOREVER);
	}
	return number;
}

/*
 * Moves `done` so that the threads of complete rounds may leave.
 * SHARED_BARRIER-1
 */
static void complete_rounds(struct wf_libc_barrier *b, uint32_t number,
			    uint32_t count)
{
	uint32_t done = wf_load_relaxed(&b->done);

	while (done + count <= number) {
		/* release: the work before the arrivals; pairs with the acquire
		 * in wf_shared_barrier_wait. */
		if (wf_cas_acq_rel(&b->done, &done, number - number % count)) {
			wf_shared_word_wake(&b->done, INT_MAX);
			return;
		}
	}
}

static void leave(struct wf_libc_barrier *b, uint32_t last)
{
	/* acq_rel: the last thread to leave comes after all accesses of the
	 * others. */
	if (atomic_fetch_add(&b->gone, 1) + 1 != last)
		return; /* SHARED_BARRIER-2: no access from here on */
	wf_store_relaxed(&b->done, 0);
	wf_store_relaxed(&b->gone, 0);
	/*
	 * release: pairs with come() and wf_shared_barrier_fini.
	 * SHARED_BARRIER-3
	 */
	wf_store_release(&b->come, 0);
	wf_shared_word_wake(&b->come, INT_MAX);
}

int wf_shared_barrier_wait(pthread_barrier_t *barrier)
{
	struct wf_libc_barrier *b = (struct wf_libc_barrier *)barrier;
	uint32_t count = b->count, last = last_number(count);
	uint32_t number = come(b, last), done;

	complete_rounds(b, number, count);
	while ((done = wf_load_acquire(&b->done)) < number)
		wf_shared_word_wait(&b->done, done, WF_FOREVER);
	leave(b, last);
	return number % count == 0 ? PTHREAD_BARRIER_SERIAL_THREAD : 0;
}

void wf_shared_barrier_fini(pthread_barrier_t *barrier)
{
	struct wf_libc_barrier *b = (struct wf_libc_barrier *)barrier;
	uint32_t last = last_number(b->count);
	uint32_t seen = wf_load_relaxed(&b->come);

	/*
	 * SHARED_BARRIER-4. acq_rel: pairs with leave() if all have left.
	 */
	if (atomic_fetch_add(&b->gone, last - seen) >= seen)
		return;
	while ((seen = wf_load_acquire(&b->come)) != 0)
		wf_shared_word_wait(&b->come, seen, WF_FOREVER);
}

/* SPDX-License-Identifier: MIT */
/*
 * libc's words: how many have come, up to which of them may go, how many have
 * gone. Who comes gets the next number, beginning with 1.
 *
 * SHARED_BARRIER-1. Numbers up to `done` may go. `done` is a multiple of the
 *     count, grows, and gets to n only when n have come. Whoever's coming
 *     completes a round moves it there, or finds that somebody else has.
 * SHARED_BARRIER-2. A thread does not touch the object after it has counted
 *     itself as gone, save the one in SHARED_BARRIER-3.
 * SHARED_BARRIER-3. Numbers end at the last multiple of the count below 2^31.
 *     Who comes later only waits for `come` to be small again, and comes anew.
 *     The last to go sets all words to 0, `come` at the end.
 * SHARED_BARRIER-4. Who destroys the object adds to `gone` what is missing to
 *     that last number: the last to go does SHARED_BARRIER-3, and that ends the
 *     wait.
 */
#include "api/shared_barrier.h"

#include <stddef.h>

#include "api/shared_word.h"

enum { NUMBERS = INT_MAX };

struct words {
	_Atomic uint32_t come, done; /* waited on */
	uint32_t count, shared;	     /* constant */
	_Atomic uint32_t gone;
};

_Static_assert(sizeof(struct words) <= sizeof(pthread_barrier_t),
	       "libc's object has these words");

static uint32_t last_number(uint32_t count)
{
	return NUMBERS - NUMBERS % count; /* SHARED_BARRIER-3 */
}

/* acq_rel: all that was done before coming is seen by those who go; pairs
 * with itself, and with the release in leave(). */
static uint32_t come(struct words *b, uint32_t last)
{
	uint32_t number, seen;

	while ((number = atomic_fetch_add(&b->come, 1) + 1) > last) {
		/* SHARED_BARRIER-3 */
		while ((seen = wf_load_acquire(&b->come)) > last)
			wf_shared_word_wait(&b->come, seen, WF_FOREVER);
	}
	return number;
}

/* SHARED_BARRIER-1 */
static void complete_rounds(struct words *b, uint32_t number, uint32_t count)
{
	uint32_t done = wf_load_relaxed(&b->done);

	while (done + count <= number) {
		/* release: pairs with the acquire in wf_shared_barrier_wait. */
		if (wf_cas_acq_rel(&b->done, &done, number - number % count)) {
			wf_shared_word_wake(&b->done, INT_MAX);
			return;
		}
	}
}

static void leave(struct words *b, uint32_t last)
{
	/* acq_rel: all others are through with the words. */
	if (atomic_fetch_add(&b->gone, 1) + 1 != last)
		return; /* SHARED_BARRIER-2 */
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
	struct words *b = (struct words *)barrier;
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
	struct words *b = (struct words *)barrier;
	uint32_t last = last_number(b->count);
	uint32_t seen = wf_load_relaxed(&b->come);

	/*
	 * SHARED_BARRIER-4. acq_rel: pairs with leave(), should all have gone.
	 */
	if (atomic_fetch_add(&b->gone, last - seen) >= seen)
		return;
	while ((seen = wf_load_acquire(&b->come)) != 0)
		wf_shared_word_wait(&b->come, seen, WF_FOREVER);
}

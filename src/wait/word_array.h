/* SPDX-License-Identifier: MIT */
/*
 * The words of weft_word_new. They lie in one array, and the old values that
 * the waiters compare with in another, so that one vector comparison checks
 * many.
 *
 *     uint32_t *word = wf_word_new(0);
 *     ...                                 wf_word_wait, wf_word_ring
 *     wf_word_free(word);
 */
#ifndef WEFT_WAIT_WORD_ARRAY_H
#define WEFT_WAIT_WORD_ARRAY_H

#include "arch/words.h"
#include "sched/thread.h"

enum { WF_WORDS_MAX = 1 << 20 };

/* Bits of a word's state; 0: no thread waits for it. */
enum wf_word_state {
	WF_WORD_IS_WAITED_FOR = 1 << 0,
	WF_WORD_IS_RUNG = 1 << 1,   /* its writer rings: no poll is needed */
	WF_WORD_IS_POLLED = 1 << 2, /* the wait lasts only while a VP polls */
};

struct wf_word_array {
	uint32_t *words; /* the words themselves; the program writes */
	/* the waiter's old value, under the lock of the waiter's bucket; of a
	 * free word: number of the next free word */
	uint32_t *old;
	/*
	 * The thread that waits for each word, at most one. The address of the
	 * element is the user futex key of the wait.
	 */
	/* under the lock of the key's bucket */
	_Atomic(struct wf_thread *) *waiters;
	/* enum wf_word_state; under the same lock; any thread reads */
	uint8_t *states;
	_Atomic uint32_t nr_groups; /* how many groups have words */
	wf_arch_find_fn *find;
};

extern struct wf_word_array wf_word_array;

/*
 * Makes a word with this value. Returns NULL if there is no memory. The caller
 * has in_runtime 0.
 */
uint32_t *wf_word_new(uint32_t value);
void wf_word_free(uint32_t *word);

/*
 * Returns the word's number, or WF_WORDS_MAX if addr is no word of the array.
 */
static inline uint32_t wf_word_number(const volatile void *addr)
{
	uintptr_t offset = (uintptr_t)addr - (uintptr_t)wf_word_array.words;

	if (offset >= WF_WORDS_MAX * sizeof(uint32_t) ||
	    wf_word_array.words == NULL || offset % sizeof(uint32_t) != 0)
		return WF_WORDS_MAX;
	return (uint32_t)(offset / sizeof(uint32_t));
}

static inline uint8_t wf_word_state(uint32_t n)
{
	return __atomic_load_n(&wf_word_array.states[n], __ATOMIC_RELAXED);
}

/*
 * Notes that t waits until word n differs from old. Returns false if another
 * thread waits for the word already. If the word's writer rings, ends with a
 * full fence.
 */
bool wf_word_enter_locked(uint32_t n, struct wf_thread *t, uint32_t old,
			  uint8_t state);
/* Clears the note of the wait for word n. */
void wf_word_leave_locked(uint32_t n);

/*
 * Returns the number of the first changed word from `from` to before `end`, or
 * end if there is none.
 */
uint32_t wf_word_find(uint32_t from, uint32_t end);

void wf_word_array_fork_child(void);

#endif

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

/* Bits; 0: no thread waits for the word. */
enum wf_word_state {
	WF_WORD_IS_WAITED_FOR = 1 << 0,
	WF_WORD_IS_RUNG = 1 << 1,   /* no poll is needed */
	WF_WORD_IS_POLLED = 1 << 2, /* only while a VP polls */
};

struct wf_word_array {
	uint32_t *words; /* the program's */
	uint32_t *old;	 /* bucket of the key; next free word */
	/*
	 * The waiter of each word, at most one. The element's address is the
	 * key of the word's bucket.
	 */
	_Atomic(struct wf_thread *) *waiters; /* bucket of the key */
	uint8_t *states; /* enum wf_word_state; bucket; any thread reads */
	_Atomic uint32_t nr_groups; /* groups that have words */
	wf_arch_find_fn *find;
};

extern struct wf_word_array wf_word_array;

/* Returns NULL for want of memory. in_runtime 0. */
uint32_t *wf_word_new(uint32_t value);
void wf_word_free(uint32_t *word);

/* The word's number, or WF_WORDS_MAX if addr is no word of the array. */
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
 * t begins to wait until word n differs from old. Returns false if another
 * thread waits for it already. If the word is rung, ends with a full fence.
 */
bool wf_word_enter_locked(uint32_t n, struct wf_thread *t, uint32_t old,
			  uint8_t state);
/* The wait for word n is over. */
void wf_word_leave_locked(uint32_t n);

/*
 * The first changed word from `from` to before `end`, or end if there is none.
 */
uint32_t wf_word_find(uint32_t from, uint32_t end);

void wf_word_array_fork_child(void);

#endif

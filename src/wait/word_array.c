/* SPDX-License-Identifier: MIT */
/*
 * The words of weft_word_new, which lie side by side so that a poll can compare
 * a group of them at a time (arch/words.h). They and their old values are
 * arrays in one reservation of address space, to which the kernel adds pages as
 * words are made. Free words are linked through `old`.
 *
 * Rejected: words of 8 bytes. A poll would check half as many at a time. A
 * thread that waits for more than a number can use an address elsewhere.
 */
#include "wait/word_array.h"

#include "os/mem.h"
#include "sched/runtime.h"
#include "wait/closed.h"

struct wf_word_array wf_word_array;

static struct wf_spin lock = WF_SPIN_INIT;
/* number of the first free word + 1; 0: none; under lock */
static uint32_t first_free;
static uint32_t nr_made; /* how many words were ever made; under lock */

/* --- making ------------------------------------------------------------- */

static bool reserve_locked(void)
{
	struct wf_word_array *a = &wf_word_array;
	size_t states = WF_WORDS_MAX;
	size_t words = WF_WORDS_MAX * sizeof(uint32_t);
	size_t waiters = WF_WORDS_MAX * sizeof(void *);
	char *block;

	if (a->words != NULL)
		return true;
	block = wf_os_reserve(2 * words + waiters + states);
	if (block == NULL)
		return false;
	a->find = wf_arch_find_choose();
	a->states = (void *)block;
	a->waiters = (void *)(block + states);
	a->old = (void *)(block + states + waiters);
	a->words = (void *)(block + states + waiters + words);
	return true;
}

static uint32_t *new_locked(uint32_t value)
{
	struct wf_word_array *a = &wf_word_array;
	uint32_t n;

	if (!reserve_locked())
		return NULL;
	if (first_free != 0) {
		n = first_free - 1;
		first_free = a->old[n];
	} else if (nr_made < WF_WORDS_MAX) {
		n = nr_made++;
		wf_store_relaxed(&a->nr_groups, n / WF_ARCH_GROUP + 1);
	} else {
		return NULL;
	}
	a->words[n] = value;
	return &a->words[n];
}

uint32_t *wf_word_new(uint32_t value)
{
	struct wf_thread *t = wf_runtime_enter();
	uint64_t mask = wf_signals_close(t);
	uint32_t *word;

	wf_spin_lock(&lock, WF_RANK_WORD_ARRAY);
	word = new_locked(value);
	wf_spin_unlock(&lock);
	wf_signals_open(t, mask);
	wf_runtime_leave(t);
	return word;
}

void wf_word_free(uint32_t *word)
{
	uint32_t n = wf_word_number(word);
	struct wf_thread *t;
	uint64_t mask;

	if (word == NULL || n == WF_WORDS_MAX)
		return;
	t = wf_runtime_enter();
	mask = wf_signals_close(t);
	wf_spin_lock(&lock, WF_RANK_WORD_ARRAY);
	wf_word_array.old[n] = first_free;
	first_free = n + 1;
	wf_spin_unlock(&lock);
	wf_signals_open(t, mask);
	wf_runtime_leave(t);
}

/* --- waiting ------------------------------------------------------------ */

static void set_state(uint32_t n, uint8_t state)
{
	__atomic_store_n(&wf_word_array.states[n], state, __ATOMIC_RELAXED);
}

bool wf_word_enter_locked(uint32_t n, struct wf_thread *t, uint32_t old,
			  uint8_t state)
{
	struct wf_word_array *a = &wf_word_array;

	if (wf_load_relaxed(&a->waiters[n]) != NULL)
		return false;
	wf_store_relaxed(&a->waiters[n], t);
	__atomic_store_n(&a->old[n], old, __ATOMIC_RELAXED);
	set_state(n, state);
	if ((state & WF_WORD_IS_RUNG) != 0)
		wf_fence_seq_cst(); /* pairs with the fence in wf_word_ring */
	else
		wf_compiler_barrier();
	return true;
}

void wf_word_leave_locked(uint32_t n)
{
	wf_store_relaxed(&wf_word_array.waiters[n], NULL);
	set_state(n, 0);
}

uint32_t wf_word_find(uint32_t from, uint32_t end)
{
	const struct wf_word_array *a = &wf_word_array;
	uint32_t group = from / WF_ARCH_GROUP;
	uint32_t end_group = (end + WF_ARCH_GROUP - 1) / WF_ARCH_GROUP;
	uint64_t bits = 0, behind = ~0ULL << (from % WF_ARCH_GROUP);

	if (from >= end)
		return end;
	if (behind != ~0ULL) {
		bits = behind &
		       a->find(a->words, a->old, a->states, &group, group + 1);
		if (bits == 0)
			group++;
	}
	if (bits == 0)
		bits = a->find(a->words, a->old, a->states, &group, end_group);
	if (bits == 0)
		return end;
	from = group * WF_ARCH_GROUP + (uint32_t)__builtin_ctzll(bits);
	return from < end ? from : end;
}

/* In a fork child: no thread waits. The words keep their values. */
void wf_word_array_fork_child(void)
{
	struct wf_word_array *a = &wf_word_array;

	lock = WF_SPIN_INIT;
	for (uint32_t n = 0; n < wf_load_relaxed(&a->nr_groups) * WF_ARCH_GROUP;
	     n++)
		wf_word_leave_locked(n);
}

/* SPDX-License-Identifier: MIT */
/*
 * Polls the words of all waiting threads. Agents poll while they are idle. A
 * thread that parks polls before its VP gets idle. Busy VPs poll now and then,
 * the monitor once a tick if no VP does. A poll searches the word array, then
 * the slots of the word table, and ends the waits for changed words.
 *
 * WORD_POLL-1. A poll starts after the last hit and searches the array and the
 *     slots in a circle. So no waiter waits longer because other words change
 *     often.
 * WORD_POLL-2. A busy VP polls when 100 times the last poll's duration has
 *     passed, so polls take at most 1 % of its time. It reads the clock at few
 *     of its switches.
 */
#include "wait/word.h"

#include <errno.h>
#include <signal.h>

#include "os/clock.h"
#include "sched/ready.h"
#include "sched/words.h"
#include "wait/word_array.h"
#include "wait/word_internal.h"
#include "wait/word_table.h"

enum {
	BUSY_PART = 100, /* WORD_POLL-2: 1/100 of its time */
	/* switches from a poll to the next clock reading */
	FIRST_SWITCHES = 64,
	MOST_SWITCHES = 4096, /* at most, between two clock readings */
	/* waits that one poll of a busy VP ends, at most */
	HITS_PER_POLL = 16,
	/* waits that one poll of the monitor ends, at most */
	HITS_PER_WATCH = 256,
	TRIES = 8, /* changed words that one wf_words_take checks */
};

_Atomic uint32_t wf_words_nr_watched;

/* Where the monitor's next poll goes on. */
static struct wf_poll_cursor watch_cursor;
static uint64_t watched_polls;

uint64_t wf_words_fault_signals(void)
{
	return 1ULL << (SIGSEGV - 1) | 1ULL << (SIGBUS - 1);
}

bool wf_words_can_fault(const struct wf_thread *t)
{
	return t->carrier != NULL &&
	       (t->sigmask & wf_words_fault_signals()) == 0;
}

bool wf_words_carrier_can_fault(const struct wf_carrier *c)
{
	return c != NULL && c->kernel_mask != WF_MASK_UNKNOWN &&
	       (c->kernel_mask & wf_words_fault_signals()) == 0;
}

bool wf_words_has_slots(void)
{
	return wf_load_relaxed(&wf_word_table.high) > 1;
}

bool wf_words_has_polled(void)
{
	return wf_load_relaxed(&wf_words_nr_polled) != 0;
}

/* --- finding ------------------------------------------------------------ */

enum how {
	HOW_FAULT, /* a handler of weft catches faults */
	HOW_PEEK,  /* the kernel reads: nothing catches faults */
	HOW_SKIP,  /* do not read slots */
};

struct hit {
	struct wf_word_place place;
	int result; /* 0 or -EFAULT */
};

/*
 * Searches the cursor's list up to `end` for a changed word, and moves the
 * cursor past it.
 */
static bool find_in_list(struct wf_poll_cursor *at, uint32_t end, enum how how,
			 struct hit *ret_hit)
{
	bool faulted = false;
	uint32_t n;

	if (at->in_slots && how == HOW_SKIP)
		return false;
	n = at->in_slots ?
		    wf_word_slot_find(at->n, end, how == HOW_FAULT, &faulted) :
		    wf_word_find(at->n, end);
	if (n >= end)
		return false;
	at->n = n + 1;
	*ret_hit = (struct hit){ { at->in_slots, n }, faulted ? -EFAULT : 0 };
	return true;
}

static uint32_t end_of_list(const struct wf_poll_cursor *at)
{
	/* acquire: the slots; pairs with the release in get_locked. */
	return at->in_slots ? wf_load_acquire(&wf_word_table.high) :
			      wf_load_relaxed(&wf_word_array.nr_groups) *
				      WF_ARCH_GROUP;
}

/* Finds the next changed word in the circle of WORD_POLL-1. */
static bool find(struct wf_poll_cursor *at, enum how how, struct hit *ret_hit)
{
	struct wf_poll_cursor begin = *at;

	if (find_in_list(at, end_of_list(at), how, ret_hit))
		return true;
	for (int i = 0; i < 2; i++) {
		bool is_last = i == 1;

		at->in_slots = !at->in_slots;
		at->n = at->in_slots ? 1 : 0;
		if (find_in_list(at, is_last ? begin.n : end_of_list(at), how,
				 ret_hit))
			return true;
	}
	*at = begin;
	return false;
}

static void note_poll(struct wf_vp *vp, enum how how)
{
	if (how != HOW_SKIP || !wf_words_has_slots())
		wf_store_relaxed(&vp->word_poll.nr,
				 wf_load_relaxed(&vp->word_poll.nr) + 1);
}

static enum how how_for(bool can_fault)
{
	return can_fault ? HOW_FAULT : HOW_SKIP;
}

bool wf_words_have_hit(struct wf_vp *vp, bool can_fault)
{
	struct hit hit;

	note_poll(vp, how_for(can_fault));
	if (!find(&vp->word_poll.at, how_for(can_fault), &hit))
		return false;
	vp->word_poll.at.n = hit.place.n;
	return true;
}

struct wf_thread *wf_words_take(struct wf_vp *vp, struct wf_thread *me,
				struct wf_bucket *held, bool can_fault)
{
	enum how how = how_for(can_fault);
	struct hit hit;

	note_poll(vp, how);
	for (int i = 0; i < TRIES && find(&vp->word_poll.at, how, &hit); i++) {
		struct wf_thread *t =
			wf_word_take_waiter(me, hit.place, hit.result, held);

		if (t == NULL)
			continue;
		wf_count_own(&vp->counters, word_hits);
		if (t->kind == WF_THREAD_MULTIPLEXED) {
			t->from_batch = false;
			return t;
		}
		wf_ready_woken(me, t);
	}
	return NULL;
}

/* --- busy VPs ----------------------------------------------------------- */

static int wake_hits(struct wf_poll_cursor *at, enum how how,
		     struct wf_thread *me, int most)
{
	int nr_woken = 0;
	struct hit hit;

	for (int i = 0; i < most && find(at, how, &hit); i++) {
		struct wf_thread *t =
			wf_word_take_waiter(me, hit.place, hit.result, NULL);

		if (t == NULL)
			continue;
		wf_count(word_hits);
		wf_ready_woken(me, t);
		nr_woken++;
	}
	return nr_woken;
}

/*
 * Returns how many switches take ns, if the last nr_switches took in_ns.
 * WORD_POLL-2
 */
static uint32_t switches_until(int64_t ns, uint32_t nr_switches, int64_t in_ns)
{
	int64_t nr = in_ns > 0 ? ns * nr_switches / in_ns : MOST_SWITCHES;

	return nr < 1 ? 1 : nr > MOST_SWITCHES ? MOST_SWITCHES : (uint32_t)nr;
}

void wf_words_poll_when_due(struct wf_vp *vp)
{
	struct wf_word_poll *l = &vp->word_poll;
	struct wf_thread *me = wf_self;
	int64_t now = wf_os_now(), since = now - l->ended_ns, after;
	enum how how = wf_words_carrier_can_fault(me->carrier) ? HOW_FAULT :
								 HOW_PEEK;

	if (since < BUSY_PART * l->cost_ns) {
		l->nr_counted += l->nr_switches;
		l->nr_switches = switches_until(BUSY_PART * l->cost_ns - since,
						l->nr_counted, since);
		l->countdown = l->nr_switches;
		return;
	}
	note_poll(vp, how);
	wake_hits(&l->at, how, me, HITS_PER_POLL);
	after = wf_os_now();
	/* doubled: reading the clock costs time, too */
	l->cost_ns = 2 * (after - now);
	l->ended_ns = after;
	l->nr_counted = 0;
	l->nr_switches = FIRST_SWITCHES;
	l->countdown = FIRST_SWITCHES;
}

/* --- the monitor -------------------------------------------------------- */

uint32_t wf_words_end_polled(struct wf_thread *me)
{
	uint32_t nr_ended = 0;
	uint32_t nr_words =
		wf_load_relaxed(&wf_word_array.nr_groups) * WF_ARCH_GROUP;
	uint32_t high = wf_load_acquire(&wf_word_table.high);

	for (uint32_t n = 0; n < nr_words + high; n++) {
		bool is_slot = n >= nr_words;
		struct wf_word_place place = { is_slot,
					       is_slot ? n - nr_words : n };
		struct wf_thread *t;

		if (is_slot ? !wf_word_table.infos[place.n].is_polled :
			      (wf_word_state(n) & WF_WORD_IS_POLLED) == 0)
			continue;
		t = wf_word_take_waiter(me, place, WF_WORD_UNPOLLED, NULL);
		if (t == NULL)
			continue;
		wf_ready_woken(me, t);
		nr_ended++;
	}
	return nr_ended;
}

/* True if any thread waits for a word that must be polled. */
static bool has_unrung(void)
{
	uint32_t nr_words =
		wf_load_relaxed(&wf_word_array.nr_groups) * WF_ARCH_GROUP;
	uint32_t high = wf_load_acquire(&wf_word_table.high);

	for (uint32_t n = 0; n < nr_words; n++) {
		uint8_t state = wf_word_state(n);

		if (state != 0 && (state & WF_WORD_IS_RUNG) == 0)
			return true;
	}
	for (uint32_t n = 1; n < high; n++) {
		if (wf_word_slot_waiter(n) != NULL &&
		    !wf_word_table.infos[n].is_rung)
			return true;
	}
	return false;
}

uint64_t wf_words_nr_waits(void)
{
	uint64_t nr = wf_load_relaxed(&wf_counters.word_waits);

	for (uint32_t i = 0; i < wf_sched.nr_vps; i++)
		nr += wf_load_relaxed(&wf_sched.vps[i].counters.word_waits);
	return nr;
}

bool wf_words_watch(void)
{
	uint64_t polls = 0;

	if (!wf_sched_has_words())
		return false;
	for (uint32_t i = 0; i < wf_sched.nr_vps; i++)
		polls += wf_load_relaxed(&wf_sched.vps[i].word_poll.nr);
	/* HOW_PEEK: the monitor blocks all signals, so it must not fault. */
	if (polls == watched_polls &&
	    wake_hits(&watch_cursor, HOW_PEEK, NULL, HITS_PER_WATCH) > 0)
		atomic_fetch_add(&wf_words_nr_watched, 1);
	watched_polls = polls;
	if (wf_words_has_polled() && wf_load_relaxed(&wf_sched.nr_pollers) == 0)
		wf_words_end_polled(NULL);
	return wf_words_has_polled() || has_unrung();
}

/* SPDX-License-Identifier: MIT */
/*
 * Memory of a thread: stack, static TLS and TCB in one slot that is made once
 * and used again and again, and a save area for the frame of a preempted
 * thread elsewhere.
 *
 *	low                                                       high
 *	| guard | stack ............ | static TLS | TCB | note | colour |
 *
 * Slots of one size form a class and come from large reservations. The TCB's
 * address is shifted by a colour per slot, or the tops of all stacks would
 * share a few sets of the L2 cache. A thread that waits in a shallow frame
 * has touched two pages: that of its frames and that of its TCB, in which its
 * static TLS in use and the note lie as well.
 *
 * A slot may have the stack of another one of its class: threads that begin
 * exchange theirs for the one that is in the cache (sched/table.h).
 */
#ifndef WEFT_MEM_SLOT_H
#define WEFT_MEM_SLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/spin.h"

/*
 * Where memory is limited (wf_os_memory_is_limited) new classes are tight: a
 * slot takes of each limit what a native thread takes. Stacks have the size
 * that was asked for, no colours and no save areas of their own; slots are made
 * one at a time, and the guard is never opened.
 */
extern _Atomic bool wf_slots_are_tight;

struct wf_slot_class {
	bool is_tight;	     /* constant */
	size_t stack_bytes;  /* constant; 0: TLS and TCB only */
	size_t guard_bytes;  /* constant */
	size_t stride;	     /* constant: bytes of a slot */
	size_t pitch;	     /* constant: from slot to slot, about */
	size_t save_bytes;   /* constant: of a slot's save area, or 0 */
	size_t tcb_lowest;   /* constant: where TCBs begin at the lowest */
	size_t top_lowest;   /* constant: where stacks end at the lowest */
	struct wf_spin lock; /* all below */
	char *region_next;   /* first slot of the region not yet used */
	char *region_open;   /* end of those that may be used */
	char *region_end;
	char *save_next;     /* their save areas */
	size_t region_slots; /* size of the next region */
	uint32_t nr_mapped;
	/* sched/table.c's lists of slots that are free, have been so for a
	 * while, have been trimmed. */
	void *free_threads, *old_threads, *cold_threads;
};

/* What is seldom asked lies behind the TCB, in a page that is touched. */
struct wf_slot_note {
	char *save_top; /* end of the save area; NULL: none yet. Constant, of a
			 * tight class written by the thread */
	char *home;	/* constant: lowest byte of the slot, guard included */
	char *user_low; /* the program's stack; NULL: one of weft's */
	size_t user_bytes;
	uint8_t home_colour; /* constant: of the stack there */
};

struct wf_slot {
	struct wf_slot_class *class; /* NULL: none (thread 0, foreign) */
	char *low;		     /* lowest byte of the stack, guard
				      * included; without a class the end of a
				      * save area */
	uintptr_t tcb;
	uint32_t link_epoch;  /* fork epoch in which ld.so knows it */
	uint8_t stack_colour; /* where the stack ends: place_top in slot.c */
	bool has_user_stack;
	bool is_prepared : 1;	  /* ld.so has made its TLS */
	bool is_fresh : 1;	  /* and nobody has used it since */
	bool is_used : 1;	  /* a thread has run on it */
	_Atomic bool keeps_stack; /* where its stack lies has been asked */
};

/* Lowest usable byte of the stack, the guard lies below. */
char *wf_slot_stack_low(const struct wf_slot *s);
/* Bytes from there; TLS and TCB are among them in a stack of our own. */
size_t wf_slot_stack_bytes(const struct wf_slot *s);
char *wf_slot_stack_end(const struct wf_slot *s);
/*
 * A class may have larger stacks than a thread has asked for. The slack is the
 * difference in units of 64 bytes; a thread keeps it for wf_slot_asked_bytes.
 * As in libc, the asked size is rounded down to the alignment of the TLS.
 */
enum { WF_SLACK_UNIT = 64 };
uint16_t wf_slot_slack(const struct wf_slot_class *class, size_t stack_bytes);
/* Bytes below the end that the program has asked for, TLS and TCB included. */
size_t wf_slot_asked_bytes(const struct wf_slot *s, uint16_t slack);
size_t wf_slot_guard_bytes(const struct wf_slot *s);
/* All of it, guard included: what libc calls the stack's block. */
char *wf_slot_block_low(const struct wf_slot *s);
size_t wf_slot_block_bytes(const struct wf_slot *s);
/*
 * End of the save area for a thread that is interrupted with its stack pointer
 * at sp; NULL if there is none. In a tight class it is the low end of the
 * thread's own stack if that is far from sp, else an area that is made now. By
 * the thread, in a signal handler.
 */
char *wf_slot_save_for(const struct wf_slot *s, uintptr_t sp);

/* Bytes of NPTL's default stack: RLIMIT_STACK or 8 MiB, or the option's. */
size_t wf_slot_default_stack_bytes(void);

/*
 * The class for stacks of at least stack_bytes with a guard of guard_bytes;
 * stack_bytes 0: TLS and TCB only, for a stack that the program supplies.
 * NULL when there are too many classes.
 */
struct wf_slot_class *wf_slot_class_get(size_t stack_bytes, size_t guard_bytes);

/* Can a slot of `c` serve for one of `wanted`? No smaller stack, same guard. */
bool wf_slot_class_serves(const struct wf_slot_class *c,
			  const struct wf_slot_class *wanted);
/* Slack of a thread that has a slot of `c` in place of one of `wanted`. */
uint16_t wf_slot_slack_in(const struct wf_slot_class *c,
			  const struct wf_slot_class *wanted, uint16_t slack);

/* Bytes of a save area. */
size_t wf_slot_save_bytes(void);

/* Maps a new slot of the class. Returns 0 or -ENOMEM. */
int wf_slot_map(struct wf_slot_class *class, struct wf_slot *ret_slot);

/* Class number i, NULL if there are fewer. */
struct wf_slot_class *wf_slot_class_at(uint32_t i);

/*
 * Gives all pages back but that of the TCB. The slot is nobody's and has been
 * used.
 */
void wf_slot_trim(const struct wf_slot *s);

/* Code may be executed on the stacks of slots that are new from now on. */
extern _Atomic bool wf_slots_have_code;
/*
 * If addr is on the slot's stack, which is not the program's own, code may be
 * executed there from now on. False if it is not, or if that is refused.
 */
bool wf_slot_allow_code(const struct wf_slot *s, uintptr_t addr);

/* The stack as it is without a caller's: undoes wf_slot_use_stack. */
void wf_slot_own_stack(struct wf_slot *s);
/* The program's stack of `bytes` at `low`. */
void wf_slot_use_stack(struct wf_slot *s, void *low, size_t bytes);

/* Where the first frame goes. */
void *wf_slot_stack_top(const struct wf_slot *s);

/* Both have stacks of weft's, of one class, that nobody runs on. */
static inline void wf_slot_exchange_stacks(struct wf_slot *a, struct wf_slot *b)
{
	char *low = a->low;
	uint8_t colour = a->stack_colour;

	a->low = b->low;
	a->stack_colour = b->stack_colour;
	b->low = low;
	b->stack_colour = colour;
}
/* The stack with which the slot was mapped. */
char *wf_slot_home(const struct wf_slot *s);
/* s gets the stack with which `of` was mapped. */
void wf_slot_take_home(struct wf_slot *s, const struct wf_slot *of);

/* Bytes of address space of all slots mapped so far, and how many they are. */
size_t wf_slot_mapped(uint32_t *ret_nr);

/* In a fork child, whose other threads may have held the locks. */
void wf_slot_fork_child(void);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Memory of threads. A slot has the stack, static TLS and TCB of a thread. It
 * is mapped once and used by one thread after another. Outside the slot lies a
 * save area for the frame of the thread when it is preempted.
 *
 *	low                                                       high
 *	| guard | stack ............ | static TLS | TCB | note | colour |
 *
 * Slots of one size form a class and come from large reservations. Each slot
 * shifts its TCB by a colour: otherwise the tops of all stacks would share a
 * few sets of the L2 cache. A thread that waits in a shallow frame has touched
 * two pages. The first has its frames, the second its TCB, its static TLS in
 * use and the note.
 *
 * A slot may have the stack of another slot of its class: threads that start
 * exchange their stack for one that is in the cache (sched/table.h).
 *
 *     class = wf_slot_class_get(stack_bytes, guard_bytes);
 *     if (class != NULL)
 *             err = wf_slot_map(class, &slot);
 */
#ifndef WEFT_MEM_SLOT_H
#define WEFT_MEM_SLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/spin.h"

/*
 * Set where memory is limited (wf_os_memory_is_limited): new classes are then
 * tight. A tight slot takes as much of each limit as a native thread. Stacks
 * have exactly the size that was asked for, without colours and save areas.
 * Slots are made one at a time, and the guard is never opened.
 */
extern _Atomic bool wf_slots_are_tight;

struct wf_slot_class {
	bool is_tight;	     /* limited memory: see above; constant */
	size_t stack_bytes;  /* size of stacks, 0: TLS and TCB only; constant */
	size_t guard_bytes;  /* size of guards; constant */
	size_t stride;	     /* constant: size of a slot in bytes */
	size_t pitch;	     /* constant: mean distance of slots in bytes */
	size_t save_bytes;   /* constant: bytes of a slot's save area, or 0 */
	size_t tcb_lowest;   /* constant: lowest offset of a TCB in a slot */
	size_t top_lowest;   /* constant: lowest offset of a stack's end */
	struct wf_spin lock; /* protects the fields below */
	char *region_next;   /* first unused slot of the region */
	char *region_open;   /* end of the slots that are open */
	char *region_end;
	char *save_next;     /* the save area of the next slot */
	size_t region_slots; /* how many slots the next region has */
	uint32_t nr_mapped;
	/* Lists of sched/table.c: slots that are free, that were free for a
	 * while, and that were trimmed. */
	void *free_threads, *old_threads, *cold_threads;
};

/*
 * Fields of a slot that are seldom read. They lie behind its TCB, in a page
 * that is touched anyway.
 */
struct wf_slot_note {
	/*
	 * End of the save area; NULL if there is none yet. Constant. In a tight
	 * class the thread writes it.
	 */
	char *save_top;
	char *home; /* constant: low end of the slot, with its guard */
	/* lowest byte of the program's stack; NULL: the stack is weft's */
	char *user_low;
	size_t user_bytes;
	uint8_t home_colour; /* constant: stack_colour of the stack at `home` */
};

struct wf_slot {
	/* NULL for the process's first thread and foreign threads, which have
	 * no slot */
	struct wf_slot_class *class;
	/*
	 * The lowest byte of the stack, which is its guard's. Without a class:
	 * the end of a save area.
	 */
	char *low;
	uintptr_t tcb;
	/* number of forks after which ld.so knows its TCB */
	uint32_t link_epoch;
	/* offset of the stack's end: place_top in slot.c */
	uint8_t stack_colour;
	bool has_user_stack;
	bool is_prepared : 1; /* ld.so has made its TLS */
	/* no thread has used it since ld.so made its TLS */
	bool is_fresh : 1;
	bool is_used : 1; /* a thread has run on it */
	/* a caller has asked for its stack's bounds */
	_Atomic bool keeps_stack;
};

/* The lowest usable byte of the stack; the guard lies below it. */
char *wf_slot_stack_low(const struct wf_slot *s);
/*
 * The size of the usable stack in bytes. In a stack of weft it includes TLS and
 * TCB.
 */
size_t wf_slot_stack_bytes(const struct wf_slot *s);
char *wf_slot_stack_end(const struct wf_slot *s);
/*
 * A class may have larger stacks than a thread has asked for. The slack is the
 * difference in units of 64 bytes, and the thread keeps it for
 * wf_slot_asked_bytes. As in libc, the asked size is rounded down to the
 * alignment of the TLS.
 */
enum { WF_SLACK_UNIT = 64 };
uint16_t wf_slot_slack(const struct wf_slot_class *class, size_t stack_bytes);
/*
 * Returns the stack size that the program has asked for, in bytes, with TLS and
 * TCB. So many bytes lie below the stack's end.
 */
size_t wf_slot_asked_bytes(const struct wf_slot *s, uint16_t slack);
size_t wf_slot_guard_bytes(const struct wf_slot *s);
/*
 * The lowest byte and the size of the whole block, guard included, as libc
 * describes a stack.
 */
char *wf_slot_block_low(const struct wf_slot *s);
size_t wf_slot_block_bytes(const struct wf_slot *s);
/*
 * Returns the end of a save area for the thread, which was interrupted with its
 * stack pointer at sp; NULL if there is none. In a tight class it is at the low
 * end of the thread's stack if that is far from sp. Otherwise a new area is
 * made. The thread calls this in a signal handler.
 */
char *wf_slot_save_for(const struct wf_slot *s, uintptr_t sp);

/*
 * Returns the size of glibc's default stack in bytes: that of the option,
 * RLIMIT_STACK, or 8 MiB.
 */
size_t wf_slot_default_stack_bytes(void);

/*
 * Returns the class for stacks of at least stack_bytes with a guard of
 * guard_bytes. With stack_bytes 0, slots have TLS and TCB only, for a stack of
 * the program. Returns NULL if there are too many classes.
 */
struct wf_slot_class *wf_slot_class_get(size_t stack_bytes, size_t guard_bytes);

/*
 * True if a slot of `c` can replace one of `wanted`: its stack is no smaller
 * and its guard is the same.
 */
bool wf_slot_class_serves(const struct wf_slot_class *c,
			  const struct wf_slot_class *wanted);
/*
 * A thread that asked for a slot of class `wanted` with this slack gets a slot
 * of the larger class `c`. Returns its slack in `c`. Both slacks are in units
 * of WF_SLACK_UNIT bytes.
 */
uint16_t wf_slot_slack_in(const struct wf_slot_class *c,
			  const struct wf_slot_class *wanted, uint16_t slack);

/* Returns the size of a save area in bytes. */
size_t wf_slot_save_bytes(void);

/* Maps a new slot of the class. Returns 0 or -ENOMEM. */
int wf_slot_map(struct wf_slot_class *class, struct wf_slot *ret_slot);

/* Returns class number i; NULL if there are fewer. */
struct wf_slot_class *wf_slot_class_at(uint32_t i);

/*
 * Gives all pages but that of the TCB back to the kernel. No thread uses the
 * slot, and it has been used.
 */
void wf_slot_trim(const struct wf_slot *s);

/* True if code may be executed on stacks: slots mapped from now on allow it. */
extern _Atomic bool wf_slots_have_code;
/*
 * Makes the slot's stack executable if addr is on it and it is weft's. Returns
 * false if addr is not on it, or if the kernel refuses.
 */
bool wf_slot_allow_code(const struct wf_slot *s, uintptr_t addr);

/* Makes the slot use its own stack again: undoes wf_slot_use_stack. */
void wf_slot_own_stack(struct wf_slot *s);
/* Makes the slot use the program's stack of `bytes` at `low`. */
void wf_slot_use_stack(struct wf_slot *s, void *low, size_t bytes);

/* Returns the stack's end, below which the first frame goes. */
void *wf_slot_stack_top(const struct wf_slot *s);

/*
 * Exchanges the stacks of two slots. Both have stacks of weft, of one class,
 * and no thread runs on these.
 */
static inline void wf_slot_exchange_stacks(struct wf_slot *a, struct wf_slot *b)
{
	char *low = a->low;
	uint8_t colour = a->stack_colour;

	a->low = b->low;
	a->stack_colour = b->stack_colour;
	b->low = low;
	b->stack_colour = colour;
}
/* Returns the low end of the stack with which the slot was mapped. */
char *wf_slot_home(const struct wf_slot *s);
/* Gives s the stack with which `of` was mapped. */
void wf_slot_take_home(struct wf_slot *s, const struct wf_slot *of);

/*
 * The bytes of address space of all slots mapped so far; stores their number.
 */
size_t wf_slot_mapped(uint32_t *ret_nr);

/*
 * In a fork child: frees the locks, which threads of the parent may have held.
 */
void wf_slot_fork_child(void);

#endif

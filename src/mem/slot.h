/*
 * Memory of a thread: stack, static TLS, TCB and a save area for the frame of
 * a preempted thread, in one slot that is made once and used again and again.
 *
 *	low                                                          high
 *	| guard | stack ............ | static TLS | TCB | colour | save |
 *
 * Slots of one size form a class and come from large reservations. The TCB's
 * address is shifted by a colour per slot, or the tops of all stacks would
 * share a few sets of the L2 cache.
 */
#ifndef WEFT_MEM_SLOT_H
#define WEFT_MEM_SLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/spin.h"

struct wf_slot_class {
	size_t stack_bytes;  /* constant; 0: TLS and TCB only */
	size_t guard_bytes;  /* constant */
	size_t stride;	     /* constant: bytes from slot to slot */
	struct wf_spin lock; /* all below */
	char *region_next;   /* first slot of the region not yet used */
	char *region_end;
	size_t region_slots; /* size of the next region */
	uint32_t nr_mapped;
	void *free_threads; /* sched/table.c's free list */
};

struct wf_slot {
	struct wf_slot_class *class; /* NULL: none (thread 0, foreign) */
	char *low;		     /* lowest byte, guard included */
	char *stack_low;	     /* lowest usable byte of the stack */
	size_t stack_bytes;	     /* usable; TLS and TCB included if ours */
	size_t guard_bytes;
	uintptr_t tcb;
	char *save_top; /* end of the save area */
	bool has_user_stack;
	bool is_prepared;    /* ld.so has made its TLS */
	bool is_fresh;	     /* and nobody has used it since */
	bool is_used;	     /* a thread has run on it */
	uint32_t link_epoch; /* fork epoch in which ld.so knows it */
};

/* Bytes of NPTL's default stack: RLIMIT_STACK or 8 MiB, or the option's. */
size_t wf_slot_default_stack_bytes(void);

/*
 * The class for stacks of at least stack_bytes with a guard of guard_bytes;
 * stack_bytes 0: TLS and TCB only, for a stack that the program supplies.
 * NULL when there are too many classes.
 */
struct wf_slot_class *wf_slot_class_get(size_t stack_bytes, size_t guard_bytes);

/* Bytes of the area that ends at save_top. */
size_t wf_slot_save_bytes(void);

/* Maps a new slot of the class. Returns 0 or -ENOMEM. */
int wf_slot_map(struct wf_slot_class *class, struct wf_slot *ret_slot);

/* The stack as it is without a caller's: undoes wf_slot_use_stack. */
void wf_slot_own_stack(struct wf_slot *s);
/* The program's stack of `bytes` at `low`. */
void wf_slot_use_stack(struct wf_slot *s, void *low, size_t bytes);

/* Where the first frame goes. */
void *wf_slot_stack_top(const struct wf_slot *s);

/* In a fork child, whose other threads may have held the locks. */
void wf_slot_fork_child(void);

#endif

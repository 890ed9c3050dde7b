/* SPDX-License-Identifier: MIT */
/*
 * One reading of the threads, for the files of this folder.
 *
 *     wf_see_raw_decode(items, copy, &raw);
 *     wf_see_wait_read(reading, &raw, &thread);
 */
#ifndef WEFT_CLI_SEE_THREADS_H
#define WEFT_CLI_SEE_THREADS_H

#include "open.h"

/* Limits of what is believed. */
enum {
	WF_SEE_MAX_VPS = 1024,
	WF_SEE_MAX_THREADS = 1 << 22,
	WF_SEE_MAX_RECORD = 4096, /* bytes of a thread, a VP's fields, ... */
};

/* The fields of a record by which two copies are compared. */
struct wf_see_raw {
	uint64_t kind, retake, vp, carrier, sp;
	uint64_t wait_addr, was_moved, generation, since, wait_kind;
	uint64_t timer_vp, timer_index, not_started, tid, exit_state;
	uint64_t is_closed, rt_list, tcb, start;
};

struct wf_see_reading {
	const struct wf_see_source *source;
	const struct wf_see_items *items;
	uint64_t records; /* address of the first */
	uint32_t nr;	  /* records */
	uint64_t vps;
	uint32_t nr_vps;
	uint16_t *places; /* by index: where it is queued; queues.c. Or NULL */
	int64_t now_ns;
};

/*
 * Fills places with the threads of all queues. It shows a moment of its own:
 * a thread may be in none, or in two.
 */
void wf_see_queues_read(struct wf_see_reading *r);
/* The name of a place, or NULL; its VP or -1. */
const char *wf_see_place_name(uint16_t place);
int wf_see_place_vp(uint16_t place);

/*
 * Fills the fields of a wait, except owner. t->record, wait_addr and wait_kind
 * are set.
 */
void wf_see_wait_read(const struct wf_see_reading *r,
		      const struct wf_see_raw *raw, struct wf_see_thread *t);
/* The tid of the thread that the wait is for, or 0. */
int wf_see_wait_owner(const struct wf_see_reading *r,
		      const struct wf_see_thread *t);

/* Reads the registers that are saved at sp; 0: none are. */
void wf_see_registers_read(const struct wf_see_reading *r, uint64_t sp,
			   struct wf_see_thread *t);

/*
 * All registers with which a thread that has saved some goes on. Those that are
 * in its functions' frames are 0.
 */
void wf_see_registers_all(const struct wf_see *see,
			  const struct wf_see_thread *t,
			  struct user_regs_struct *ret_registers);
/*
 * The floating state of a preempted thread, as the kernel has it in a core.
 * Returns its size: 0, or that of fxsave, or more.
 */
size_t wf_see_registers_floats(const struct wf_see *see,
			       const struct wf_see_thread *t, char *to,
			       size_t room);

/* Fills the row of a thread anew. False: the thread is no more. */
bool wf_see_thread_again(const struct wf_see_reading *r,
			 struct wf_see_thread *t);

/* Fills r, without places. Returns 0 or an error. */
int wf_see_begin(const struct wf_see *see, struct wf_see_reading *r);

/*
 * Reads one thread again: first the owner, then the record. False if it is not
 * in the same wait any more, or if the wait has another owner.
 */
bool wf_see_still_waits(const struct wf_see_reading *r,
			const struct wf_see_thread *thread);

static inline uint64_t wf_see_vp_at(const struct wf_see_reading *r,
				    uint64_t number)
{
	return r->vps + number * r->items->vp_bytes;
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The layout of the process's weft (src/see/layout.h), as it was read.
 *
 *     err = wf_see_items_read(source, &items);
 *     offset = items.thread_tid.offset;
 *
 * A field that the process's weft lacks has 0 bytes and reads as 0.
 */
#ifndef WEFT_CLI_SEE_ITEMS_H
#define WEFT_CLI_SEE_ITEMS_H

#include "see/layout.h"
#include "source.h"

struct wf_see_field {
	uint64_t offset;
	uint32_t bytes;
};

/* Fields by their names in the layout. */
#define WF_SEE_FIELDS(X)                                 \
	X(thread_kind, "thread.kind")                    \
	X(thread_retake, "thread.retake")                \
	X(thread_vp, "thread.vp")                        \
	X(thread_carrier, "thread.carrier")              \
	X(thread_sp, "thread.ctx.sp")                    \
	X(thread_wait_addr, "thread.wait_addr")          \
	X(thread_was_moved, "thread.wait_was_moved")     \
	X(thread_generation, "thread.wait_generation")   \
	X(thread_since, "thread.wait_since")             \
	X(thread_wait_kind, "thread.wait_kind")          \
	X(thread_timer_vp, "thread.timer_vp")            \
	X(thread_timer_index, "thread.timer_index")      \
	X(thread_not_started, "thread.not_started")      \
	X(thread_tid, "thread.tid")                      \
	X(thread_exit_state, "thread.exit_state")        \
	X(thread_start, "thread.start_routine")          \
	X(thread_start_arg, "thread.start_arg")          \
	X(thread_name, "thread.name")                    \
	X(thread_tcb, "thread.slot.tcb")                 \
	X(thread_is_closed, "thread.sigqueue.is_closed") \
	X(thread_sigwait, "thread.sigwait_set")          \
	X(thread_is_suspended, "thread.is_suspended")    \
	X(thread_sigmask, "thread.sigmask")              \
	X(thread_rt_list, "thread.rt_list")              \
	X(thread_is_first, "thread.is_first")            \
	X(vp_cur, "vp.cur")                              \
	X(vp_carrier, "vp.carrier")                      \
	X(vp_timers, "vp.timers")                        \
	X(vp_next_slot, "vp.next_slot")                  \
	X(vp_interactive, "vp.interactive")              \
	X(vp_batch, "vp.batch")                          \
	X(vp_remote, "vp.remote")                        \
	X(carrier_tid, "carrier.tid")                    \
	X(carrier_bound_why, "carrier.bound_why")        \
	X(sched_is_started, "sched.is_started")          \
	X(sched_nr_vps, "sched.nr_vps")                  \
	X(sched_vps, "sched.vps")                        \
	X(sched_inject, "sched.inject")                  \
	X(sched_monitor_ms, "sched.monitor_ms")          \
	X(runq_head, "runq.head")                        \
	X(runq_tail, "runq.tail")                        \
	X(runq_slot, "runq.slot")                        \
	X(inject_head, "inject.head")                    \
	X(inject_len, "inject.len")                      \
	X(inject_capacity, "inject.capacity")            \
	X(inject_entries, "inject.entries")              \
	X(timers_entries, "timers.entries")              \
	X(timer_key, "timer.key")                        \
	X(timer_item, "timer.item")                      \
	X(mutex_word, "mutex.word")                      \
	X(mutex_owner, "mutex.owner")                    \
	X(mutex_kind, "mutex.kind")                      \
	X(boost_is_granted, "boost.is_granted")          \
	X(boost_mutex, "boost.mutex")                    \
	X(cond_seq, "cond.seq")                          \
	X(cond_waiters, "cond.waiters")                  \
	X(cond_mutex, "cond.mutex")                      \
	X(sem_word, "sem.word")                          \
	X(rwlock_word, "rwlock.word")                    \
	X(rwlock_writer, "rwlock.writer")                \
	X(barrier_round, "barrier.round")                \
	X(barrier_left, "barrier.left")                  \
	X(barrier_arrived, "barrier.arrived")            \
	X(barrier_count, "barrier.count")                \
	X(requests_nr_done, "requests.nr_done")          \
	X(requests_nr, "requests.nr")                    \
	X(requests_first, "requests.first")              \
	X(request_op, "request.op")                      \
	X(request_fd, "request.fd")                      \
	X(request_addr, "request.addr")                  \
	X(request_io, "request.io")                      \
	X(call_nr, "call.nr")                            \
	X(call_args, "call.args")

/* Numbers, addresses and sizes. */
#define WF_SEE_NUMBERS(X)                         \
	X(table, "table")                         \
	X(table_used, "table_used")               \
	X(sched, "sched")                         \
	X(thread_entry, "thread_entry")           \
	X(frame_resume, "frame_resume")           \
	X(frame_rbp, "frame.rbp")                 \
	X(frame_rip, "frame.rip")                 \
	X(frame_bytes, "frame.bytes")             \
	X(frame_red_zone, "frame.red_zone")       \
	X(thread_bytes, "thread")                 \
	X(vp_bytes, "vp")                         \
	X(carrier_bytes, "carrier")               \
	X(runq_slots, "runq.slots")               \
	X(timer_bytes, "timer")                   \
	X(entry_not_started, "entry.not_started") \
	X(mutex_inherit, "mutex.inherit")         \
	X(mutex_tid_mask, "mutex.tid_mask")       \
	X(rwlock_has_writer, "rwlock.has_writer") \
	X(exit_state_done, "exit_state.done")     \
	X(not_started_bit, "not_started.bit")

struct wf_see_items {
	char version[sizeof(((struct wf_layout_head *)0)->version) + 1];
	struct wf_layout_item *items;
	uint32_t nr;
#define WF_SEE_FIELD(name, text) struct wf_see_field name;
	WF_SEE_FIELDS(WF_SEE_FIELD)
#undef WF_SEE_FIELD
#define WF_SEE_NUMBER(name, text) uint64_t name;
	WF_SEE_NUMBERS(WF_SEE_NUMBER)
#undef WF_SEE_NUMBER
};

/*
 * Finds the table that describes weft's structs (src/see/layout.h) in the
 * source's memory, and reads it. Returns 0 or an error.
 */
int wf_see_items_read(const struct wf_see_source *source,
		      struct wf_see_items *ret_items);
void wf_see_items_free(struct wf_see_items *items);

/* The item of this name and kind, or NULL. */
const struct wf_layout_item *wf_see_item(const struct wf_see_items *items,
					 const char *name, uint32_t what);
/* The word for a value of an enum, or NULL. Lives as long as the items. */
const char *wf_see_word(const struct wf_see_items *items, const char *of,
			uint64_t value);

/*
 * The field in a copy of its struct, and in the struct at an address of the
 * process. 0 if it is not there.
 */
uint64_t wf_see_get(const struct wf_see_field *field, const char *copy,
		    size_t bytes);
uint64_t wf_see_peek(const struct wf_see_source *source, uint64_t address,
		     const struct wf_see_field *field);

#endif

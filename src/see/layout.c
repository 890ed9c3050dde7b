/* SPDX-License-Identifier: MIT */
/*
 * The items of the layout, built by the compiler from the structures
 * themselves. No code of the library reads them.
 *
 * Rejected: a copy of the data in a form of its own. To keep it up to date
 * would cost each switch some stores, and a reader of a core file would trust
 * it more than the data itself.
 */
#include "see/layout.h"

#include <linux/io_uring.h>
#include <stddef.h>

#include "arch/arch.h"
#include "base/compiler.h"
#include "base/options.h"
#include "io/backend/call.h"
#include "io/backend/request.h"
#include "io/backend/ring.h"
#include "os/fallback.h"
#include "sched/entry.h"
#include "sched/monitor_time.h"
#include "sched/table.h"
#include "sched/vp.h"
#include "sync/barrier.h"
#include "sync/boost.h"
#include "sync/cond.h"
#include "sync/mutex.h"
#include "sync/rwlock.h"
#include "sync/sem.h"
#include "wait/timer.h"
#include "weft/weft.h"

#define ADDRESS(n, variable)                                    \
	{                                                       \
		.name = n, .what = WF_LAYOUT_ADDRESS,           \
		.bytes = sizeof(variable), .address = &variable \
	}
#define CODE(n, function)                                           \
	{                                                           \
		.name = n, .of = "code", .what = WF_LAYOUT_ADDRESS, \
		.address = (const void *)(function)                 \
	}
#define STRUCT(n, type)                                                    \
	{                                                                  \
		.name = n, .what = WF_LAYOUT_STRUCT,                       \
		.bytes = sizeof(struct type), .value = sizeof(struct type) \
	}
#define FIELD_AS(n, type, member, meaning)                         \
	{                                                          \
		.name = n, .of = meaning, .what = WF_LAYOUT_FIELD, \
		.bytes = sizeof(((struct type *)0)->member),       \
		.value = offsetof(struct type, member)             \
	}
#define THREAD(member, meaning) \
	FIELD_AS("thread." #member, wf_thread, member, meaning)
#define NUMBER(n, v)                                              \
	{                                                         \
		.name = n, .what = WF_LAYOUT_NUMBER, .value = (v) \
	}
#define ENUM(enumeration, n, v)                                       \
	{                                                             \
		.name = n, .of = enumeration, .what = WF_LAYOUT_ENUM, \
		.value = (v)                                          \
	}
#define WAIT_KIND(n, text) ENUM("wait_kind", text, WF_WAIT_##n),
#define FALLBACK(n, text) ENUM("fallback", text, WF_FALLBACK_##n),
#define BOUND_WHY(n, text) ENUM("bound_why", text, WF_BOUND_##n),

static const struct wf_layout_item items[] = {
	ADDRESS("table", wf_table),
	ADDRESS("table_used", wf_table_used),
	ADDRESS("sched", wf_sched),
	ADDRESS("io_option", wf_options.io),
	ADDRESS("fallbacks", wf_fallbacks), /* bits: enum "fallback" */
	CODE("thread_entry", wf_arch_thread_entry),
	CODE("frame_resume", wf_arch_frame_resume),

	/* The frame at thread.ctx.sp (arch/x86_64/switch.h). */
	NUMBER("frame.rbp", WF_ARCH_FRAME_RBP),
	NUMBER("frame.rip", WF_ARCH_FRAME_RIP),
	/* Distance from sp to the stack pointer when the thread runs again. */
	NUMBER("frame.bytes", WF_ARCH_FRAME_BYTES),
	/* The red zone lies below that stack pointer, if the thread has
	 * switched by itself. */
	NUMBER("frame.red_zone", 128),

	STRUCT("thread", wf_thread),
	THREAD(in_runtime, "flag"),
	THREAD(retake, "retake"),
	THREAD(kind, "thread_kind"),
	THREAD(vp, "pointer"),
	THREAD(carrier, "pointer"),
	THREAD(ctx.sp, "pointer"), /* NULL while it runs */
	THREAD(ctx.tp, "pointer"),
	THREAD(sigmask, "signals"),
	THREAD(index, "index"),
	THREAD(wait_addr, "pointer"), /* NULL while it does not wait */
	THREAD(wait_bits, "word"),
	THREAD(wait_was_moved, "flag"),
	THREAD(is_cancelled, "flag"),
	THREAD(wait_generation, "count"),
	THREAD(wait_since, "ms"),	/* if wait_addr is not NULL */
	THREAD(wait_kind, "wait_kind"), /* only if wait_addr is not NULL */
	THREAD(timer_vp, "index"),
	THREAD(timer_index, "index"), /* place in the heap; 0: no deadline */
	THREAD(not_started, "not_started"),
	THREAD(tid, "tid"), /* 0 or less: the record is free */
	THREAD(exit_state, "exit_state"),
	THREAD(joiner, "index"),
	THREAD(start_routine, "pointer"),
	THREAD(start_arg, "pointer"),
	THREAD(name, "text"),
	THREAD(slot.class, "pointer"), /* NULL: the stack is not weft's */
	THREAD(slot.low, "pointer"),
	THREAD(slot.tcb, "pointer"), /* the pthread_t */
	THREAD(sigqueue.is_closed, "flag"),
	THREAD(sigqueue.pending, "signals"),
	THREAD(sigwait_set, "signals"),
	THREAD(is_suspended, "flag"),
	THREAD(generation, "count"),
	THREAD(rt_priority, "priority"),
	THREAD(rt_list, "priority"),
	THREAD(is_first, "flag"),

	STRUCT("vp", wf_vp),
	FIELD_AS("vp.cur", wf_vp, cur, "pointer"),
	FIELD_AS("vp.carrier", wf_vp, carrier, "pointer"),
	FIELD_AS("vp.id", wf_vp, id, "index"),
	FIELD_AS("vp.io", wf_vp, io, "pointer"),
	FIELD_AS("vp.timers", wf_vp, timers, "pointer"),
	FIELD_AS("vp.next_slot", wf_vp, next_slot, "entry"),
	FIELD_AS("vp.interactive", wf_vp, interactive, "runq"),
	FIELD_AS("vp.batch", wf_vp, batch, "runq"),
	FIELD_AS("vp.remote", wf_vp, remote, "inject"),

	STRUCT("carrier", wf_carrier),
	FIELD_AS("carrier.tid", wf_carrier, tid, "tid"),
	FIELD_AS("carrier.vp", wf_carrier, vp, "pointer"),
	FIELD_AS("carrier.bound", wf_carrier, bound, "pointer"),
	FIELD_AS("carrier.bound_why", wf_carrier, bound_why, "bound_why"),
	FIELD_AS("carrier.number", wf_carrier, number, "index"),

	FIELD_AS("sched.is_started", wf_sched, is_started, "flag"),
	FIELD_AS("sched.nr_vps", wf_sched, nr_vps, "count"),
	FIELD_AS("sched.vps", wf_sched, vps, "pointer"),
	FIELD_AS("sched.inject", wf_sched, inject, "inject"),
	FIELD_AS("sched.nr_threads", wf_sched, nr_threads, "count"),
	FIELD_AS("sched.monitor_ms", wf_sched, monitor_ms, "ms"),

	/* A run queue: entries from head to tail, in an array of `slots`. */
	STRUCT("runq", wf_runq),
	FIELD_AS("runq.head", wf_runq, head, "position"),
	FIELD_AS("runq.tail", wf_runq, tail, "position"),
	FIELD_AS("runq.slot", wf_runq, slot, "entry"),
	NUMBER("runq.slots", WF_RUNQ_SIZE),
	STRUCT("inject", wf_inject),
	FIELD_AS("inject.head", wf_inject, head, "index"),
	FIELD_AS("inject.len", wf_inject, len, "count"),
	FIELD_AS("inject.capacity", wf_inject, capacity, "count"),
	FIELD_AS("inject.entries", wf_inject, entries, "pointer"),
	/* The low half of an entry is thread.index. */
	NUMBER("entry.not_started", WF_ENTRY_NOT_STARTED),

	FIELD_AS("timers.entries", wf_timers, heap.entries, "pointer"),
	FIELD_AS("timers.capacity", wf_timers, heap.capacity, "count"),
	STRUCT("timer", wf_heap_entry),
	/* of CLOCK_MONOTONIC */
	FIELD_AS("timer.key", wf_heap_entry, key, "ns"),
	FIELD_AS("timer.item", wf_heap_entry, item, "pointer"),

	/* The objects to which wait_addr points, by wait_kind. */
	FIELD_AS("mutex.word", wf_mutex, word, "mutex_word"),
	FIELD_AS("mutex.owner", wf_mutex, owner, "tid"),
	FIELD_AS("mutex.kind", wf_mutex, libc.libc_kind, "word"),
	NUMBER("mutex.inherit", WF_MUTEX_INHERIT),
	NUMBER("mutex.tid_mask", ~(uint32_t)WF_BOOST_WAITED),
	FIELD_AS("boost.is_granted", wf_boost_waiter, is_granted, "flag"),
	FIELD_AS("boost.mutex", wf_boost_waiter, mutex, "pointer"),
	FIELD_AS("cond.seq", wf_cond, seq, "count"),
	FIELD_AS("cond.waiters", wf_cond, waiters, "count"),
	FIELD_AS("cond.mutex", wf_cond, mutex, "pointer"),
	FIELD_AS("sem.word", wf_sem, word, "word"),
	FIELD_AS("rwlock.word", wf_rwlock, word, "rwlock_word"),
	FIELD_AS("rwlock.writer", wf_rwlock, writer, "tid"),
	NUMBER("rwlock.readers", WF_RWLOCK_READERS),
	NUMBER("rwlock.has_writer", WF_RWLOCK_WRITER),
	FIELD_AS("barrier.round", wf_barrier, round, "count"),
	FIELD_AS("barrier.left", wf_barrier, left, "count"),
	FIELD_AS("barrier.arrived", wf_barrier, arrived, "count"),
	FIELD_AS("barrier.count", wf_barrier, count, "count"),
	FIELD_AS("requests.nr_done", wf_request_wait, nr_done, "count"),
	FIELD_AS("requests.nr", wf_request_wait, nr, "count"),
	FIELD_AS("requests.first", wf_request_wait, requests, "pointer"),
	STRUCT("request", wf_request),
	FIELD_AS("request.op", wf_request, op, "io_op"),
	FIELD_AS("request.fd", wf_request, fd, "descriptor"),
	FIELD_AS("request.addr", wf_request, addr, "pointer"),
	FIELD_AS("request.len", wf_request, len, "count"),
	FIELD_AS("request.op_flags", wf_request, op_flags, "word"),
	/* the ring of its VP */
	FIELD_AS("request.io", wf_request, io, "pointer"),
	FIELD_AS("call.nr", wf_call, nr, "system_call"),
	FIELD_AS("call.args", wf_call, args, "word"),

	WF_FALLBACKS(FALLBACK)

		NUMBER("exit_state.detached", WF_EXIT_DETACHED),
	NUMBER("exit_state.done", WF_EXIT_DONE),
	NUMBER("not_started.bit", WF_NOT_STARTED_BIT),
	ENUM("retake", "none", WF_RETAKE_NONE),
	ENUM("retake", "asked", WF_RETAKE_ASK),
	ENUM("retake", "taken", WF_RETAKE_TAKEN),
	ENUM("thread_kind", "foreign", WF_THREAD_FOREIGN),
	ENUM("thread_kind", "multiplexed", WF_THREAD_MULTIPLEXED),
	ENUM("thread_kind", "bound", WF_THREAD_BOUND),
	WF_WAIT_KINDS(WAIT_KIND) WF_BOUND_REASONS(BOUND_WHY)
		ENUM("io_op", "accept", IORING_OP_ACCEPT),
	ENUM("io_op", "call", WF_REQUEST_OP_CALL), /* addr: struct call */
	ENUM("io_op", "connect", IORING_OP_CONNECT),
	ENUM("io_op", "futex", WF_RING_OP_FUTEX_WAIT),
	ENUM("io_op", "poll", IORING_OP_POLL_ADD),
	ENUM("io_op", "read", IORING_OP_READ),
	ENUM("io_op", "readv", IORING_OP_READV),
	ENUM("io_op", "recv", IORING_OP_RECV),
	ENUM("io_op", "recvmsg", IORING_OP_RECVMSG),
	ENUM("io_op", "send", IORING_OP_SEND),
	ENUM("io_op", "sendmsg", IORING_OP_SENDMSG),
	ENUM("io_op", "write", IORING_OP_WRITE),
	ENUM("io_op", "writev", IORING_OP_WRITEV),
};

__attribute__((visibility("default"), used))
const struct wf_layout_head weft_layout = {
	.magic = WF_LAYOUT_MAGIC,
	.form = WF_LAYOUT_FORM,
	.bytes = sizeof(struct wf_layout_head),
	.version = WEFT_VERSION,
	.cpu = "x86_64",
	.items = items,
	.nr_items = sizeof(items) / sizeof(items[0]),
	.item_bytes = sizeof(items[0]),
};

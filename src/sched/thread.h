/* SPDX-License-Identifier: MIT */
/*
 * struct wf_thread: everything weft knows of one POSIX thread.
 *
 *     struct wf_thread *t = wf_self;         the calling thread, or NULL
 *
 * All threads are in one dense array (sched/table.h), at the index of their
 * slot. They are never freed, so a stale pointer reads an old thread and not
 * foreign memory. The slot has the thread's stack, its TLS block and glibc's
 * TCB.
 *
 * The comment of a field names its writer. "self" is the thread itself with
 * in_runtime set. "vp" is the owner of the VP that runs or queues the thread.
 * "bucket" is the thread that holds the lock of the bucket in which this one
 * waits.
 */
#ifndef WEFT_SCHED_THREAD_H
#define WEFT_SCHED_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "base/self.h"
#include "base/spin.h"
#include "mem/slot.h"

struct wf_vp;
struct wf_carrier;

enum wf_thread_kind {
	WF_THREAD_FOREIGN = 0, /* runs on a kernel thread that weft did not
				* make, or before the runtime started */
	WF_THREAD_MULTIPLEXED, /* runs on any VP that picks it */
	WF_THREAD_BOUND,       /* owns its carrier, has no VP */
};

/* struct wf_thread.retake: the owner of the VP while in_runtime is 0. */
enum wf_retake {
	WF_RETAKE_NONE = 0,
	WF_RETAKE_ASK,	 /* the monitor wants the VP, but does not have it */
	WF_RETAKE_TAKEN, /* the VP is gone; reacquire one at the next entry */
};

/* struct wf_thread.exit_work: the work that the runtime's exit has to do. */
enum wf_exit_work {
	WF_WORK_RESCHED = 1 << 0, /* the VP is to run another thread */
	WF_WORK_SIGNAL = 1 << 1,  /* a signal waits in a slot or a queue */
	WF_WORK_BIND = 1 << 2,	  /* become bound */
	WF_WORK_CANCEL = 1 << 3,  /* check the TCB's cancel state */
};

/*
 * struct wf_thread.exit_state: the life after the start routine. Joiners wait
 * on the word, and all changes are made under its bucket's lock. The thread
 * that sets the second of DONE and DETACHED frees the exited thread.
 */
enum wf_exit_state {
	WF_EXIT_JOINABLE = 0,
	WF_EXIT_DETACHED = 1 << 0, /* no thread will join */
	WF_EXIT_DONE = 1 << 1,	   /* has left its stack for the last time */
};

/*
 * struct wf_thread.wait_kind: the object that a wait is for. For programs that
 * look at the process from outside (see/layout.h). Names come from here, too.
 */
#define WF_WAIT_KINDS(X)                                                       \
	X(NONE, "none")                                                        \
	X(MUTEX, "mutex") /* wait_addr: struct wf_mutex.word */                \
	X(PRIORITY_MUTEX, "priority_mutex")                                    \
	/* wait_addr: struct wf_boost_waiter.is_granted */                     \
	X(COND, "condition")		  /* struct wf_cond.seq */             \
	X(COND_END, "condition_destroy")  /* struct wf_cond.waiters */         \
	X(SEM, "semaphore")		  /* struct wf_sem.word */             \
	X(RWLOCK_READ, "rwlock_read")	  /* struct wf_rwlock.word */          \
	X(RWLOCK_WRITE, "rwlock_write")	  /* the same */                       \
	X(BARRIER, "barrier")		  /* struct wf_barrier.round */        \
	X(BARRIER_END, "barrier_destroy") /* struct wf_barrier.left */         \
	X(ONCE, "once")			  /* the word of the pthread_once_t */ \
	X(JOIN, "join")			  /* struct wf_thread.exit_state */    \
	X(FUTEX, "futex")		  /* the program's word */             \
	X(IO, "io")			  /* struct wf_request_wait.nr_done */ \
	X(SLEEP, "sleep")		  /* struct wf_thread.index */         \
	X(SIGNAL, "signal")		  /* struct wf_thread.signal_word */   \
	X(WORD, "wait_word")		  /* a place of weft's own */          \
	X(RUNTIME, "runtime")		  /* the reaper's word */

enum wf_wait_kind {
#define WF_WAIT_KIND(name, text) WF_WAIT_##name,
	WF_WAIT_KINDS(WF_WAIT_KIND)
#undef WF_WAIT_KIND
};

/*
 * struct wf_carrier.bound_why: the first reason for which its thread was bound.
 * Names are for readers outside the process.
 */
#define WF_BOUND_REASONS(X)                                                    \
	X(NONE, "none")                                                        \
	X(OPTION, "option")		/* --bound names its start routine */  \
	X(AFFINITY, "affinity")		/* it has CPUs of its own */           \
	X(CREATOR, "creator")		/* as KERNEL_STATE, of its creator */  \
	X(KERNEL_STATE, "kernel_state") /* its kernel thread is special */     \
	X(BLOCKS, "blocking_calls")	/* its carrier blocked often */        \
	X(CPU_CLOCK, "cpu_clock")	/* a clock or timer of its CPU time */ \
	X(TRACER, "tracer")		/* it traces, or may be traced */      \
	X(OWN_RUNTIME, "own_runtime")	/* native code sets its signals */     \
	X(PI_FUTEX, "pi_futex")		/* the kernel knows it as an owner */  \
	X(SLOW_CALLS, "slow_calls") /* its calls gain nothing by parking */    \
	X(LAST, "last_thread")	    /* the process is to have one thread */    \
	X(ASKED, "asked")	    /* weft_thread_bind */

enum wf_bound_why {
#define WF_BOUND_REASON(name, text) WF_BOUND_##name,
	WF_BOUND_REASONS(WF_BOUND_REASON)
#undef WF_BOUND_REASON
};

/* Signals that were sent and not yet delivered (signal/queue.c). */
struct wf_signal_node;
struct wf_sigqueue {
	struct wf_spin lock;	       /* the list */
	_Atomic bool is_closed;	       /* the thread ends; self, creator */
	_Atomic uint64_t pending;      /* bit n - 1: signal n is in the list */
	struct wf_signal_node *newest; /* circular list, or NULL; lock */
};

/* As stack_t, but packed. */
struct wf_altstack {
	void *sp;
	size_t size;
	int flags;
} __attribute__((packed, aligned(4)));

/* Saved by the switch; layout known to arch/. */
struct wf_context {
	void *sp;     /* stack pointer, registers saved above it; NULL while the
		       * thread runs */
	uintptr_t tp; /* thread register: the TCB */
};

/*
 * CPU-bound threads, as the monitor's tick finds them. When a thread blocks,
 * its CPU-bound flag moves into a history of three entries. A thread that has
 * computed for long after a wake is likely to do so again. Full ticks without
 * blocking make a thread a candidate, and three of them make it CPU-bound. A
 * thread that ignores a cooperative preemption request is uncooperative for
 * some ticks (monitor/preempt_request.c).
 */
enum wf_cpu_bound {
	WF_CPU_BOUND_NOW = 1,
	WF_CPU_BOUND_BEFORE = 2 | 4 | 8,
	WF_CPU_BOUND_CANDIDATE = 16,	 /* one tick; up to MOST */
	WF_CPU_BOUND_UNCOOPERATIVE = 64, /* one time; up to MOST */
	WF_CPU_BOUND_MOST = 3,
};

/*
 * A program may have a million threads. So this struct has at most 320 of the
 * 9,000 bytes that a parked thread takes in all.
 */
struct wf_thread {
	/* Line 0: each entry to and exit from the runtime. */
	_Atomic uint32_t in_runtime; /* self; read by the monitor and by
				      * signal handlers */
	_Atomic uint32_t retake;     /* enum wf_retake; monitor and self, CAS */
	_Atomic uint32_t exit_work;  /* enum wf_exit_work; any thread, atomic
				      * or */
	uint8_t kind;		     /* enum wf_thread_kind; self */
	uint8_t cpu_bound;	     /* enum wf_cpu_bound; monitor, self */
	bool from_batch;	     /* picked from the batch queue; vp */
	uint8_t rt_priority;	     /* 1 to 99: SCHED_FIFO or RR, or boost; 0:
				      * neither; REALTIME-3 */
	struct wf_vp *vp;	     /* NULL while a bound or foreign thread
				      * runs; stale once retake is TAKEN; vp */
	struct wf_carrier *carrier;  /* vp */
	union {
		struct wf_context ctx; /* vp, while it does not run */
		uint64_t fp_control;   /* of a thread that never ran: inherited
					* control words; creator */
	};
	uint64_t sigmask;     /* bit n - 1 for signal n; self */
	uint32_t index;	      /* place in the array; constant */
	uint32_t nr_handlers; /* handlers that have run; self */

	/* Line 1: waiting (wait/ufutex.c). */
	struct wf_thread *wait_next, *wait_prev; /* circular list; bucket */
	const void *wait_addr; /* bucket; NULL when not waiting */
	_Atomic(struct wf_bucket *) wait_bucket; /* bucket */
	uint32_t wait_bits; /* bucket; of a starving thread: the start of its
			      * wait, in ms */
	/* The creator clears what follows, up to wait_result. */
	_Atomic bool is_cancelled;   /* by pthread_cancel; never reset */
	bool at_cancel_point : 1;    /* cancellation may end the wait; self */
	bool is_starving : 1;	     /* waits before threads of its priority;
				      * self */
	bool has_native_signals : 1; /* OWN_RUNTIME-1 in thread/own_runtime.c;
				      * self, creator */
	bool is_replacing : 1;	     /* executes a program, and is in no handler
				      * just now (boot/replacing.c); self */
	uint8_t nr_large_polls : 4;  /* polls of many files that had to wait;
				      * self */
	bool wait_was_moved;	     /* bucket: by a requeue */
	bool interrupted;	  /* a handler without SA_RESTART ran; self */
	int32_t wait_result;	  /* bucket: 0, token or -errno */
	uint32_t hint;		  /* of the last call: may let the next call
				   * take a fast path. An address, cut off,
				   * or an odd number; self */
	uint64_t wait_generation; /* bucket: one per wait */
	union {
		struct wf_thread *next; /* link in the one queue that has the
					 * thread */
		/* While wait_addr is not NULL: a waiting thread is in no
		 * queue. Read from outside the process. */
		struct {
			uint32_t wait_since; /* sched/monitor_time.h; self */
			uint8_t wait_kind;   /* enum wf_wait_kind; self */
		};
	};

	/* Line 2: timers (wait/timer.c), kernel waits. */
	uint16_t timer_vp;	      /* id of the VP with its timer; self */
	uint16_t stack_slack;	      /* see wf_slot_slack; creator */
	_Atomic uint32_t kernel_word; /* futex on which a bound or foreign
				       * thread sleeps: 0 asleep, 1 woken or in
				       * no wait */
	/* The creator clears the next four in one store. */
	uint32_t timer_index;	      /* place in the VP's heap, 0 if none; the
				       * heap's lock */
	_Atomic uint32_t joiner;      /* index of the joining thread, 0 if
				       * none */
	uint32_t next_sibling;	      /* index of the thread that its creator
				       * made next, 0 if none: a hint */
	_Atomic uint32_t signal_word; /* futex of sigwait and sigsuspend */

	/* Identity. */
	_Atomic uint32_t not_started; /* generation | 1 << 31 until claimed */
	int32_t tid;		      /* as the program sees it; creator */
	void *(*start_routine)(void *);
	union {
		void *start_arg;   /* until the start routine has it; creator */
		uint64_t tls_mark; /* afterwards: libc/tls.h; self */
	};
	void *result;
	char name[16];

	struct wf_slot slot; /* memory; the thread that reserved it */

	/* Signals. */
	struct wf_altstack altstack; /* the program's, virtual; self */
	_Atomic uint32_t exit_state; /* enum wf_exit_state */
	struct wf_sigqueue sigqueue; /* for this thread, not yet delivered */
	/* The creator clears what follows, up to `generation`. */
	_Atomic uint64_t sigwait_set; /* the signals of a sigwait; self */
	bool is_suspended;	      /* in sigsuspend, before any handler;
					* self */
	bool takes_signal;	      /* in_runtime, and yet a handler may run
					* at this point; self */
	bool wait_is_firm;	      /* no signal interrupts the wait; self,
					* bucket */
	bool is_first;		      /* thread 0: the process's first */
	bool has_affinity;	      /* CPUs other than the process's */
	uint8_t rt_list;	      /* the list that has it, 0 if none;
					* REALTIME-3 */
	uint16_t nr_handoffs;	      /* in a row; monitor */
	uint32_t generation;	      /* of the slot's use; creator */
	union {
		struct {
			int8_t sched_priority;	       /* set by the program */
			uint8_t sched_policy : 4;      /* set by the program */
			uint8_t resets_on_fork : 1;    /* SCHED_RESET_ON_FORK */
			uint8_t libc_knows_policy : 1; /* as libc would store
							* it */
			uint8_t made_with_policy : 1;  /* PTHREAD_EXPLICIT_SCHED
							*/
		};
		uint16_t policy; /* all five */
	};
	bool holds_signals; /* no handler while its TLS is
					* incomplete: starting or ending;
					* self */
	bool is_dirty;	    /* the next user of the slot has to write
					* the TCB as a whole; as slot */
	union {
		uint64_t suspended_mask; /* restored after sigsuspend; self */
		uint64_t given;		 /* is_replacing: signals that are
					  * left to the kernel; self */
	};

	uint32_t handoff_ms; /* time of the last handoff, or of its creation,
			      * on a clock that wraps; monitor, creator */
	uint32_t slice_us;   /* CPU time of its slice so far; monitor, vp */
} WF_ALIGNED(WF_CACHE_LINE);

_Static_assert(sizeof(struct wf_thread) <= 320, "see above");

/*
 * Clear the fields of a new t from `first` up to the one before `end`: 16
 * bytes, or 4, in one store. (A memset becomes weft's own, a loop.)
 */
typedef uint64_t wf_two_words
	__attribute__((vector_size(16), aligned(4), may_alias));
typedef uint32_t wf_half_word __attribute__((may_alias));

#define WF_THREAD_CLEAR_AS(type, t, first, end)                              \
	do {                                                                 \
		_Static_assert(offsetof(struct wf_thread, end) -             \
					       offsetof(struct wf_thread,    \
							first) ==            \
				       sizeof(type),                         \
			       "one store");                                 \
		*(type *)((char *)(t) + offsetof(struct wf_thread, first)) = \
			(type){ 0 };                                         \
	} while (0)
#define WF_THREAD_CLEAR(t, first, end) \
	WF_THREAD_CLEAR_AS(wf_two_words, t, first, end)
#define WF_THREAD_CLEAR_4(t, first, end) \
	WF_THREAD_CLEAR_AS(wf_half_word, t, first, end)

static inline bool wf_thread_is_cpu_bound(const struct wf_thread *t)
{
	return (t->cpu_bound & WF_CPU_BOUND_NOW) != 0;
}

static inline bool wf_thread_was_cpu_bound(const struct wf_thread *t)
{
	return (t->cpu_bound & WF_CPU_BOUND_BEFORE) != 0;
}

/*
 * A store by the tick at the same time may be lost, or stay set until the
 * thread's next wait has ended.
 */
static inline void wf_thread_set_cpu_bound(struct wf_thread *t)
{
	t->cpu_bound |= WF_CPU_BOUND_NOW;
}

/*
 * Races as wf_thread_set_cpu_bound. Returns the number of ticks, up to three,
 * for which t was a candidate before.
 */
static inline uint32_t wf_thread_note_candidate(struct wf_thread *t)
{
	uint32_t nr = t->cpu_bound / WF_CPU_BOUND_CANDIDATE & WF_CPU_BOUND_MOST;

	if (nr < WF_CPU_BOUND_MOST)
		t->cpu_bound += WF_CPU_BOUND_CANDIDATE;
	return nr;
}

/*
 * Races as wf_thread_set_cpu_bound. The next preemptions of t begin with a
 * signal.
 */
static inline void wf_thread_set_uncooperative(struct wf_thread *t)
{
	t->cpu_bound |= WF_CPU_BOUND_MOST * WF_CPU_BOUND_UNCOOPERATIVE;
}

static inline bool wf_thread_was_uncooperative(const struct wf_thread *t)
{
	return t->cpu_bound >= WF_CPU_BOUND_UNCOOPERATIVE;
}

/*
 * True if this preemption of t has to begin with a signal. Each such preemption
 * counts one time down if t has made a call of weft since the last request.
 */
static inline bool wf_thread_is_uncooperative(struct wf_thread *t)
{
	if (!wf_thread_was_uncooperative(t))
		return false;
	if ((wf_load_relaxed(&t->exit_work) & WF_WORK_RESCHED) == 0)
		t->cpu_bound -= WF_CPU_BOUND_UNCOOPERATIVE;
	return true;
}

/* t ran for long, but less long than a CPU-bound thread, and waits again. */
static inline void wf_thread_has_run_long(struct wf_thread *t)
{
	t->cpu_bound |= WF_CPU_BOUND_NOW << 1;
}

static inline void wf_thread_end_stay(struct wf_thread *t)
{
	if (WF_LIKELY(t->cpu_bound == 0))
		return;
	t->cpu_bound =
		((uint8_t)(t->cpu_bound << 1) & WF_CPU_BOUND_BEFORE) |
		(t->cpu_bound & WF_CPU_BOUND_MOST * WF_CPU_BOUND_UNCOOPERATIVE);
}

/*
 * True if t is a thread that has not yet exited, that is, not left its stack
 * for the last time.
 */
static inline bool wf_thread_exists(const struct wf_thread *t)
{
	return t != NULL && t->tid > 0 &&
	       (wf_load_relaxed(&t->exit_state) & WF_EXIT_DONE) == 0;
}

#endif

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

/*
 * struct wf_thread.retake: whether the monitor wants or has the VP of a thread
 * with in_runtime 0.
 */
enum wf_retake {
	WF_RETAKE_NONE = 0,
	WF_RETAKE_ASK, /* the monitor wants the VP, but does not have it */
	/* the monitor has taken the VP: reacquire one at the next entry */
	WF_RETAKE_TAKEN,
};

/* struct wf_thread.exit_work: the work that the runtime's exit has to do. */
enum wf_exit_work {
	WF_WORK_RESCHED = 1 << 0, /* the VP is to run another thread */
	WF_WORK_SIGNAL = 1 << 1,  /* a signal waits in a slot or a queue */
	/* move to the reserved carrier and become bound */
	WF_WORK_BIND = 1 << 2,
	WF_WORK_CANCEL = 1 << 3, /* check whether the thread is cancelled */
};

/*
 * struct wf_thread.exit_state: what has happened since the start routine
 * returned. Joiners wait on the word, and all changes are made under its
 * bucket's lock. DONE and DETACHED both have to be set before the exited thread
 * can be freed: the thread that sets the second of them frees it.
 */
enum wf_exit_state {
	WF_EXIT_JOINABLE = 0,
	WF_EXIT_DETACHED = 1 << 0, /* no thread will join */
	/* the thread has left its stack for the last time */
	WF_EXIT_DONE = 1 << 1,
};

/*
 * struct wf_thread.wait_kind: the kind of object that a thread waits for.
 * Readers outside the process show it (see/layout.h). The right column is the
 * name that they show, and the comment tells where wait_addr points.
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
	X(RWLOCK_WRITE, "rwlock_write")	  /* as RWLOCK_READ */                 \
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
 * Readers outside the process show the names.
 */
#define WF_BOUND_REASONS(X)                                                    \
	X(NONE, "none")                                                        \
	X(OPTION, "option")	/* --bound names its start routine */          \
	X(AFFINITY, "affinity") /* it has CPUs of its own */                   \
	X(CREATOR, "creator")	/* its creator's altered kernel thread */      \
	X(KERNEL_STATE,                                                        \
	  "kernel_state")	    /* it changed its kernel thread's state */ \
	X(BLOCKS, "blocking_calls") /* the monitor took many VPs from it */    \
	X(CPU_CLOCK, "cpu_clock")   /* it has a clock of its CPU time */       \
	X(TRACER, "tracer")	    /* it traces, or may be traced */          \
	X(OWN_RUNTIME, "own_runtime") /* native code sets its signals */       \
	X(PI_FUTEX, "pi_futex")	      /* the kernel knows it as an owner */    \
	X(SLOW_CALLS, "slow_calls")   /* its calls gain nothing by parking */  \
	X(LAST, "last_thread")	      /* the process is to have one thread */  \
	X(ASKED, "asked")	      /* by weft_thread_bind */

enum wf_bound_why {
#define WF_BOUND_REASON(name, text) WF_BOUND_##name,
	WF_BOUND_REASONS(WF_BOUND_REASON)
#undef WF_BOUND_REASON
};

/* Signals that were sent and not yet delivered (signal/queue.c). */
struct wf_signal_node;
struct wf_sigqueue {
	struct wf_spin lock; /* protects the list */
	/* the thread ends, and takes no more; self, creator */
	_Atomic bool is_closed;
	_Atomic uint64_t pending;      /* bit n - 1: signal n is in the list */
	struct wf_signal_node *newest; /* circular list, or NULL; lock */
};

/* As stack_t, but without padding. */
struct wf_altstack {
	void *sp;
	size_t size;
	int flags;
} __attribute__((packed, aligned(4)));

/*
 * A context that a switch has saved. The code in arch/ relies on this layout.
 */
struct wf_context {
	void *sp;     /* stack pointer, registers saved above it; NULL while the
		       * thread runs */
	uintptr_t tp; /* thread register: the TCB */
};

/*
 * How the monitor's tick finds CPU-bound threads. After a full tick without
 * blocking a thread is a candidate, and after three such ticks it is CPU-bound.
 * When it blocks, its CPU-bound flag moves into a history of three entries. A
 * thread that has computed for long after a wake is likely to do so again. A
 * thread that ignores a cooperative preemption request is uncooperative for
 * some ticks (monitor/preempt_request.c).
 */
enum wf_cpu_bound {
	WF_CPU_BOUND_NOW = 1,
	WF_CPU_BOUND_BEFORE = 2 | 4 | 8,
	/* adds one tick as a candidate; up to MOST ticks */
	WF_CPU_BOUND_CANDIDATE = 16,
	/* adds one preemption by a signal; up to MOST */
	WF_CPU_BOUND_UNCOOPERATIVE = 64,
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
	bool from_batch;	     /* picked from the batch run queue; vp */
	uint8_t rt_priority;	     /* 1 to 99: SCHED_FIFO or RR, or boost; 0:
				      * neither; REALTIME-3 */
	struct wf_vp *vp;	     /* NULL while a bound or foreign thread
				      * runs; stale once retake is TAKEN; vp */
	struct wf_carrier *carrier;  /* the carrier that runs it; vp */
	union {
		struct wf_context ctx; /* vp, while it does not run */
		uint64_t fp_control;   /* of a thread that never ran: inherited
					* control words; creator */
	};
	uint64_t sigmask;     /* bit n - 1 for signal n; self */
	uint32_t index;	      /* place in the table of threads; constant */
	uint32_t nr_handlers; /* count of handlers that have run; self */

	/* Line 1: the wait on a user futex (wait/ufutex.c). */
	struct wf_thread *wait_next, *wait_prev; /* circular list; bucket */
	const void *wait_addr; /* where it waits; NULL if it does not; bucket */
	/* the bucket of wait_addr; bucket */
	_Atomic(struct wf_bucket *) wait_bucket;
	/* the futex bitset of the wait; of a starving thread the start of its
	 * wait, in ms; bucket */
	uint32_t wait_bits;
	/* The creator clears what follows, up to wait_result. */
	_Atomic bool is_cancelled; /* by pthread_cancel; never cleared */
	bool at_cancel_point : 1;  /* cancellation may end the wait; self */
	/* is woken before threads of equal priority; self */
	bool is_starving : 1;
	bool has_native_signals : 1; /* OWN_RUNTIME-1 in thread/own_runtime.c;
				      * self, creator */
	bool is_replacing : 1;	     /* executes a program, and is in no handler
				      * just now (boot/replacing.c); self */
	uint8_t nr_large_polls : 4;  /* polls of many files that had to wait;
				      * self */
	bool wait_was_moved;	     /* a requeue moved the wait; bucket */
	/* a handler without SA_RESTART ran during the call; self */
	bool interrupted;
	/* how the wait ended: 0, a token of the waker's, or -errno; bucket */
	int32_t wait_result;
	/* a guess that the last call left, by which the next one may take a
	 * fast path: the low half of an address, or an odd number; self */
	uint32_t hint;
	uint64_t wait_generation; /* increases at each wait; bucket */
	union {
		struct wf_thread *next; /* link in the one queue that has the
					 * thread */
		/* These share the word of `next`: a waiting thread, which has a
		 * wait_addr, is in no queue. Read from outside the process. */
		struct {
			/* start of the wait in ms (sched/monitor_time.h);
			 * self */
			uint32_t wait_since;
			uint8_t wait_kind; /* enum wf_wait_kind; self */
		};
	};

	/* Line 2: timers (wait/timer.c), and waits in the kernel. */
	uint16_t timer_vp;	      /* id of the VP with its timer; self */
	uint16_t stack_slack;	      /* bytes; see wf_slot_slack; creator */
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

	/* Identity and start. */
	_Atomic uint32_t not_started; /* generation | 1 << 31 until claimed */
	int32_t tid;		      /* as the program sees it; creator */
	void *(*start_routine)(void *);
	union {
		void *start_arg; /* until the start routine has it; creator */
		/* shares the word of start_arg, once that was taken: see
		 * libc/tls.h; self */
		uint64_t tls_mark;
	};
	void *result;
	char name[16];

	struct wf_slot slot; /* memory; the thread that reserved it */

	/* Signals. */
	/* the alternate signal stack that the program has set; self */
	struct wf_altstack altstack;
	_Atomic uint32_t exit_state; /* enum wf_exit_state */
	/* signals sent to this thread, not yet delivered */
	struct wf_sigqueue sigqueue;
	/* The creator clears what follows, up to `generation`. */
	/* the signals that its sigwait waits for; self */
	_Atomic uint64_t sigwait_set;
	/* in sigsuspend, and no handler has run yet; self */
	bool is_suspended;
	bool takes_signal; /* in_runtime, and yet a handler may run
					* at this point; self */
	bool wait_is_firm; /* no signal interrupts the wait; self,
					* bucket */
	bool is_first;	   /* thread 0: the process's first */
	bool has_affinity; /* the program gave it CPUs of its own */
	/* the real-time list that it is in, 0 if none; REALTIME-3 */
	uint8_t rt_list;
	uint16_t nr_handoffs; /* handoffs of its VP in a row; monitor */
	/* increases when a new thread uses the slot; creator */
	uint32_t generation;
	union {
		struct {
			/* as the program has set it */
			int8_t sched_priority;
			/* as the program has set it */
			uint8_t sched_policy : 4;
			uint8_t resets_on_fork : 1; /* SCHED_RESET_ON_FORK */
			/* glibc's TCB would have the policy stored, too */
			uint8_t libc_knows_policy : 1;
			uint8_t made_with_policy : 1; /* PTHREAD_EXPLICIT_SCHED
							*/
		};
		uint16_t policy; /* all five */
	};
	bool holds_signals; /* no handler while its TLS is
					* incomplete: starting or ending;
					* self */
	/* the TCB has to be written as a whole for the next thread; written as
	 * `slot` is */
	bool is_dirty;
	union {
		/* the mask to restore after sigsuspend; self */
		uint64_t suspended_mask;
		/* while is_replacing: signals that are left to the kernel;
		 * self */
		uint64_t given;
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
 * If the tick stores at the same time, one of the two stores may be lost. A
 * flag left set then stays until the thread's next wait ends.
 */
static inline void wf_thread_set_cpu_bound(struct wf_thread *t)
{
	t->cpu_bound |= WF_CPU_BOUND_NOW;
}

/*
 * Counts one more full tick without blocking. Returns the number of such ticks
 * before, up to three. A store at the same time may be lost.
 */
static inline uint32_t wf_thread_note_candidate(struct wf_thread *t)
{
	uint32_t nr = t->cpu_bound / WF_CPU_BOUND_CANDIDATE & WF_CPU_BOUND_MOST;

	if (nr < WF_CPU_BOUND_MOST)
		t->cpu_bound += WF_CPU_BOUND_CANDIDATE;
	return nr;
}

/*
 * Makes the next preemptions of t begin with a signal. A store at the same time
 * may be lost.
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
 * True if this preemption of t has to begin with a signal. If t has made a call
 * of weft since the last request, each such preemption takes one off the number
 * of those still to come.
 */
static inline bool wf_thread_is_uncooperative(struct wf_thread *t)
{
	if (!wf_thread_was_uncooperative(t))
		return false;
	if ((wf_load_relaxed(&t->exit_work) & WF_WORK_RESCHED) == 0)
		t->cpu_bound -= WF_CPU_BOUND_UNCOOPERATIVE;
	return true;
}

/*
 * Called when t waits again after it ran for long, though less long than a
 * CPU-bound thread.
 */
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
 * True if t is a thread that has not yet exited: it has not left its stack for
 * the last time.
 */
static inline bool wf_thread_exists(const struct wf_thread *t)
{
	return t != NULL && t->tid > 0 &&
	       (wf_load_relaxed(&t->exit_state) & WF_EXIT_DONE) == 0;
}

#endif

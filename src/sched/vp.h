/* SPDX-License-Identifier: MIT */
/*
 * Virtual processors and the carriers that run them. This header has the data
 * that the parts of the scheduler share: struct wf_vp, struct wf_carrier and
 * struct wf_sched.
 *
 *     struct wf_vp *vp = wf_vp_of(t);        in the runtime; NULL if bound
 *
 * VP-1. A VP has one owner: the carrier in vp->carrier while that has
 *     in_runtime set or sleeps, or the monitor between TAKEN and the hand-over.
 * VP-2. Only the owner touches the fields marked "owner".
 * VP-3. vp->cur is the thread with its context live on the VP's carrier, or
 *     NULL while the carrier runs on its own stack.
 */
#ifndef WEFT_SCHED_VP_H
#define WEFT_SCHED_VP_H

#include "sched/vfork_child.h"
#include "sched/inject.h"
#include "sched/latency.h"
#include "sched/robust_list.h"
#include "sched/runq.h"
#include "sched/runq_order.h"
#include "sched/spin_budget.h"
#include "sched/table.h"
#include "sched/thread.h"
#include "trace/counters.h"

/* Why the thread that runs on a VP has to let another thread run. */
enum wf_resched {
	WF_RESCHED_NONE = 0,
	WF_RESCHED_TICK,     /* the tick has chosen another thread to run */
	WF_RESCHED_SLICE,    /* as TICK, and the thread's slice is over */
	WF_RESCHED_WAKE,     /* a woken thread goes before a CPU-bound one */
	WF_RESCHED_REALTIME, /* a thread of a higher priority waits */
};

/* The bits that tell a VP's owner what to check at its next pick. */
enum wf_pending {
	/* The remote queue or the injection queue has work. */
	WF_PENDING_REMOTE = 1 << 0,
	/* A real-time thread waits. */
	WF_PENDING_REALTIME = 1 << 1,
	/* Real-time threads are throttled (sched/throttle.h). */
	WF_PENDING_THROTTLE = 1 << 2,
	/* A thread in one of the VP's queues may have become real-time. */
	WF_PENDING_REQUEUE = 1 << 3,
	/* The same thread has to be found soon, since it may have to run at
	 * once (sched/requeue.h). */
	WF_PENDING_REQUEUE_SOON = 1 << 4,
	/* The VP is offline and runs no threads (sched/offline.h). */
	WF_PENDING_OFFLINE = 1 << 5,
	/* The next pick takes from the batch run queue first. */
	WF_PENDING_BATCH = 1 << 6,
};

/*
 * Features of the program that make each switch longer, from their first use
 * on.
 */
enum wf_switch_extra {
	WF_SWITCH_REGISTERS = 1 << 0, /* wf_registers is not 0 */
	WF_SWITCH_WORDS = 1 << 1,     /* a thread has waited for a wait word */
};

/*
 * Starvation bound: the number of scheduling points for which an older waiter
 * may be passed over. It is as many as fit into a time (.._NS), but at most a
 * fixed number (.._MOST).
 */
enum wf_starvation {
	/* After this time a lone request is submitted to the kernel though no
	 * second one has come. Submitting it and handling its completion cost 4
	 * us, 1 % of 400 us. */
	WF_STARVATION_NS = 400 * 1000,
	WF_STARVATION_MOST = 128,
	/* For picks in a row from the next slot. If threads that wake each
	 * other run for long in between, a number alone would keep the other
	 * threads waiting for milliseconds. */
	WF_NEXT_SLOT_NS = 25 * 1000,
	WF_NEXT_SLOT_MOST = 16,
};

/* One tick in units of the batch deficit. */
enum { WF_DEFICIT_TICK = 64 };

/*
 * struct wf_sched.stealable: whether other VPs may take threads from
 * interactive run queues.
 */
enum wf_stealable {
	WF_STEALABLE_NONE = 0,
	WF_STEALABLE_SOME, /* VPs that are awake may take some */
	WF_STEALABLE_MANY, /* so many that a sleeping VP is worth waking */
};

/*
 * The monitor's notes on a VP, which it keeps from tick to tick. Times are in
 * ns.
 */
struct wf_vp_watch {
	/* Number of switches at the last charge, and at the last tick. */
	uint64_t switches, lively_switches;
	int64_t cpu_ns; /* CPU time of the kernel thread carrier_tid */
	int64_t wall_ns;
	int64_t charge_ns; /* CPU time since a tick in which it switched more
			    * than once */
	int carrier_tid;
	uint32_t nr_same;	   /* ticks in a row with at most one switch */
	uint32_t interactive_head; /* wf_runq_head at the last tick */
	bool is_stuck;		   /* interactive queue did not move */
	uint64_t runs;		   /* number of switches and sleeps */
	int64_t runs_ns;	   /* when runs was read */
	int64_t polled_ns;
	int64_t forced_cpu_ns; /* cpu_ns at the last forced preemption */
	int64_t asked_ns, asked_cpu_ns; /* when preemption was asked for, and
					 * cpu_ns then */
	int64_t first_asked_ns;		/* when it first asked this thread */
	/* The thread that was last asked to yield at its next call of weft, the
	 * time of the request, and the carrier's CPU time then. Below them:
	 * whether the last such thread has yielded (monitor/preempt_request.c,
	 * PREEMPT_REQUEST-2). */
	const struct wf_thread *requested;
	int64_t requested_ns, requested_cpu_ns;
	bool has_yielded;
	bool is_uncooperative;	/* the asked thread is uncooperative */
	uint64_t seen_switches; /* switches at the last check */
	int64_t seen_ns;	/* when the monitor first read seen_switches */
	int64_t slice_cpu_ns;	/* cpu_ns up to which slices are charged */
	int64_t vp_ns;		/* CPU time of all its carriers */
	int64_t throttled_ns;	/* the account of sched/throttle.h */
	struct wf_latency latency_interactive, latency_batch;
	uint64_t next_switches; /* number of switches when next_ns was stored */
	int64_t next_ns;	/* vp_ns at which the wait began of a thread
				 * that the owner takes at its next switch */
};

/*
 * struct wf_sched.monitor_asleep. When a carrier's kernel thread ends, the
 * kernel stores 0 there and wakes the sleeper (CLONE_CHILD_CLEARTID). So weft
 * changes the word by CAS, and sleeps on it by futex calls that are not
 * private.
 */
enum wf_monitor_asleep {
	WF_MONITOR_DEATH = 0, /* awake, and a carrier has ended */
	WF_MONITOR_AWAKE,
	WF_MONITOR_ASLEEP,   /* no thread depends on it */
	WF_MONITOR_WATCHING, /* only the wait words do, which it polls */
};

/*
 * A poll of the wait words may stop before the end. This is the place where the
 * next one goes on (wait/word_poll.c).
 */
struct wf_poll_cursor {
	uint32_t n; /* index of the next word or of the next slot of words */
	bool in_slots;
};

/* When a busy VP polls the wait words (wait/word_poll.c). */
struct wf_word_poll {
	struct wf_poll_cursor at;
	uint32_t countdown;   /* switches until the next check of the clock */
	uint32_t nr_switches; /* the start value of countdown */
	int64_t nr_counted;   /* switches since the last poll */
	int64_t cost_ns, ended_ns; /* duration of the last poll, and its end */
	_Atomic uint64_t nr;	   /* number of polls; read by the monitor */
};

struct wf_timers;
struct wf_vp_io;

/*
 * How many threads were created, and how many have exited
 * (thread/thread_count.c).
 */
struct wf_thread_count {
	_Atomic uint64_t nr_created, nr_ended;
};

struct wf_vp {
	/* Cache line of the owner. Comments end with the field's writer. */
	_Atomic(struct wf_thread *) cur; /* VP-3; owner */
	struct wf_carrier *carrier;	 /* the carrier that owns it: VP-1 */
	_Atomic uint64_t next_slot;	 /* queue entry; owner, monitor reads */
	uint32_t nr_next_picks;	  /* picks from next_slot in a row; owner */
	uint32_t id;		  /* index in wf_sched.vps; constant */
	struct wf_timers *timers; /* its deadlines; constant */
	_Atomic uint32_t resched; /* enum wf_resched; owner, monitor */
	_Atomic int32_t batch_deficit; /* monitor */
	/* Reasons for which a switch on this VP does more than switch. One
	 * load reads both words. */
	union {
		struct {
			/* requests to the kernel in flight; owner */
			_Atomic uint32_t nr_requests;
			/* enum wf_switch_extra; any thread sets bits, which
			 * stay set */
			_Atomic uint32_t switch_extras;
		};
		_Atomic uint64_t switch_work;
	};
	_Atomic uint32_t starvation_bound; /* enum wf_starvation; monitor */
	_Atomic uint32_t most_next_picks;  /* limit of nr_next_picks; monitor */
	/* bursts longer than two wakes' cost; monitor */
	_Atomic bool runs_long;
	struct wf_vp_io *io;		 /* its requests: io/; NULL if none */
	_Atomic uint64_t asked_switches; /* see wf_vp_ask; owner, monitor */
	struct wf_spin inside; /* owner is at a bucket: wait/biased.h */
	uint32_t nr_locks;     /* wait/biased.h, BIASED-5; owner */

	/* Cache line of the words by which other threads ask the owner.
	 * pending: enum wf_pending. */
	_Atomic uint32_t pending WF_ALIGNED(WF_CACHE_LINE);
	_Atomic uint32_t wake_word; /* futex on which its carrier sleeps */
	_Atomic int64_t wake_ns;    /* when the waker set wake_word */
	bool is_idle;		    /* sleeps, or about to; list's lock */
	bool is_listed;		    /* in the idle list; its lock */
	bool sleeps_in_ring;	    /* while in the idle list; owner */
	struct wf_vp *idle_next;    /* link in the idle list; its lock */
	uint32_t nr_ticks;	    /* monitor */
	bool is_poller;		    /* polls for work (sched/idle.h); owner */
	struct wf_spin_budget spin_budget; /* for polling; owner */
	_Atomic int64_t polled_ns;	   /* ns spent polling so far; owner */

	struct wf_runq interactive WF_ALIGNED(WF_CACHE_LINE);
	struct wf_runq batch;
	struct wf_inject remote WF_ALIGNED(WF_CACHE_LINE);
	struct wf_counters counters WF_ALIGNED(WF_CACHE_LINE);
	struct wf_vp_watch watch WF_ALIGNED(WF_CACHE_LINE);  /* monitor */
	struct wf_runq_order interactive_order, batch_order; /* owner */
	uint64_t timer_switches; /* when the CPU timer fired last; owner */
	struct wf_word_poll word_poll; /* owner */

	/* Entries on their way from one queue to another; owner. The array is
	 * not on the stack of the thread that moves them, which would touch one
	 * more page for it. */
	uint64_t taken[WF_RUNQ_SIZE / 2];
	uint64_t spilled[WF_RUNQ_SIZE / 2];

	struct wf_thread_count thread_count; /* of the threads of this VP;
					      * owner */
	uint32_t last_created; /* its newest thread's index, a hint; owner */
	struct wf_pool pool;   /* free threads; owner */
};

static inline uint32_t wf_points_in(int64_t ns, int64_t point_ns, uint32_t most)
{
	int64_t points = point_ns > 0 ? ns / point_ns : most;

	return points < 1 ? 1 : points < most ? (uint32_t)points : most;
}

/*
 * Sets the bounds for scheduling points that take point_ns each. Called by the
 * monitor, and when the VP is made.
 */
static inline void wf_vp_set_starvation_bound(struct wf_vp *vp,
					      int64_t point_ns)
{
	wf_store_relaxed(&vp->starvation_bound,
			 wf_points_in(WF_STARVATION_NS, point_ns,
				      WF_STARVATION_MOST));
	wf_store_relaxed(&vp->most_next_picks,
			 wf_points_in(WF_NEXT_SLOT_NS, point_ns,
				      WF_NEXT_SLOT_MOST));
}

/*
 * Asks vp's owner to switch to another thread. The request is for the thread
 * that runs since switch number `switches` (counters.switches), and void after
 * a later switch. A signal after that would preempt the very thread that the
 * tick wanted to run, or end a slice that has just begun.
 */
static inline void wf_vp_ask(struct wf_vp *vp, enum wf_resched why,
			     uint64_t switches)
{
	wf_store_relaxed(&vp->asked_switches, switches);
	/* release: publishes asked_switches; pairs with the acquire in
	 * wf_vp_asked. */
	wf_store_release(&vp->resched, why);
}

/* As wf_vp_ask, for the thread that runs on the caller's own VP. Owner. */
static inline void wf_vp_ask_own(struct wf_vp *vp, enum wf_resched why)
{
	wf_vp_ask(vp, why, wf_load_relaxed(&vp->counters.switches));
	atomic_fetch_or(&wf_load_relaxed(&vp->cur)->exit_work, WF_WORK_RESCHED);
}

/*
 * True if the next scheduling point may be far: the VP runs a CPU-bound thread.
 * Owner.
 */
static inline bool wf_vp_runs_cpu_bound(const struct wf_vp *vp)
{
	const struct wf_thread *t = wf_load_relaxed(&vp->cur);

	return t != NULL && wf_thread_is_cpu_bound(t);
}

/* Returns the request to switch that is for the thread which runs now. */
static inline enum wf_resched wf_vp_asked(const struct wf_vp *vp)
{
	enum wf_resched why = wf_load_acquire(&vp->resched);
	uint64_t now = wf_load_relaxed(&vp->counters.switches);

	if (why != WF_RESCHED_NONE &&
	    wf_load_relaxed(&vp->asked_switches) != now)
		return WF_RESCHED_NONE;
	return why;
}

/*
 * A post function: the incoming side of a switch calls it, on its own stack,
 * when the outgoing thread's context is saved.
 */
typedef void wf_post_fn(struct wf_carrier *c, void *arg);

/*
 * Signals that arrived while the runtime could not take them. The first one
 * closes all signals in the carrier's mask. A later one can come only while a
 * change of the mask lets it through (signal/signal_entry.c).
 */
enum { WF_SIGNAL_SLOTS = 4 };

/*
 * No thread's mask has SIGKILL. So this value of struct wf_carrier.kernel_mask
 * differs from each thread's mask: the next switch sets the kernel's mask and
 * checks the slot.
 */
#define WF_MASK_UNKNOWN (UINT64_C(1) << 8)

struct wf_signal_slot {
	_Atomic uint32_t nr;
	unsigned char info[WF_SIGNAL_SLOTS][128]; /* siginfo_t */
};

struct wf_carrier {
	struct wf_thread idle_self; /* wf_self on the carrier's own stack;
				     * in_runtime is always 1 */
	struct wf_context ctx;	    /* own stack's, while it runs a thread */
	wf_post_fn *post;	    /* post function of the present switch */
	void *post_arg;
	wf_post_fn *plain_post; /* where post has more to do: the caller's
				 * (SWITCH-7) */
#ifdef WF_CHECK_RANKS
	uint64_t ranks_held; /* by the outgoing side; base/rank.h */
#endif
	_Atomic(struct wf_vp *) vp; /* NULL: a spare, or its thread has no VP */
	struct wf_thread *bound;    /* the one thread that this carrier runs */
	bool is_altered;    /* its bound thread has changed kernel state that
			     * clones inherit: no other thread runs on it; set
			     * by that thread */
	bool has_own_state; /* kernel state that clones of it do not inherit: it
			     * exits with its bound thread */
	bool has_own_files; /* is_altered, and its descriptor table is its
			     * own */
	uint8_t bound_why;  /* enum wf_bound_why; the thread that binds its
			     * thread or reserves it */
	/* tid of a thread; sched/reserved.c, RESERVED-1 */
	_Atomic int32_t reserved_for;
	_Atomic int tid; /* kernel thread id; 0 until it has started */
	uint32_t number;
	uint32_t named;	      /* enum wf_carrier_named; the carrier itself */
	uint64_t kernel_mask; /* signal mask as the kernel has it, or
			       * WF_MASK_UNKNOWN */
	struct wf_signal_slot signal_slot;
	uintptr_t loaded_tp; /* thread register of the running context; for
			      * signal handlers */
	char *altstack;
	size_t altstack_bytes;
	_Atomic uint32_t wake_word;    /* futex on which it sleeps as a spare */
	struct wf_carrier *spare_next; /* spare list; its lock */
	_Atomic bool has_refused;      /* its thread was in libc when it was to
					* be preempted; handler sets, monitor
					* clears */
	_Atomic bool insist;	       /* preempt even in libc; monitor */
	_Atomic bool is_signalled;     /* preemption signal is pending */
	_Atomic bool is_notified;      /* an I/O server has sent it the
					* preemption signal; SUPERVISOR-5 in
					* io/backend/supervisor.c */
	_Atomic bool is_forking;       /* its thread is in glibc's fork */
	_Atomic bool is_kicked;	       /* signalled in that fork: PREEMPT-6 */
	_Atomic uint32_t setxid_seen;  /* last credential change made */
	_Atomic int64_t cpu_mark;      /* ns; CPU_TIME-2 in sched/cpu_time.c */
	uint64_t nr_sleeps;	       /* times it slept: HANDOFF-3 */
	/* its CPU time at the first check after its last sleep */
	int64_t awake_cpu_ns;
	int cpu_timer;		      /* kernel timer id; -1: none */
	_Atomic bool is_dismissed;    /* it has to exit: sched/dismiss.h */
	_Atomic uint32_t exiting;     /* futex: 1 from the start of the kernel
				   * thread's exit until the kernel has
				   * finished */
	struct wf_robust_list robust; /* sync/inherit.c; its bound thread */
	uint32_t nr_inherited;	      /* mutexes with priority inheritance that
				       * its kernel thread holds; as above */
};

struct wf_sched {
	_Atomic bool is_started;
	uint32_t nr_vps;
	struct wf_vp *vps;
	uint64_t *queues; /* first memory of inject and all remote queues */
	struct wf_inject inject;
	struct wf_latency latency_inject; /* monitor */
	/* Words that are mostly read, each on a line of its own. */
	/* enum wf_stealable */
	_Atomic uint32_t stealable WF_ALIGNED(WF_CACHE_LINE);
	_Atomic uint32_t nr_idle WF_ALIGNED(WF_CACHE_LINE); /* VPs that sleep */
	_Atomic uint32_t nr_pollers;			    /* sched/idle.h */
	_Atomic uint32_t wait_policy;	/* enum wf_wait_policy */
	_Atomic uint32_t most_pollers;	/* at a time, as the policy allows */
	_Atomic uint32_t switch_extras; /* enum wf_switch_extra; each VP has a
					 * copy */
	_Atomic bool has_realtime;	/* some thread was real-time */
	_Atomic int64_t monitor_until WF_ALIGNED(WF_CACHE_LINE); /* the end of
								  * its sleep */
	_Atomic uint32_t monitor_poke; /* futex of the monitor's short sleeps */
	/* CLOCK_MONOTONIC at the monitor's last round, in ms; 0: it sleeps
	 * (monitor_time.h) */
	_Atomic uint32_t monitor_ms;
	/* enum wf_monitor_asleep */
	_Atomic uint32_t monitor_asleep WF_ALIGNED(WF_CACHE_LINE);
	/* Counts of the threads that were created or ended without a VP, and
	 * the process's first thread. */
	struct wf_thread_count thread_count WF_ALIGNED(WF_CACHE_LINE);
	_Atomic uint32_t nr_threads; /* not yet exited; for --stats only */
};

extern struct wf_sched wf_sched;

/* True if vp runs no threads (sched/offline.h). Any thread may ask. */
static inline bool wf_vp_is_offline(const struct wf_vp *vp)
{
	return (wf_load_relaxed(&vp->pending) & WF_PENDING_OFFLINE) != 0;
}

/*
 * True if the next pick is from the batch run queue. The monitor sets the bit,
 * and that pick clears it. Any thread may ask.
 */
static inline bool wf_vp_is_batch_due(const struct wf_vp *vp)
{
	return (wf_load_relaxed(&vp->pending) & WF_PENDING_BATCH) != 0;
}

/*
 * True if the monitor sleeps, or only polls wait words: it does not check the
 * queues then.
 */
static inline bool wf_monitor_sleeps(void)
{
	return wf_load_relaxed(&wf_sched.monitor_asleep) > WF_MONITOR_AWAKE;
}

/*
 * True if weft runs the caller's threads. False in a vfork child
 * (sched/vfork_child.h).
 */
static inline bool wf_is_started(void)
{
	return wf_load_relaxed(&wf_sched.is_started) && !wf_is_vfork_child();
}

/* t's VP, or NULL if t is not multiplexed. Called with in_runtime set. */
static inline struct wf_vp *wf_vp_of(const struct wf_thread *t)
{
	return t->vp;
}

/*
 * The pool of free threads that t may use, or NULL. Called with in_runtime set.
 */
static inline struct wf_pool *wf_pool_of(const struct wf_thread *t)
{
	struct wf_vp *vp = wf_vp_of(t);

	return vp != NULL ? &vp->pool : NULL;
}

/* Sets a bit of switch_extras, for all VPs. Any thread. */
void wf_vps_add_switch_extra(enum wf_switch_extra extra);

/* True if a thread has waited for a wait word. */
static inline bool wf_sched_has_words(void)
{
	return (wf_load_relaxed(&wf_sched.switch_extras) & WF_SWITCH_WORDS) !=
	       0;
}

/* Makes nr VPs, or empties them in a fork child. Returns 0 or -ENOMEM. */
int wf_vps_init(uint32_t nr);

#endif

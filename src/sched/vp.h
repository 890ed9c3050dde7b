/* SPDX-License-Identifier: MIT */
/*
 * Virtual processors and the carriers that run them.
 *
 * VP-1. A VP has one owner: the carrier in vp->carrier while it has in_runtime
 *     set or sleeps, or the monitor between TAKEN and the hand-over.
 * VP-2. Only the owner touches the fields marked "owner".
 * VP-3. vp->cur is the thread whose context is live on the VP's carrier, or
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

/* What a VP's runtime exit is asked to do. */
enum wf_resched {
	WF_RESCHED_NONE = 0,
	WF_RESCHED_TICK,     /* the tick's rules want another thread to run */
	WF_RESCHED_SLICE,    /* so, and the thread's slice is over */
	WF_RESCHED_WAKE,     /* a CPU-bound thread woke one that goes first */
	WF_RESCHED_REALTIME, /* a thread of a higher priority waits */
};

/* What a VP's owner has to check when it picks. */
enum wf_pending {
	/* The remote queue or the injection queue has work. */
	WF_PENDING_REMOTE = 1 << 0,
	/* A real-time thread waits. */
	WF_PENDING_REALTIME = 1 << 1,
	/* Real-time threads are throttled (sched/throttle.h). */
	WF_PENDING_THROTTLE = 1 << 2,
	/* A queue may have a thread that has become real-time ... */
	WF_PENDING_REQUEUE = 1 << 3,
	/* ... and has to be sorted soon (sched/requeue.h). */
	WF_PENDING_REQUEUE_SOON = 1 << 4,
	/* The VP runs no threads (sched/offline.h). */
	WF_PENDING_OFFLINE = 1 << 5,
	/* The next pick is from the batch run queue. */
	WF_PENDING_BATCH = 1 << 6,
};

/*
 * Starvation bound: for how many scheduling points an older waiter may be
 * passed over: as many as pass in a time, up to a number.
 */
enum wf_starvation {
	/* Until a request is handed to the kernel by itself. That and what it
	 * brings about costs 4 us; once in 400 us it is hardly felt. */
	WF_STARVATION_NS = 400 * 1000,
	WF_STARVATION_MOST = 128,
	/* Picks from the next slot in a row. Of threads that wake each other
	 * and run for long in between, the others would else wait for
	 * milliseconds. */
	WF_NEXT_SLOT_NS = 25 * 1000,
	WF_NEXT_SLOT_MOST = 16,
};

/* The batch deficit is counted in 64ths of a tick. */
enum { WF_DEFICIT_TICK = 64 };

/* struct wf_sched.stealable: may other VPs take interactive threads? */
enum wf_stealable {
	WF_STEALABLE_NONE = 0,
	WF_STEALABLE_SOME, /* VPs that are awake may */
	WF_STEALABLE_MANY, /* enough to wake a sleeping VP for */
};

/* The monitor's memory of a VP, from tick to tick. */
struct wf_vp_watch {
	/* By the last charge, and by the last tick. */
	uint64_t switches, lively_switches;
	int64_t cpu_ns; /* of carrier_tid */
	int64_t wall_ns;
	int64_t charge_ns; /* CPU time while it switched at most once */
	int carrier_tid;
	uint32_t nr_same;	   /* ticks in a row with at most one switch */
	uint32_t interactive_head; /* of the run queue */
	bool is_stuck;		   /* it had not moved at the last tick */
	uint64_t runs;		   /* switches and sleeps */
	int64_t runs_ns;	   /* when they were looked at */
	int64_t polled_ns;
	int64_t forced_cpu_ns; /* cpu_ns at the last forced preemption */
	int64_t asked_ns, asked_cpu_ns; /* when preemption was asked for, and
					 * cpu_ns then */
	int64_t first_asked_ns;		/* the first time in this stay */
	/* The thread that is requested to yield at its next call, since when,
	 * and the carrier's CPU time then; whether the last such thread has
	 * yielded (boot/preempt_request.c, PREEMPT_REQUEST-2). */
	const struct wf_thread *requested;
	int64_t requested_ns, requested_cpu_ns;
	bool has_yielded;
	bool is_uncooperative;	/* the thread that was asked since the switch */
	uint64_t seen_switches; /* at the last check for remote wakeups */
	int64_t seen_ns;	/* when it saw them first */
	int64_t slice_cpu_ns;	/* cpu_ns up to which slices are charged */
	int64_t vp_ns;		/* CPU time of all its carriers */
	int64_t throttled_ns;	/* sched/throttle.h */
	struct wf_latency latency_interactive, latency_batch;
	uint64_t next_switches; /* when next_ns was noted */
	int64_t next_ns;	/* vp_ns since when a thread that the next
				 * switch will see waits */
};

/*
 * struct wf_sched.monitor_asleep. The kernel, too, writes it: 0, and wakes who
 * sleeps there, when a carrier's kernel thread ends (CLONE_CHILD_CLEARTID). So
 * it is changed by CAS, and slept on by calls that are not private.
 */
enum wf_monitor_asleep {
	WF_MONITOR_DEATH = 0, /* awake, and a carrier has ended */
	WF_MONITOR_AWAKE,
	WF_MONITOR_ASLEEP,   /* nothing depends on it */
	WF_MONITOR_WATCHING, /* but for the wait words, which it polls */
};

/* How far a poll of the wait words has come (wait/word_poll.c). */
struct wf_poll_cursor {
	uint32_t n; /* of the next word or slot */
	bool in_slots;
};

/* A VP's polls of the wait words. */
struct wf_word_poll {
	struct wf_poll_cursor at;
	uint32_t countdown;   /* switches until the next check of the clock */
	uint32_t nr_switches; /* that countdown began with */
	int64_t nr_counted;   /* switches since the last poll */
	int64_t cost_ns, ended_ns; /* of the last poll */
	_Atomic uint64_t nr;	   /* polls; read by the monitor */
};

struct wf_timers;
struct wf_vp_io;

/* Threads that were created and that came to their end
 * (thread/thread_count.c). */
struct wf_thread_count {
	_Atomic uint64_t nr_created, nr_ended;
};

struct wf_vp {
	/* Owner's line. */
	_Atomic(struct wf_thread *) cur; /* VP-3; owner */
	struct wf_carrier *carrier;	 /* VP-1 */
	_Atomic uint64_t next_slot;	 /* entry; owner, the monitor reads */
	uint32_t nr_next_picks;	  /* picks from next_slot in a row; owner */
	uint32_t id;		  /* constant */
	struct wf_timers *timers; /* wait/timer.h; constant */
	_Atomic uint32_t resched; /* enum wf_resched; owner, monitor */
	_Atomic int32_t batch_deficit;	   /* monitor */
	_Atomic uint32_t nr_requests;	   /* to the kernel, in flight; owner */
	_Atomic uint32_t starvation_bound; /* enum wf_starvation; monitor */
	_Atomic uint32_t most_next_picks;  /* for nr_next_picks; monitor */
	_Atomic bool runs_long;		 /* threads run for more than two wakes'
				 * cost; monitor */
	struct wf_vp_io *io;		 /* io/; NULL if there is none */
	_Atomic uint64_t asked_switches; /* see wf_vp_ask; owner, monitor */
	struct wf_spin inside;		 /* wait/biased.h; owner */
	uint32_t nr_locks;		 /* wait/biased.h, BIASED-5; owner */

	/* Line of the requests to the owner. enum wf_pending: */
	_Atomic uint32_t pending WF_ALIGNED(WF_CACHE_LINE);
	_Atomic uint32_t wake_word; /* futex of the sleeping carrier */
	_Atomic int64_t wake_ns;    /* when the waker set it */
	bool is_idle;		    /* may be woken; the idle list's lock */
	bool is_listed;		    /* in the idle list; its lock */
	bool sleeps_in_ring;	    /* while in the idle list; owner */
	struct wf_vp *idle_next;    /* idle list; its lock */
	uint32_t nr_ticks;	    /* monitor */
	bool is_poller;		    /* sched/idle.h; owner */
	struct wf_spin_budget spin_budget; /* for polling; owner */
	_Atomic int64_t polled_ns;	   /* time spent polling; owner */

	struct wf_runq interactive WF_ALIGNED(WF_CACHE_LINE);
	struct wf_runq batch;
	struct wf_inject remote WF_ALIGNED(WF_CACHE_LINE);
	struct wf_counters counters WF_ALIGNED(WF_CACHE_LINE);
	struct wf_vp_watch watch WF_ALIGNED(WF_CACHE_LINE);  /* monitor */
	struct wf_runq_order interactive_order, batch_order; /* owner */
	uint64_t timer_switches; /* at the carrier's last CPU timer; owner */
	struct wf_word_poll word_poll; /* owner */

	/* Entries on their way; owner. Not on the stacks of threads that park,
	 * of which they would touch a page more. */
	uint64_t taken[WF_RUNQ_SIZE / 2];
	uint64_t spilled[WF_RUNQ_SIZE / 2];

	struct wf_thread_count thread_count; /* by threads of this VP; owner */
	uint32_t last_created; /* index of a thread, a hint; owner */
	struct wf_pool pool;   /* free threads; owner */
};

static inline uint32_t wf_points_in(int64_t ns, int64_t point_ns, uint32_t most)
{
	int64_t points = point_ns > 0 ? ns / point_ns : most;

	return points < 1 ? 1 : points < most ? (uint32_t)points : most;
}

/* A scheduling point takes so long. The monitor, and who makes the VP. */
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
 * Asks vp's owner to let another thread run than that of the switch with the
 * given number (counters.switches). A later switch has done so by itself: a
 * signal that came after it would take the VP from whom the tick had in mind,
 * or end a slice that has just begun.
 */
static inline void wf_vp_ask(struct wf_vp *vp, enum wf_resched why,
			     uint64_t switches)
{
	wf_store_relaxed(&vp->asked_switches, switches);
	/* release: the number; pairs with wf_vp_asked. */
	wf_store_release(&vp->resched, why);
}

/* The same of the thread that runs on the caller's own VP. Owner. */
static inline void wf_vp_ask_own(struct wf_vp *vp, enum wf_resched why)
{
	wf_vp_ask(vp, why, wf_load_relaxed(&vp->counters.switches));
	atomic_fetch_or(&wf_load_relaxed(&vp->cur)->exit_work, WF_WORK_RESCHED);
}

/* Will it be long until the next scheduling point? Owner. */
static inline bool wf_vp_runs_cpu_bound(const struct wf_vp *vp)
{
	const struct wf_thread *t = wf_load_relaxed(&vp->cur);

	return t != NULL && wf_thread_is_cpu_bound(t);
}

/* What is asked of the thread that runs now. */
static inline enum wf_resched wf_vp_asked(const struct wf_vp *vp)
{
	enum wf_resched why = wf_load_acquire(&vp->resched);
	uint64_t now = wf_load_relaxed(&vp->counters.switches);

	if (why != WF_RESCHED_NONE &&
	    wf_load_relaxed(&vp->asked_switches) != now)
		return WF_RESCHED_NONE;
	return why;
}

/* Runs on the incoming side of a switch, on the incoming thread's stack. */
typedef void wf_post_fn(struct wf_carrier *c, void *arg);

/*
 * Signals that arrived while the runtime could not take them. The first closes
 * the carrier's mask; what may still come is what a change of the mask that was
 * just being made lets through (signal/signal_entry.c).
 */
enum { WF_SIGNAL_SLOTS = 4 };

/*
 * struct wf_carrier.kernel_mask differs from each thread's mask, none of which
 * holds SIGKILL: the next switch sets the kernel's mask and looks at the slot.
 */
#define WF_MASK_UNKNOWN (UINT64_C(1) << 8)

struct wf_signal_slot {
	_Atomic uint32_t nr;
	unsigned char info[WF_SIGNAL_SLOTS][128]; /* siginfo_t */
};

struct wf_carrier {
	struct wf_thread idle_self; /* wf_self on the carrier's own stack;
				     * in_runtime is always 1 */
	struct wf_context ctx;	    /* its own stack, while it runs a thread */
	wf_post_fn *post;	    /* the one thing to do after the switch */
	void *post_arg;
	_Atomic(struct wf_vp *) vp; /* NULL: spare, or running without */
	struct wf_thread *bound;    /* runs this thread and no other */
	bool is_altered;    /* the kernel knows it as other than its like: no
			  * other thread runs on it; its bound thread */
	bool has_own_state; /* which kernel threads cloned from it do not
			     * have: it exits with its bound thread */
	bool has_own_files; /* is_altered: so is its table of descriptors */
	/* tid of a thread; sched/reserved.c, RESERVED-1 */
	_Atomic int32_t reserved_for;
	_Atomic int tid; /* 0 until it has started */
	uint32_t number;
	uint32_t named;	      /* enum wf_carrier_named; itself */
	uint64_t kernel_mask; /* signal mask as the kernel has it, or
			       * WF_MASK_UNKNOWN */
	struct wf_signal_slot signal_slot;
	uintptr_t loaded_tp; /* of what it runs; read by its signal handlers */
	char *altstack;
	size_t altstack_bytes;
	_Atomic uint32_t wake_word;    /* futex of a spare */
	struct wf_carrier *spare_next; /* spare list; its lock */
	_Atomic bool has_refused;      /* to be preempted in libc; handler sets,
				   * monitor clears */
	_Atomic bool insist;	       /* do it even there; monitor */
	_Atomic bool is_signalled;     /* one preemption signal at a time */
	_Atomic bool is_told;	       /* so, by I/O servers; SUPERVISOR-5 in
					* io/supervisor.c */
	_Atomic bool is_forking;       /* its thread is in libc's fork, ... */
	_Atomic bool is_kicked;	       /* and was signalled there (PREEMPT-6) */
	_Atomic uint32_t setxid_seen;  /* last credential change done here */
	_Atomic int64_t cpu_mark;      /* sched/cpu_time.c, CPU_TIME-2 */
	uint64_t nr_sleeps;	       /* boot/handoff.c, HANDOFF-3; monitor */
	int64_t awake_cpu_ns;	       /* CPU time at its first check since */
	int cpu_timer;		       /* signal/preempt.c; -1: none */
	_Atomic bool is_dismissed;     /* sched/dismiss.h */
	_Atomic uint32_t exiting; /* futex: 1 from when its kernel thread is to
				   * exit until the kernel is through */
	struct wf_robust_list robust; /* sync/inherit.c; its bound thread */
	uint32_t nr_inherited;	      /* that this one holds; as above */
};

struct wf_sched {
	_Atomic bool is_started;
	uint32_t nr_vps;
	struct wf_vp *vps;
	uint64_t *queues; /* first memory of inject and all remote queues */
	struct wf_inject inject;
	struct wf_latency latency_inject; /* monitor */
	/* Read-mostly words, each on a line of its own. */
	/* enum wf_stealable */
	_Atomic uint32_t stealable WF_ALIGNED(WF_CACHE_LINE);
	_Atomic uint32_t nr_idle WF_ALIGNED(WF_CACHE_LINE); /* asleep */
	_Atomic uint32_t nr_pollers;			    /* sched/idle.h */
	_Atomic uint32_t wait_policy;  /* enum wf_wait_policy */
	_Atomic uint32_t most_pollers; /* at a time, as the policy allows */
	_Atomic bool has_words;	       /* somebody has waited for a wait word */
	_Atomic bool has_realtime;     /* sched/offline.h */
	_Atomic int64_t monitor_until WF_ALIGNED(WF_CACHE_LINE); /* when it
								  * wakes */
	_Atomic uint32_t monitor_poke; /* futex of its naps */
	/* enum wf_monitor_asleep */
	_Atomic uint32_t monitor_asleep WF_ALIGNED(WF_CACHE_LINE);
	/* By threads without a VP; the process's first thread counts. */
	struct wf_thread_count thread_count WF_ALIGNED(WF_CACHE_LINE);
	_Atomic uint32_t nr_threads; /* alive, counted for --stats only */
};

extern struct wf_sched wf_sched;

/* Anybody. Such a VP runs no threads (sched/offline.h). */
static inline bool wf_vp_is_offline(const struct wf_vp *vp)
{
	return (wf_load_relaxed(&vp->pending) & WF_PENDING_OFFLINE) != 0;
}

/* Anybody. The monitor says so; the pick that follows takes it back. */
static inline bool wf_vp_is_batch_due(const struct wf_vp *vp)
{
	return (wf_load_relaxed(&vp->pending) & WF_PENDING_BATCH) != 0;
}

/* Asleep, or watching: nobody looks at the queues meanwhile. */
static inline bool wf_monitor_sleeps(void)
{
	return wf_load_relaxed(&wf_sched.monitor_asleep) > WF_MONITOR_AWAKE;
}

/* False in a vfork child (sched/vfork_child.h). */
static inline bool wf_is_started(void)
{
	return wf_load_relaxed(&wf_sched.is_started) && !wf_is_vfork_child();
}

/* t's VP, if it has one that is its own. Any owner of a VP: in_runtime. */
static inline struct wf_vp *wf_vp_of(const struct wf_thread *t)
{
	return t->kind == WF_THREAD_MULTIPLEXED ? t->vp : NULL;
}

/* The pool of free threads that t may use, or NULL. in_runtime. */
static inline struct wf_pool *wf_pool_of(const struct wf_thread *t)
{
	struct wf_vp *vp = wf_vp_of(t);

	return vp != NULL ? &vp->pool : NULL;
}

/* Makes nr VPs, or empties them in a fork child. Returns 0 or -ENOMEM. */
int wf_vps_init(uint32_t nr);

#endif

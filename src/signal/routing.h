/* SPDX-License-Identifier: MIT */
/*
 * Signal routing: which thread gets a signal. in_runtime set, or a kernel
 * thread that never leaves the runtime. `me` is the calling thread if it has a
 * VP or is weft's own, as in wf_ready_woken; NULL if the VP is gone. May do the
 * default action, and so not return.
 */
#ifndef WEFT_SIGNAL_ROUTING_H
#define WEFT_SIGNAL_ROUTING_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "sched/thread.h"

/* Signals to the process that nobody has taken, and the kernel has not. */
extern struct wf_sigqueue wf_routing_process;

/* To one thread. 0, -EAGAIN (queue full) or -ESRCH (it has ended). */
int wf_routing_to_thread(struct wf_thread *me, struct wf_thread *t,
			 const siginfo_t *info);

/*
 * To the process: to a thread that waits for it, to thread 0 if it does not
 * block it, to `preferred` (may be NULL) or to any other, else it stays
 * pending.
 */
void wf_routing_to_process(struct wf_thread *me, const siginfo_t *info,
			   struct wf_thread *preferred);

/* Is t in a wait for sig? */
bool wf_routing_is_awaited(const struct wf_thread *t, int sig);

/* Is t, which does not block sig, the one to get a signal to the process? */
bool wf_routing_prefers(const struct wf_thread *t, int sig);

/* Does any thread not block it, or wait for it? */
bool wf_routing_has_taker(int sig);

/* What of set nobody takes or waits for. */
uint64_t wf_routing_without_takers(uint64_t set);
/* What of set some thread does not block. */
uint64_t wf_routing_open_in_threads(uint64_t set);

/*
 * Those of set that no thread takes stay with the kernel from here on; returns
 * which. May sleep shortly.
 */
uint64_t wf_routing_leave_to_kernel(uint64_t set);

/* What thread 0 blocks; all if it has ended. Thread 0 */
extern _Atomic uint64_t wf_routing_first_mask;

/* What signalfds show. */
extern _Atomic uint64_t wf_routing_shown;
/* A signalfd has come to show these: what no thread takes is the kernel's from
 * here on. May sleep shortly. */
void wf_routing_leave_shown(uint64_t set);
/*
 * t no longer takes those in closed, and has passed a fence since: what has to
 * be the kernel's when no thread takes it is. May sleep shortly.
 */
void wf_routing_closed(const struct wf_thread *t, uint64_t closed);

/* Makes t look at its exit_work, in which `work` is set, wherever it is. */
void wf_routing_alert(struct wf_thread *me, struct wf_thread *t, uint32_t work);

void wf_routing_fork_child(void);

/* Threads in sigwait; whoever changes sigwait_set counts it. */
extern _Atomic uint32_t wf_routing_nr_waiters;

/*
 * signal_word of a thread that reads sigwait_set from a signalfd: it sleeps
 * elsewhere.
 */
enum { WF_SIGNAL_WORD_READS = 2 };

#endif

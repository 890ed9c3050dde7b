/* SPDX-License-Identifier: MIT */
/*
 * Signal routing: decides which thread gets a signal, puts it into the queue
 * and wakes the thread.
 *
 *     wf_routing_to_process(me, &info, NULL);
 *
 * Call with in_runtime set, or on a kernel thread that never leaves the
 * runtime. `me` is the calling thread if it has a VP or is weft's, as in
 * wf_ready_woken; NULL if its VP is gone. A call may do the default action, and
 * then not return.
 */
#ifndef WEFT_SIGNAL_ROUTING_H
#define WEFT_SIGNAL_ROUTING_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "sched/thread.h"

/*
 * Signals to the process that no thread has taken and the kernel no longer has.
 */
extern struct wf_sigqueue wf_routing_process;

/*
 * Sends the signal to one thread. Returns 0, -EAGAIN (queue full) or -ESRCH (t
 * has ended).
 */
int wf_routing_to_thread(struct wf_thread *me, struct wf_thread *t,
			 const siginfo_t *info);

/*
 * Sends the signal to the process. A thread that waits for it gets it first. Of
 * the threads that do not block it, thread 0 comes before `preferred` (may be
 * NULL), and that before all other threads. If all threads block the signal, it
 * stays pending.
 */
void wf_routing_to_process(struct wf_thread *me, const siginfo_t *info,
			   struct wf_thread *preferred);

/* True if t is in a wait for sig. */
bool wf_routing_is_awaited(const struct wf_thread *t, int sig);

/*
 * True if t, which does not block sig, should get it when it was sent to the
 * process.
 */
bool wf_routing_prefers(const struct wf_thread *t, int sig);

/* True if any thread waits for sig or does not block it. */
bool wf_routing_has_taker(int sig);

/* Returns the signals of set that no thread waits for and all threads block. */
uint64_t wf_routing_without_takers(uint64_t set);
/* Returns the signals of set that some thread does not block. */
uint64_t wf_routing_open_in_threads(uint64_t set);

/*
 * Leaves to the kernel the signals of set that no thread takes, and returns
 * them. May sleep shortly.
 */
uint64_t wf_routing_leave_to_kernel(uint64_t set);

/*
 * The signals that thread 0 blocks; all if it has ended. Only thread 0 stores
 * it.
 */
extern _Atomic uint64_t wf_routing_first_mask;

/* The signals that any signalfd of the process shows. */
extern _Atomic uint64_t wf_routing_shown;
/*
 * Called when a new signalfd shows the signals of set. Leaves those to the
 * kernel that no thread takes. May sleep shortly.
 */
void wf_routing_leave_shown(uint64_t set);
/*
 * Called when t no longer takes the signals in closed, and has passed a fence
 * since. If no thread takes them now, some belong to the kernel (ROUTING-4):
 * leaves these to it. May sleep shortly.
 */
void wf_routing_closed(const struct wf_thread *t, uint64_t closed);

/* Sets `work` in t's exit_work and makes t check it, in any state of t. */
void wf_routing_alert(struct wf_thread *me, struct wf_thread *t, uint32_t work);

void wf_routing_fork_child(void);

/* The number of threads in sigwait; updated with each change of sigwait_set. */
extern _Atomic uint32_t wf_routing_nr_waiters;

/*
 * The value of signal_word of a thread that reads a signalfd. sigwait_set is
 * what the descriptor shows, and the thread sleeps on another word.
 */
enum { WF_SIGNAL_WORD_READS = 2 };

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The calls that go up: functions of a higher layer that a lower one calls.
 *
 *     wf_upcall.interrupt(c);
 *
 * The table is constant and src/api/upcall.c fills it, the only place where a
 * lower layer meets a higher one. tools/check_layers.py finds every other
 * symbol that a folder takes from a higher one. No member is ever NULL, so a
 * member that may be called before the runtime starts allows for that itself.
 *
 * Rejected: pointers that are set at the start. Each needs a rule about the
 * time before it is set, and the compiler cannot make a direct call of it. Of
 * a constant table, link-time optimization does.
 */
#ifndef WEFT_BASE_UPCALL_H
#define WEFT_BASE_UPCALL_H

/* The offsets of the members that assembly calls. */
#define WF_UPCALL_THREAD_MAIN 0
#define WF_UPCALL_FRAME_RESUME 8
#define WF_UPCALL_SIGNAL_RETURN 16

#ifndef __ASSEMBLER__

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rank.h"

struct ucontext_t;
struct wf_carrier;
struct wf_spin;
struct wf_thread;
struct wf_vp;

struct wf_upcalls {
	/* --- arch/ ------------------------------------------------------- */

	/* The first function of a new thread; never returns. */
	void (*thread_main)(void);
	/* Finishes the switch to a preempted thread with the frame uc. */
	void (*frame_resume)(struct ucontext_t *uc);
	/* A handler of the program's has returned to its frame uc. */
	void (*signal_return)(struct ucontext_t *uc);

	/* --- base/ ------------------------------------------------------- */

	/* Writes a line to stderr, whatever the state of the process. */
	void (*log_write)(const char *line, size_t len);
	/* The calling thread's id, for messages. */
	long (*log_thread_id)(void);
	void (*abort)(void) __attribute__((noreturn));
	/* Takes a lock that is not free: spins, then yields the CPU, then
	 * sleeps. */
	void (*spin_lock_slow)(struct wf_spin *s, enum wf_rank rank);

	/* --- sched/, thread/ --------------------------------------------- */

	/* Fills weft's tables and attaches the process's first thread, if that
	 * has not been done. */
	void (*boot)(void);
	/* t, a foreign thread and the caller, has attached itself. in_runtime
	 * is 0. */
	void (*foreign_met)(struct wf_thread *t);
	/* The table of threads is about to have room for nr_threads. Returns
	 * 0, or -Exxx if it may not. */
	int (*table_grows)(uint32_t nr_threads);
	/* Each carrier runs it on its own stack; never returns. */
	void (*carrier_main)(struct wf_carrier *c);
	/* Called on the kernel thread of each new carrier, and on the
	 * process's first. */
	void (*carrier_begins)(struct wf_carrier *c);
	/* t has become bound to the calling kernel thread. */
	void (*thread_bound)(const struct wf_thread *t);
	/* The kernel thread tid, a service or an I/O worker, must not wait for
	 * carriers that compute. Called by its maker. */
	void (*service_made)(int tid);
	/* Makes the thread on c check the pending bits of its VP. */
	void (*interrupt)(struct wf_carrier *c);
	/* The caller has unblocked signals on a carrier that blocked all. */
	void (*signals_opened)(void);
	/* Delivers the signals and the cancellation that wait for t, the
	 * caller. in_runtime is set and stays set. */
	void (*signal_work)(struct wf_thread *t);
	/* Polls the wait words if it is time to. The caller owns vp, has
	 * in_runtime set, and holds no lock. */
	void (*poll_words)(struct wf_vp *vp);

	/* --- wait/ ------------------------------------------------------- */

	/* True if a wait that t, the caller, is about to begin has to end at
	 * once, for a signal or a cancellation. */
	bool (*wait_is_interrupted)(struct wf_thread *t);
	/* True if t, the caller, is cancelled and stands at a cancellation
	 * point. */
	bool (*wait_is_cancelled)(const struct wf_thread *t);
	/* Handles the signals that wait in the slot of c, which runs no
	 * thread. */
	void (*idle_signal_work)(struct wf_carrier *c);

	/* --- signal/, each called in a signal handler ----------------- */

	/* Ends the calling thread by pthread_exit(PTHREAD_CANCELED). */
	void (*exit_cancelled)(void);
	/* Makes the caller's part of a change of credentials in progress. */
	void (*setxid)(void);
	/* A signal that the program does not handle is about to end the
	 * process. Runs on any stack. */
	void (*before_end)(void);
	/* t, the caller, is in a call of exec. A handler of the program's
	 * begins (exec_suspend) or ends (exec_resume). */
	void (*exec_suspend)(struct wf_thread *t);
	void (*exec_resume)(void);
	/* The body of the service that prints stacks (signal/dump_signal.h);
	 * never returns. Not in a handler. */
	void (*dump_run)(void *);
	/* The runtime has not started: prints the stack of uc. */
	void (*dump_alone)(const struct ucontext_t *uc);
	/*
	 * Completes the requests that I/O servers have reported to the carrier
	 * by a signal. t is the carrier's thread, with a VP and in_runtime set.
	 * If t is NULL, the caller cannot complete requests: it asks the
	 * supervisor to do so.
	 */
	void (*io_report)(struct wf_thread *t);
};

extern const struct wf_upcalls wf_upcall __attribute__((visibility("hidden")));

#endif
#endif

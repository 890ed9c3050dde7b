/* SPDX-License-Identifier: MIT */
/*
 * The signal of --dump-on: weft takes it from the program, and prints the
 * stacks of all threads.
 *
 *     if (wf_dump_signal_take(sig, uc))
 *             return;
 *
 * The program's action for the signal is kept and never done. A service of
 * weft's prints (see/dump.c); it sleeps until a kernel thread has got the
 * signal. Before the runtime has started there is one thread, and the handler
 * prints its stack itself.
 *
 * All functions but wf_dump_signal_start may be called in a signal handler, on
 * any stack.
 */
#ifndef WEFT_SIGNAL_DUMP_SIGNAL_H
#define WEFT_SIGNAL_DUMP_SIGNAL_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "arch/arch.h"
#include "base/atomic.h"
#include "base/compiler.h"

/* 0: none. Written before there is a second thread. */
extern int wf_dump_signal_number;
/* The path of the weft command; "" if it is not known. Written as above. */
extern char wf_dump_command[PATH_MAX];

static inline bool wf_dump_signal_is(int sig)
{
	return WF_UNLIKELY(sig == wf_dump_signal_number);
}

/* The signal as a set. */
static inline uint64_t wf_dump_signal_bit(void)
{
	return wf_dump_signal_number == 0 ?
		       0 :
		       UINT64_C(1) << (wf_dump_signal_number - 1);
}

/* Reads the option and the command's path, when the library is loaded. */
void wf_dump_signal_init(char *const *envp);
/* "SIGQUIT" */
const char *wf_dump_signal_name(void);

/* Starts the service if there is a signal. Returns 0 or -Exxx. */
int wf_dump_signal_start(void);
/* Ends the service. False if it still prints after some seconds. */
bool wf_dump_signal_dismiss(void);
void wf_dump_signal_fork_child(void);
/* True if the service has work. */
bool wf_dump_signal_is_busy(void);

/* Asks for a dump if sig is the signal; false if not. */
bool wf_dump_signal_take(int sig, const ucontext_t *uc);

/*
 * For the service: sleeps until a dump is asked for. Returns false if the
 * service is dismissed. The signals that have come until then count as one.
 */
bool wf_dump_signal_await(void);
/* The dump has been made. */
void wf_dump_signal_done(void);

/* --- threads that run ----------------------------------------------------- */

/* A thread that runs, and stands in weft's handler. */
struct wf_dump_paused {
	int tid; /* of its kernel thread */
	uintptr_t thread_register;
	struct wf_arch_registers registers;
};

enum { WF_DUMP_MOST_PAUSED = 4096 };
extern struct wf_dump_paused wf_dump_paused[WF_DUMP_MOST_PAUSED];

/*
 * Stops the threads that run, by weft's signal, and notes their registers.
 * Returns how many stand still. A thread that does not come to the handler
 * within a quarter of a second goes on.
 */
uint32_t wf_dump_pause_begin(void);
void wf_dump_pause_end(void);

/* weft's signal has interrupted a thread. Returns when it may go on. */
extern _Atomic uint32_t wf_dump_pause_round;
void wf_dump_pause_here_slow(const ucontext_t *uc, bool runs_thread);
static inline void wf_dump_pause_here(const ucontext_t *uc, bool runs_thread)
{
	if (WF_UNLIKELY(wf_load_relaxed(&wf_dump_pause_round) % 2 != 0))
		wf_dump_pause_here_slow(uc, runs_thread);
}

#endif

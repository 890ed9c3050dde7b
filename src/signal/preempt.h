/* The handler of the preemption signal. */
#ifndef WEFT_SIGNAL_PREEMPT_H
#define WEFT_SIGNAL_PREEMPT_H

#include <stdint.h>

#include "sched/vp.h"

/* Installs the handler. */
void wf_preempt_init(void);

/*
 * Signals the carrier once; more while one is on its way do nothing, since
 * queued ones would nest until the alternate stack is full.
 */
void wf_preempt_signal(struct wf_carrier *c);

/* Gives the carrier the CPU timer that preempts if the monitor cannot. */
void wf_preempt_arm(struct wf_carrier *c);

/*
 * The program is about to be replaced: pending preemption signals are thrown
 * away and further ones ignored, until exec has failed. Nests among threads.
 */
void wf_preempt_exec_begin(void);
void wf_preempt_exec_end(void);
/* In a new program that a thread on weft has executed: not ignored. */
void wf_preempt_exec_done(void);

/* Runs first in the handler on every kernel thread; set by boot/. */
extern void (*wf_preempt_setxid)(void);

#endif

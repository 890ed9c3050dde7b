/* SPDX-License-Identifier: MIT */
/*
 * VPs, carriers and threads in a time of their own, around the real queues:
 * so that the rules of fairness can be tested without a clock.
 *
 *     machine_init(2);                        two VPs
 *     t = machine_thread();                   nowhere yet
 *     machine_run(vp, t);                     t runs on vp
 *     machine_pass(NS);                       all that run use that much CPU
 *     machine_tick();                         the monitor's
 *     machine_switch(vp);                     what its carrier was asked to do
 *
 * A test that counts ticks calls machine_pass(MACHINE_TICK) before each, or
 * machine_pass_ticks.
 */
#ifndef FAKE_MACHINE_H
#define FAKE_MACHINE_H

#include "monitor/tick.h"
#include "sched/queue.h"

#define MACHINE_TICK WF_MONITOR_TICK_NS

struct machine {
	int64_t now_ns;
	bool is_runnable;    /* does /proc report the carriers as running? */
	bool has_no_proc;    /* is /proc missing? */
	uint32_t nr_signals; /* preemption signals sent */
	uint32_t nr_wakes;   /* wakes of VPs */
	uint32_t nr_cpus;    /* 0: enough for all VPs */
};

extern struct machine machine;

void machine_init(uint32_t nr_vps);
/* machine_init(1); returns its VP. */
struct wf_vp *machine_one_vp(void);
struct wf_vp *machine_vp(uint32_t i);
struct wf_thread *machine_thread(void);
/* A thread that is known to compute and to make no calls. */
struct wf_thread *machine_cpu_bound(void);

void machine_run(struct wf_vp *vp, struct wf_thread *t);
/* Puts t into the run queue for its kind of thread. */
void machine_queue(struct wf_vp *vp, struct wf_thread *t);

void machine_pass(int64_t ns);
/* Time passes, and no thread gets any of it. */
void machine_pass_idle(int64_t ns);
void machine_tick(void);
/* Lets time pass until the tick, with the monitor's retries, then ticks. */
void machine_pass_ticks(int nr);
/* Handles the signal as a carrier does; returns false if there is none. */
bool machine_switch(struct wf_vp *vp);
/* The running thread makes a call; returns false if it has no request. */
bool machine_call(struct wf_vp *vp);
/* The running thread blocks, and the next one runs, if there is one. */
void machine_block(struct wf_vp *vp);

/* The CPU time that t has used. */
int64_t machine_used(const struct wf_thread *t);

#endif

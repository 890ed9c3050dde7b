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

#include "boot/tick.h"
#include "sched/queue.h"

#define MACHINE_TICK WF_MONITOR_TICK_NS

struct machine {
	int64_t now_ns;
	bool is_runnable;    /* /proc's state of each carrier */
	bool has_no_proc;    /* there is no /proc */
	uint32_t nr_signals; /* preemption signals sent */
	uint32_t nr_wakes;   /* of VPs */
	uint32_t nr_cpus;    /* 0: enough for all VPs */
};

extern struct machine machine;

void machine_init(uint32_t nr_vps);
/* machine_init(1), and that one. */
struct wf_vp *machine_one_vp(void);
struct wf_vp *machine_vp(uint32_t i);
struct wf_thread *machine_thread(void);
/* A thread that is known to compute, and to make no calls. */
struct wf_thread *machine_cpu_bound(void);

void machine_run(struct wf_vp *vp, struct wf_thread *t);
/* t waits in the run queue for its kind of thread. */
void machine_queue(struct wf_vp *vp, struct wf_thread *t);

void machine_pass(int64_t ns);
/* Time passes and nobody gets any of it. */
void machine_pass_idle(int64_t ns);
void machine_tick(void);
/* The time until a tick, with the monitor's look in between, and the tick. */
void machine_pass_ticks(int nr);
/* Takes the signal, as the handler does; false if there is none. */
bool machine_switch(struct wf_vp *vp);
/* A call by the running thread; false if nothing is asked of it. */
bool machine_call(struct wf_vp *vp);
/* The running thread blocks; another runs, if there is one. */
void machine_block(struct wf_vp *vp);

/* CPU time that t has had. */
int64_t machine_used(const struct wf_thread *t);

#endif
